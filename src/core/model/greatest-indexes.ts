/**
 * Indexes of the greatest elements, greatest first. A heap of `count` indexes with the last of them on top: the cost
 * is elements × log count, so that the usual "best five of a thousand" needs no sort of the thousand.
 */
export function greatestIndexes(
  values: readonly (number | bigint)[],
  count: number,
): readonly number[] {
  const heap: number[] = [];
  for (let index = 0; index < values.length; index++) {
    if (heap.length < count) {
      heap.push(index);
      siftUp(values, heap);
    } else if (count > 0 && isBefore(values, index, heap[0] ?? 0)) {
      heap[0] = index;
      siftDown(values, heap);
    }
  }
  return heap.sort((a, b) => (isBefore(values, a, b) ? -1 : 1));
}

/** Whether element `a` comes before element `b`: the greater one, then the lower index; NaN last. */
function isBefore(values: readonly (number | bigint)[], a: number, b: number): boolean {
  const left = values[a] ?? 0;
  const right = values[b] ?? 0;
  const isLeftNaN = Number.isNaN(left);
  const isRightNaN = Number.isNaN(right);
  if (isLeftNaN || isRightNaN) return isLeftNaN === isRightNaN ? a < b : isRightNaN;
  return left === right ? a < b : left > right;
}

function siftUp(values: readonly (number | bigint)[], heap: number[]): void {
  let at = heap.length - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!swapUnlessOrdered(values, heap, parent, at)) return;
    at = parent;
  }
}

function siftDown(values: readonly (number | bigint)[], heap: number[]): void {
  let at = 0;
  for (;;) {
    const left = at * 2 + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const isRightLater = right < heap.length && isBefore(values, heap[left] ?? 0, heap[right] ?? 0);
    const later = isRightLater ? right : left;
    if (!swapUnlessOrdered(values, heap, at, later)) return;
    at = later;
  }
}

/** Keeps the later element in the upper place. @returns whether the two were swapped. */
function swapUnlessOrdered(
  values: readonly (number | bigint)[],
  heap: number[],
  upper: number,
  lower: number,
): boolean {
  const above = heap[upper] ?? 0;
  const below = heap[lower] ?? 0;
  if (!isBefore(values, above, below)) return false;
  heap[upper] = below;
  heap[lower] = above;
  return true;
}
