import { describeGrpcMalformed } from "./grpc-malformed.contract.ts";
import { describeGrpcStream } from "./grpc-stream.contract.ts";
import { describeGrpcUnary } from "./grpc-unary.contract.ts";

for (const [carrier, options] of [
  ["the hot path", { hotPath: true }],
  ["ConnectRPC", { hotPath: false }],
] as const) {
  describeGrpcUnary(carrier, options);
  describeGrpcStream(carrier, options);
  describeGrpcMalformed(carrier, options);
}
