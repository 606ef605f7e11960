import {
  type GrpcFrontend,
  type GrpcFrontendOptions,
  startGrpcFrontend,
} from "../../src/frontends/grpc/grpc-frontend.ts";
import { InMemoryPlanes } from "./in-memory-planes.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** The gRPC port on a free port of this machine, over planes in memory. */
export class GrpcTestServer implements AsyncDisposable {
  readonly planes: InMemoryPlanes;
  readonly logger: RecordingLogger;
  readonly frontend: GrpcFrontend;
  /** `127.0.0.1:PORT` */
  readonly target: string;

  private constructor(planes: InMemoryPlanes, logger: RecordingLogger, frontend: GrpcFrontend) {
    this.planes = planes;
    this.logger = logger;
    this.frontend = frontend;
    this.target = `127.0.0.1:${frontend.port}`;
  }

  static async start(options: Partial<GrpcFrontendOptions> = {}): Promise<GrpcTestServer> {
    const planes = new InMemoryPlanes();
    const logger = new RecordingLogger();
    const frontend = await startGrpcFrontend({
      dataPlane: planes,
      controlPlane: planes,
      logger,
      clock: { nowNs: Bun.nanoseconds, after: () => () => undefined },
      address: "127.0.0.1",
      port: 0,
      ...options,
    });
    return new GrpcTestServer(planes, logger, frontend);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.frontend.stop();
  }
}
