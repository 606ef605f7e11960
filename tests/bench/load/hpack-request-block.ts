/** The request headers of one rpc, as header blocks for the first and for every later request of a connection. */
export interface RequestHeaderBlocks {
  /** Adds the headers to the peer's dynamic table. */
  readonly first: Uint8Array;
  /** Refers to them by index; what gRPC clients send from the second request on. */
  readonly later: Uint8Array;
}

/** Entries of the HPACK static table (RFC 7541 appendix A) that are whole header fields. */
const INDEXED_METHOD_POST = 0x80 | 3;
const INDEXED_SCHEME_HTTP = 0x80 | 6;
/** The newest entry of the dynamic table has the index behind the 61 static ones. */
const FIRST_DYNAMIC_INDEX = 62;
const LITERAL_WITH_INCREMENTAL_INDEXING = 0x40;

function stringLiteral(text: string): number[] {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 126) throw new Error(`header text of ${bytes.length} bytes; at most 126 here`);
  return [bytes.length, ...bytes];
}

/**
 * Header blocks of a gRPC request, without Huffman coding.
 *
 * @param path for example `/inference.GRPCInferenceService/ModelInfer`, at most 126 bytes.
 * @param extra further headers, at most 50.
 * @see RFC 7541 section 6.
 */
export function requestHeaderBlocks(
  path: string,
  extra: Readonly<Record<string, string>> = {},
): RequestHeaderBlocks {
  const headers: [string, string][] = [
    [":path", path],
    [":authority", "127.0.0.1"],
    ["te", "trailers"],
    ["content-type", "application/grpc"],
    ["user-agent", "tribune-load"],
    ["grpc-accept-encoding", "identity, deflate, gzip"],
    ...Object.entries(extra),
  ];
  const first = [INDEXED_METHOD_POST, INDEXED_SCHEME_HTTP];
  const later = [INDEXED_METHOD_POST, INDEXED_SCHEME_HTTP];
  for (const [i, [name, value]] of headers.entries()) {
    first.push(LITERAL_WITH_INCREMENTAL_INDEXING, ...stringLiteral(name), ...stringLiteral(value));
    later.push(0x80 | (FIRST_DYNAMIC_INDEX + headers.length - 1 - i));
  }
  return { first: Uint8Array.from(first), later: Uint8Array.from(later) };
}
