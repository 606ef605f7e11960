import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../src/base/error.ts";
import type { LogOutput } from "../../src/base/log-output.ts";
import { ServerLog } from "../../src/base/server-log.ts";
import type { IndexEntry } from "../../src/core/control-plane.ts";
import { type Frontend, type FrontendPlan, modelTable, Server } from "../../src/server.ts";
import { ManualClock } from "../support/manual-clock.ts";

interface World {
  failures?: readonly { modelName: string; error: InferenceError }[];
  inflightAtEnd?: number;
  liveAtEnd?: number;
  openError?: unknown;
  index?: readonly IndexEntry[];
  exitOnError?: boolean;
  /** Ends a frontend's stop; it ends at once where nothing is given. */
  closing?: Promise<void>;
  loading?: Promise<void>;
}

/** A server of fakes that write down what is asked of them. */
function serverOf(world: World = {}) {
  const events: string[] = [];
  const lines: string[] = [];
  const clock = new ManualClock();
  const output: LogOutput = {
    write: (severity, line) => {
      lines.push(`${severity} ${line.slice(line.indexOf("] ") + 2)}`);
    },
    close: () => undefined,
  };
  const plan = (label: string, service: FrontendPlan["service"], port: number): FrontendPlan => ({
    service,
    label,
    address: "127.0.0.1",
    port,
    async open(): Promise<Frontend> {
      if (label === "gRPC" && world.openError !== undefined) throw world.openError;
      events.push(`open ${label}`);
      return {
        address: "127.0.0.1",
        port: port + 1,
        beginExit: () => events.push(`beginExit ${label}`),
        async stop() {
          events.push(`stop ${label}`);
          await world.closing;
        },
      };
    },
  });
  const server = new Server({
    models: {
      async start() {
        events.push("load");
        await world.loading;
        return world.failures ?? [];
      },
      async stop() {
        events.push("unload");
        return world.liveAtEnd ?? 0;
      },
      index: () => world.index ?? [],
      get inflightCount() {
        return world.inflightAtEnd ?? 0;
      },
    },
    preparePorts: async () => [
      plan("HTTP", "HTTPService", 10),
      plan("gRPC", "GRPCInferenceService", 20),
    ],
    disposeHosts: async () => {
      events.push("dispose hosts");
    },
    log: new ServerLog({
      settings: {
        logFile: "",
        logInfo: true,
        logWarning: true,
        logError: true,
        logVerboseLevel: 0,
        logFormat: "default",
      },
      output,
      escapeMessages: false,
      pid: 1,
      nowMs: () => 0,
    }),
    clock,
    exitOnError: world.exitOnError ?? true,
    exitTimeoutSeconds: 5,
  });
  return { server, events, lines, clock };
}

const BROKEN = {
  modelName: "bad",
  error: new InferenceError("INTERNAL", "failed to load 'bad'"),
};

describe("start", () => {
  test("models are loaded before ports open, and each port is announced as scripts expect", async () => {
    const { server, events, lines } = serverOf();
    await server.start();
    expect(events).toEqual(["load", "open HTTP", "open gRPC"]);
    expect(lines.slice(1)).toEqual([
      "INFO Started HTTPService at 127.0.0.1:11\n",
      "INFO Started GRPCInferenceService at 127.0.0.1:21\n",
      "INFO ready: gRPC 127.0.0.1:21, HTTP 127.0.0.1:11\n",
    ]);
  });

  test("a model that fails ends the start before a port opens, after the table has been shown", async () => {
    const { server, events, lines } = serverOf({ failures: [BROKEN] });
    await expect(server.start()).rejects.toThrow("failed to load all models");
    expect(events).toEqual(["load"]);
    expect(lines.join()).toContain(
      "| bad   |         | UNAVAILABLE: Internal: failed to load 'bad' |",
    );
  });

  test("without exit-on-error the others are served", async () => {
    const { server, events } = serverOf({ failures: [BROKEN], exitOnError: false });
    await server.start();
    expect(events).toEqual(["load", "open HTTP", "open gRPC"]);
  });

  test("a port that is taken is named in Triton's words", async () => {
    const cause = Object.assign(new Error("in use"), { code: "EADDRINUSE" });
    for (const openError of [cause, new InferenceError("UNAVAILABLE", "cannot", { cause })]) {
      const { server } = serverOf({ openError });
      await expect(server.start()).rejects.toThrow("Socket '127.0.0.1:20' already in use ");
    }
  });

  test("another reason why a port cannot be opened is kept", async () => {
    const { server } = serverOf({
      openError: new InferenceError("UNAVAILABLE", "no such address"),
    });
    await expect(server.start()).rejects.toThrow("no such address");
  });
});

describe("stop", () => {
  test("models drain while ports are open, then ports close in reverse, then hosts go", async () => {
    const { server, events } = serverOf();
    await server.start();
    events.length = 0;
    expect(await server.stop()).toBe(0);
    expect(events).toEqual([
      "beginExit HTTP",
      "beginExit gRPC",
      "unload",
      "stop gRPC",
      "stop HTTP",
      "dispose hosts",
    ]);
  });

  test("stopping twice stops once", async () => {
    const { server, events } = serverOf();
    await server.start();
    expect(await Promise.all([server.stop(), server.stop()])).toEqual([0, 0]);
    expect(events.filter((event) => event === "unload")).toHaveLength(1);
  });

  test("requests that outlive the exit timeout are status 1, and nothing waits for their connections", async () => {
    const { server, events, lines } = serverOf({ inflightAtEnd: 2, liveAtEnd: 1 });
    await server.start();
    expect(await server.stop()).toBe(1);
    expect(events).not.toContain("stop HTTP");
    expect(lines.at(-1)).toBe("ERROR Exit timeout expired. Exiting immediately. requests=2\n");
  });

  test("models that are not freed in time but owe no answer are a clean end", async () => {
    const { server, events } = serverOf({ liveAtEnd: 1 });
    await server.start();
    expect(await server.stop()).toBe(0);
    expect(events).not.toContain("dispose hosts");
  });

  test("a connection that does not close is given up at the end of the exit timeout", async () => {
    const { server, clock, lines } = serverOf({ closing: new Promise(() => undefined) });
    await server.start();
    const end = server.stop();
    await Bun.sleep(0);
    clock.advance(5e9);
    expect(await end).toBe(0);
    expect(lines.join()).toContain("connections were still busy");
    expect(clock.timerCount).toBe(0);
  });

  test("a stop while models load opens no port", async () => {
    const loading = Promise.withResolvers<void>();
    const { server, events } = serverOf({ loading: loading.promise });
    const start = server.start();
    const end = server.stop();
    loading.resolve();
    await start;
    expect(await end).toBe(0);
    expect(events).toEqual(["load", "unload", "dispose hosts"]);
  });
});

test("the table shows every version with its state and reason, and leaves out what was never loaded", () => {
  const index: readonly IndexEntry[] = [
    { name: "a", version: "1", state: "READY" },
    { name: "b", version: "2", state: "UNAVAILABLE", reason: "Internal: broken" },
    { name: "c" },
  ];
  expect(modelTable(index, [BROKEN]).rows).toEqual([
    ["a", "1", "READY"],
    ["b", "2", "UNAVAILABLE: Internal: broken"],
    ["bad", "", "UNAVAILABLE: Internal: failed to load 'bad'"],
  ]);
});
