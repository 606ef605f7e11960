/** Sizes of a tensor's dimensions, row-major. In specifications −1 stands for any size. */
export type Shape = readonly number[];

/**
 * Product of the dimensions; 1 for a scalar (`[]`).
 *
 * @returns NaN when a dimension is negative, Infinity-free: above 2^53 − 1 the result is NaN too, so that a
 *   comparison with it is false.
 */
export function elementCount(shape: Shape): number {
  let count = 1;
  for (const dim of shape) {
    if (dim < 0) return Number.NaN;
    count *= dim;
  }
  return Number.isSafeInteger(count) ? count : Number.NaN;
}

/** `[2,3,-1]`, as Triton prints shapes in its messages. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(",")}]`;
}

/** Whether a concrete shape fits a specification in which −1 stands for any size. */
export function shapeMatches(spec: Shape, shape: Shape): boolean {
  if (spec.length !== shape.length) return false;
  for (let i = 0; i < spec.length; i++) {
    if (spec[i] !== -1 && spec[i] !== shape[i]) return false;
  }
  return true;
}

/** Whether two shapes are equal, dimension by dimension. */
export function shapesEqual(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
