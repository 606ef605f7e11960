import { boolean, choice, INT32_MAX, integer, list, OptionError, text } from "./option.ts";
import { parseRestrictedGroup } from "./restricted-apis.ts";

const PORT: readonly [number, number] = [0, 65535];
const ONE_LOOP = "one event loop serves all connections";

function pattern(meaning: string, served: true | string) {
  return {
    ...text("<regex>", "", meaning, { served }),
    parse(given: string, _earlier: string, name: string): string {
      try {
        // RE2's leading flag for ignoring case has no counterpart here.
        new RegExp(given.replace(/^\(\?i\)/, ""));
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new OptionError(`invalid argument for --${name}, got: ${given} (${reason})`);
      }
      return given;
    },
  };
}

/** Flags of the HTTP port. */
export const HTTP_ROWS = {
  "allow-http": boolean(true, "Whether the server listens to HTTP requests."),
  "http-address": text("<address>", "0.0.0.0", "Address of the HTTP port."),
  "http-port": integer(8000, PORT, "The HTTP port; 0 takes any free one."),
  "reuse-http-port": boolean(false, "Several servers may listen on the same HTTP port."),
  "http-header-forward-pattern": pattern(
    "Request headers whose name matches become parameters of the inference request.",
    true,
  ),
  "http-thread-count": integer(8, [1, INT32_MAX], "Threads for HTTP connections.", {
    served: ONE_LOOP,
  }),
  "http-max-input-size": integer(
    67_108_864,
    [1, Number.MAX_SAFE_INTEGER],
    "Bytes that the body of one HTTP request may have.",
  ),
  "http-restricted-api": list(
    "<apis>:<key>=<value>",
    parseRestrictedGroup,
    "Closes HTTP apis (a comma-separated list) to requests without the header <key> and that value.",
  ),
};

/** Flags of the gRPC port. */
export const GRPC_ROWS = {
  "allow-grpc": boolean(true, "Whether the server listens to gRPC requests."),
  "grpc-address": text("<address>", "0.0.0.0", "Address of the gRPC port."),
  "grpc-port": integer(8001, PORT, "The gRPC port; 0 takes any free one."),
  "reuse-grpc-port": boolean(false, "Several servers may listen on the same gRPC port."),
  "grpc-header-forward-pattern": pattern(
    "Request metadata whose key matches becomes parameters of the inference request.",
    true,
  ),
  "grpc-infer-thread-count": integer(2, [2, 128], "Threads for inference requests.", {
    served: ONE_LOOP,
  }),
  "grpc-infer-allocation-pool-size": integer(
    8,
    [0, INT32_MAX],
    "Request and response objects kept for reuse.",
    { served: "memory of requests is not pooled by number" },
  ),
  "grpc-max-response-pool-size": integer(
    INT32_MAX,
    [1, INT32_MAX],
    "Responses of one stream that may wait to be sent.",
    { served: "flow control bounds what waits" },
  ),
  "grpc-use-ssl": boolean(
    false,
    "TLS on the gRPC port; needs --grpc-server-cert and --grpc-server-key.",
  ),
  "grpc-use-ssl-mutual": boolean(
    false,
    "TLS with client certificates; implies --grpc-use-ssl and needs --grpc-root-cert.",
  ),
  "grpc-server-cert": text("<path>", "", "PEM file of the server's certificate."),
  "grpc-server-key": text("<path>", "", "PEM file of the server's key."),
  "grpc-root-cert": text("<path>", "", "PEM file of the authority that signs client certificates."),
  "grpc-infer-response-compression-level": choice(
    ["none", "low", "medium", "high"],
    "none",
    "Compression of inference responses for clients that accept it.",
  ),
  "grpc-keepalive-time": integer(
    7_200_000,
    [1, INT32_MAX],
    "Milliseconds without a sign of life after which a connection is pinged.",
  ),
  "grpc-keepalive-timeout": integer(
    20_000,
    [1, INT32_MAX],
    "Milliseconds within which a ping must be answered.",
  ),
  "grpc-keepalive-permit-without-calls": boolean(
    false,
    "Connections are pinged, and may ping, while no call is open.",
  ),
  "grpc-http2-max-pings-without-data": integer(
    2,
    [0, INT32_MAX],
    "Pings that may be sent without data between them.",
    { served: "--grpc-keepalive-time alone says when a ping is sent" },
  ),
  "grpc-http2-min-recv-ping-interval-without-data": integer(
    300_000,
    [0, INT32_MAX],
    "Milliseconds that a client must leave between pings without data.",
  ),
  "grpc-http2-max-ping-strikes": integer(
    2,
    [0, INT32_MAX],
    "Bad pings after which a connection is closed; 0 never closes it.",
  ),
  "grpc-max-connection-age": integer(
    0,
    [0, INT32_MAX],
    "Milliseconds after which a connection is closed; 0 keeps it.",
  ),
  "grpc-max-connection-age-grace": integer(
    0,
    [0, INT32_MAX],
    "Milliseconds that open calls get once a connection is too old; 0 lets them end.",
  ),
  "grpc-restricted-protocol": list(
    "<protocols>:<key>=<value>",
    parseRestrictedGroup,
    "Closes gRPC apis (a comma-separated list) to calls without the metadata triton-grpc-protocol-<key> and that value.",
  ),
};
