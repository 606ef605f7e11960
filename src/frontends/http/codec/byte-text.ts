const toText = Buffer.prototype.toString as (
  this: Uint8Array,
  encoding: "latin1" | "utf8",
  start: number,
  end: number,
) => string;

/**
 * A part of some bytes as text, one character a byte.
 *
 * Works on any Uint8Array, without a Buffer around it: making one asks for the array's `buffer`, which the runtime
 * creates only then (3 µs on a fresh body against 0.4 µs for the text, Bun 1.4.4).
 */
export function latin1Text(bytes: Uint8Array, start: number, end: number): string {
  return toText.call(bytes, "latin1", start, end);
}

/** A part of some bytes as text; a byte order mark stays, what is not UTF-8 becomes U+FFFD. */
export function utf8Text(bytes: Uint8Array, start: number, end: number): string {
  return toText.call(bytes, "utf8", start, end);
}
