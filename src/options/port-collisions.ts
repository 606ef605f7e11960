import { OptionError } from "./option.ts";
import type { PortRange } from "./setting.ts";

/** Where a service listens. */
export interface ListenAddress {
  readonly address: string;
  /** 0 = any free port. */
  readonly port: number;
}

/** A service and where it listens; the name is Triton's, as its messages have it. */
export interface ListeningService extends ListenAddress {
  readonly name: "HTTP" | "GRPC" | "metrics" | "SageMaker" | "Vertex AI";
}

/**
 * Refuses two services on the same address text and port, and a SageMaker range that is not kept.
 *
 * @param services those that are switched on, in Triton's order.
 * @param safeRange ports that the other services must keep to while SageMaker's endpoint is on.
 * @throws OptionError with Triton's words.
 */
export function checkPorts(
  services: readonly ListeningService[],
  safeRange: PortRange | undefined,
): void {
  for (const [at, one] of services.entries()) {
    if (
      safeRange !== undefined &&
      one.port !== 0 &&
      (one.port < safeRange.min || one.port > safeRange.max)
    ) {
      throw new OptionError(
        `The server cannot listen to ${one.name} requests at port ${one.port}, allowed port range is [${safeRange.min}, ${safeRange.max}]`,
      );
    }
    for (const other of services.slice(at + 1)) {
      if (one.port !== 0 && one.port === other.port && one.address === other.address) {
        throw new OptionError(
          `The server cannot listen to ${one.name} requests and ${other.name} requests at the same address and port ${one.address}:${one.port}`,
        );
      }
    }
  }
}
