import { createConnectFetchHandler } from "../../src/frontends/grpc/connect/fetch-handler.ts";
import { startGrpcFrontend } from "../../src/frontends/grpc/grpc-frontend.ts";
import { startHttpFrontend } from "../../src/frontends/http/http-frontend.ts";
import { InMemoryPlanes } from "../support/in-memory-planes.ts";
import { httpCarrier, rpcCarriers } from "../support/parity-carriers.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { describeFrontendParity, type ParitySetup } from "./frontend-parity.contract.ts";

async function start(): Promise<ParitySetup> {
  const planes = new InMemoryPlanes();
  const service = {
    dataPlane: planes,
    controlPlane: planes,
    logger: new RecordingLogger(),
    clock: { nowNs: Bun.nanoseconds, after: () => () => undefined },
  };
  const place = { address: "127.0.0.1", port: 0 };
  const grpc = await startGrpcFrontend({ ...service, ...place });
  const http = await startHttpFrontend({
    ...service,
    ...place,
    formatConfig: () => "{}",
    rpcHandler: createConnectFetchHandler(service),
  });
  const url = `http://127.0.0.1:${http.port}`;
  return {
    planes,
    carriers: [
      httpCarrier(url, true),
      httpCarrier(url, false),
      ...rpcCarriers(url, `127.0.0.1:${grpc.port}`),
    ],
    async [Symbol.asyncDispose]() {
      await Promise.all([http.stop(), grpc.stop(100)]);
    },
  };
}

describeFrontendParity(start);
