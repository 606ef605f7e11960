import type { Shape } from "../../base/shape.ts";

/**
 * Gives a concrete shape the form of another specification of equal size: sizes of free dimensions carry over in
 * order (`reshape` of the model configuration).
 *
 * @param from specification that `shape` fits, −1 for free dimensions.
 * @param to the other specification, with as many −1 as `from`.
 * @param shape concrete, of the rank of `from`.
 */
export function reshaped(from: Shape, to: Shape, shape: Shape): Shape {
  const freeSizes: number[] = [];
  for (let i = 0; i < from.length; i++) if (from[i] === -1) freeSizes.push(shape[i] ?? 0);
  let next = 0;
  return to.map((dim) => (dim === -1 ? (freeSizes[next++] ?? 0) : dim));
}
