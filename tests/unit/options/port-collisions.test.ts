import { expect, test } from "bun:test";
import { checkPorts, type ListeningService } from "../../../src/options/port-collisions.ts";

function service(name: ListeningService["name"], address: string, port: number): ListeningService {
  return { name, address, port };
}

test("addresses are compared as text, as Triton does", () => {
  const one = service("HTTP", "localhost", 8000);
  expect(() => checkPorts([one, service("GRPC", "127.0.0.1", 8000)], undefined)).not.toThrow();
  expect(() => checkPorts([one, service("GRPC", "localhost", 8000)], undefined)).toThrow(
    "HTTP requests and GRPC requests at the same address and port localhost:8000",
  );
});

test("a port outside of the safe range is refused with the range", () => {
  const services = [service("HTTP", "a", 8000), service("metrics", "a", 9002)];
  expect(() => checkPorts(services, { min: 8000, max: 8100 })).toThrow(
    "cannot listen to metrics requests at port 9002, allowed port range is [8000, 8100]",
  );
});
