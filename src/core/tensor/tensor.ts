import type { Datatype } from "../../base/datatype.ts";
import type { Shape } from "../../base/shape.ts";

/**
 * A named array of elements. The description is immutable; the bytes are borrowed from whoever made the tensor,
 * for as long as that maker says.
 */
export interface Tensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: Shape;
  /**
   * Elements in row-major order, little-endian, without padding. BYTES elements are each a uint32 length and that
   * many bytes (the layout of the KServe binary extension). The view need not be aligned to the element.
   */
  readonly bytes: Uint8Array;
}
