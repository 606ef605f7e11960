/** Longer texts are cut: a trailer block of more than 8 KiB is refused by gRPC clients, and the status with it. */
const MAX_ENCODED_BYTES = 4096;
const CUT_MARK = "...";
const PRINTABLE = /^[ -$&-~]*$/;
const PERCENT = 0x25;

/**
 * The value of a `grpc-message` trailer. Only bytes outside of printable ASCII, and the percent sign, are encoded:
 * some clients show what they need not have decoded.
 *
 * @see gRPC over HTTP/2, "Responses": Percent-Encoded.
 */
export function encodeGrpcMessage(text: string): string {
  if (text.length <= MAX_ENCODED_BYTES && PRINTABLE.test(text)) return text;
  let encoded = "";
  for (const character of text) {
    const part = encodedCharacter(character);
    if (encoded.length + part.length > MAX_ENCODED_BYTES) return encoded + CUT_MARK;
    encoded += part;
  }
  return encoded;
}

function encodedCharacter(character: string): string {
  const code = character.charCodeAt(0);
  if (character.length === 1 && code >= 0x20 && code <= 0x7e && code !== PERCENT) return character;
  let encoded = "";
  // A lone surrogate becomes U+FFFD.
  for (const byte of Buffer.from(character)) {
    encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
