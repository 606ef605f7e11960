/** A variable-size dimension. */
const FREE = -1n;

/** Whether a number of `dims` or `shape` is one: 1 and up, or −1 for any size. */
export function isDimension(dim: bigint): boolean {
  return (dim >= 1n && dim <= BigInt(Number.MAX_SAFE_INTEGER)) || dim === FREE;
}

/** How a `reshape` departs from its dims; undefined when both describe the same elements. */
export type ReshapeFault = "size" | "free-count";

/**
 * Compares dims with the shape of their `reshape`: equal element counts, equally many free dimensions, and equal
 * products between consecutive free ones, so that each free size can be carried over.
 * @see Triton docs, "Model Configuration", "Reshape".
 */
export function compareReshape(
  dims: readonly bigint[],
  shape: readonly bigint[],
): ReshapeFault | undefined {
  const left = productsBetweenFree(dims);
  const right = productsBetweenFree(shape);
  if (left.length !== right.length) return "free-count";
  return left.every((product, index) => product === right[index]) ? undefined : "size";
}

/** `[2,3,-1,4]` gives `[6, 4]`: one product more than there are free dimensions. */
function productsBetweenFree(dims: readonly bigint[]): readonly bigint[] {
  const products: bigint[] = [];
  let product = 1n;
  for (const dim of dims) {
    if (dim === FREE) {
      products.push(product);
      product = 1n;
    } else {
      product *= dim;
    }
  }
  products.push(product);
  return products;
}
