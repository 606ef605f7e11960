import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../src/base/error.ts";
import { InferenceRequest } from "../../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../../src/core/request/request-signature.ts";
import { SAMPLE_REPORT } from "../../support/fake-instance-hosts.ts";
import { RecordingSink } from "../../support/recording-sink.ts";
import { LOG_SETTINGS, refusalOf, ServerWorld } from "../../support/server-world.ts";
import { settle } from "../../support/settle.ts";
import { TemporaryFolder } from "../../support/temporary-folder.ts";

const ALL = 'backend: "onnxruntime" version_policy { all { } }\n';
const SECOND_NS = 1_000_000_000;

function failFor(world: ServerWorld, name: string): void {
  world.hosts.report = ({ modelName }) => {
    if (modelName === name) throw new InferenceError("INVALID_ARG", "no graph");
    return SAMPLE_REPORT;
  };
}

describe("the start", () => {
  test("loads every model of the repositories in mode none", async () => {
    using world = new ServerWorld({ controlMode: "none" });
    world.put("a");
    world.put("b");
    expect([world.server.isLive, world.server.isReady]).toEqual([false, false]);
    expect(await world.server.start()).toEqual([]);
    expect([world.server.isLive, world.server.isReady]).toEqual([true, true]);
    expect(world.index()).toEqual(["a 1 READY", "b 1 READY"]);
  });

  test("loads the named models in mode explicit, or all for a star", async () => {
    for (const [startupModels, expected] of [
      [[], ["a", "b"]],
      [
        ["b", "b"],
        ["a", "b 1 READY"],
      ],
      [["*"], ["a 1 READY", "b 1 READY"]],
    ] as const) {
      using world = new ServerWorld({ startupModels });
      world.put("a");
      world.put("b");
      await world.server.start();
      expect(world.index()).toEqual([...expected]);
      expect(world.server.isReady).toBe(true);
    }
  });

  test("tells which models did not load and serves the others", async () => {
    using world = new ServerWorld({ controlMode: "none" });
    for (const name of ["bad", "good"]) world.put(name);
    world.put("odd", "nonsense");
    failFor(world, "bad");
    const failures = await world.server.start();
    expect(failures.map(({ modelName }) => modelName)).toEqual(["bad", "odd"]);
    expect(failures[0]?.error.message).toContain("load failed for model 'bad'");
    expect(world.server.model("good", "").version).toBe(1);
    expect([world.server.isLive, world.server.isReady]).toEqual([true, false]);
    expect(world.logger.messages("error")[0]).toBeDefined();
    expect(world.index()).toEqual([
      "bad 1 UNAVAILABLE Invalid argument: no graph",
      "good 1 READY",
      "odd",
    ]);
  });

  test("is ready in spite of a bad model where readiness is not strict", async () => {
    using world = new ServerWorld({ controlMode: "none", isReadinessStrict: false });
    world.put("bad");
    failFor(world, "bad");
    await world.server.start();
    expect(world.server.isReady).toBe(true);
  });

  test("tells of a start-up model that is not there", async () => {
    using world = new ServerWorld({ startupModels: ["nope"] });
    const [failure] = await world.server.start();
    expect(failure?.error.message).toStartWith("failed to load 'nope'");
    expect(world.server.isReady).toBe(true);
  });

  test("refuses a star beside other names", async () => {
    using world = new ServerWorld({ startupModels: ["*", "a"] });
    const error = await refusalOf(() => world.server.start());
    expect(error.message).toBe(
      "Wildcard model name '*' must be the ONLY startup model if specified at all.",
    );
  });

  test("refuses a repository that is not there", async () => {
    using world = new ServerWorld({ repositoryPaths: ["/nowhere"] });
    expect((await refusalOf(() => world.server.start())).message).toContain("/nowhere");
  });

  test("of an empty repository is ready", async () => {
    using world = new ServerWorld({ controlMode: "none" });
    await world.server.start();
    expect([world.server.isReady, world.index()]).toEqual([true, []]);
  });

  test("does not load a name that two repositories have, and lists it once", async () => {
    using right = new TemporaryFolder();
    using left = new TemporaryFolder();
    for (const folder of [left, right]) folder.file("both/1/model.onnx");
    using world = new ServerWorld({
      controlMode: "none",
      repositoryPaths: [left.path, right.path],
    });
    const failures = await world.server.start();
    expect(failures.map(({ modelName }) => modelName)).toEqual(["both"]);
    expect(world.index()).toEqual(["both UNAVAILABLE model appears in two or more repositories"]);
    expect(world.index(true)).toEqual([]);
  });

  test("shows why a model without a version is not served", async () => {
    using world = new ServerWorld({ controlMode: "none" });
    world.put("none", undefined, []);
    const [failure] = await world.server.start();
    const text = "at least one version must be available under the version policy of model 'none'";
    expect(failure?.error.message).toContain(text);
    expect(world.index()).toEqual([`none UNAVAILABLE Invalid argument: ${text}`]);
    expect(world.server.isReady).toBe(false);
  });
});

test("each version is announced before it serves, again when it is loaded anew", async () => {
  const announced: string[] = [];
  using world: ServerWorld = new ServerWorld({
    controlMode: "explicit",
    startupModels: ["m"],
    onModelReady: ({ name, versionText }) => {
      const isServing = world.index(true).length > 0;
      announced.push(`${name} ${versionText} ${isServing ? "serves" : "is new"}`);
    },
  });
  world.put("m", ALL, [1, 2]);
  await world.server.start();
  expect(announced).toEqual(["m 1 is new", "m 2 is new"]);
  await world.server.unloadModel("m", false);
  await world.server.loadModel("m", {});
  expect(announced.slice(2)).toHaveLength(2);
});

test("requests are logged where verbose messages are on, without their data", async () => {
  let logVerboseLevel = 0;
  const log = {
    get settings() {
      return { ...LOG_SETTINGS, logVerboseLevel };
    },
    update: () => LOG_SETTINGS,
  };
  using world = new ServerWorld({ log, startupModels: ["m"] });
  world.put("m");
  await world.server.start();
  const signature = new RequestSignature({
    inputs: [{ name: "OTHER", datatype: "FP32", shape: [1, 4] }],
  });
  const fields = { signature, id: "r", inputBytes: [new Uint8Array(16)], arrivalNs: 0 };
  const send = () =>
    refusalOf(() =>
      world.server.infer(
        world.server.model("m", ""),
        new InferenceRequest({ ...fields, sink: new RecordingSink() }),
      ),
    );
  await send();
  expect(world.logger.messages("verbose")).toEqual([]);
  logVerboseLevel = 1;
  await send();
  expect(world.logger.records.at(-1)).toEqual({
    severity: "verbose",
    message: "inference request",
    fields: { model: "m", version: "1", requestId: "r", inputs: "OTHER FP32[1,4]", bytes: 16 },
  });
});

describe("the index", () => {
  test("lists what is on disk now, in order, and only READY versions where asked", async () => {
    using world = new ServerWorld();
    world.put("b", ALL, [10, 9]);
    await world.server.loadModel("b", {});
    world.put("a");
    expect(world.index()).toEqual(["a", "b 9 READY", "b 10 READY"]);
    expect(world.index(true)).toEqual(["b 9 READY", "b 10 READY"]);
    world.folder.remove("b");
    expect(world.index()).toEqual(["a"]);
  });

  test("leaves members out that have nothing to say", async () => {
    using world = new ServerWorld();
    world.put("a");
    expect(world.server.index(false)).toEqual([{ name: "a" }]);
    await world.server.loadModel("a", {});
    expect(world.server.index(false)).toEqual([{ name: "a", version: "1", state: "READY" }]);
  });
});

describe("control calls", () => {
  test.each(["none", "poll"] as const)("are refused in mode %s", async (controlMode) => {
    using world = new ServerWorld({ controlMode });
    for (const call of [
      () => world.server.loadModel("m", {}),
      () => world.server.unloadModel("m", false),
    ]) {
      const error = await refusalOf(call);
      expect([error.code, error.message]).toEqual([
        "UNAVAILABLE",
        "explicit model load / unload is not allowed if polling is enabled",
      ]);
    }
  });

  test("unload takes all versions, and unknown models are no error", async () => {
    using world = new ServerWorld();
    world.put("m", ALL, [1, 2]);
    await world.server.loadModel("m", {});
    await world.server.unloadModel("m", false);
    await world.server.unloadModel("nope", true);
    await settle();
    expect(world.index()).toEqual(["m 1 UNAVAILABLE unloaded", "m 2 UNAVAILABLE unloaded"]);
    expect([world.hosts.poolCount, world.server.isReady]).toEqual([0, false]);
    await world.server.start();
    expect(world.server.isReady).toBe(true);
  });

  test("log settings are read and changed where the log is", () => {
    using world = new ServerWorld();
    expect(world.server.logSettings().logInfo).toBe(true);
    expect(world.server.updateLogSettings({ logInfo: false }).logInfo).toBe(false);
  });
});

describe("a look-up", () => {
  async function loaded(): Promise<ServerWorld> {
    const world = new ServerWorld();
    world.put("m", ALL, [2, 10]);
    await world.server.loadModel("m", {});
    return world;
  }

  test("without version gives the highest, and any spelling of a number its version", async () => {
    using world = await loaded();
    expect(world.server.model("m", "").version).toBe(10);
    expect(world.server.model("m", "2").version).toBe(2);
    expect(world.server.model("m", "02").version).toBe(2);
    expect(world.server.readyVersions("m")).toEqual(["2", "10"]);
  });

  test("of what is not there is NOT_FOUND in Triton's words", async () => {
    using world = await loaded();
    const cases = [
      ["nope", "", "Request for unknown model: 'nope' is not found"],
      ["nope", "1", "Request for unknown model: 'nope' is not found"],
      ["", "", "Request for unknown model: '' is not found"],
      ["m", "7", "Request for unknown model: 'm' version 7 is not found"],
    ] as const;
    for (const [name, version, text] of cases) {
      for (const call of [
        () => world.server.model(name, version),
        () => world.server.isModelReady(name, version),
      ]) {
        const error = await refusalOf(call);
        expect([error.code, error.message]).toEqual(["NOT_FOUND", text]);
      }
    }
    expect((await refusalOf(() => world.server.readyVersions("nope"))).code).toBe("NOT_FOUND");
  });

  test("of an unloaded model tells that there is no version, or that the version is not ready", async () => {
    using world = await loaded();
    await world.server.unloadModel("m", false);
    const none = await refusalOf(() => world.server.model("m", ""));
    expect([none.code, none.message]).toEqual([
      "NOT_FOUND",
      "Request for unknown model: 'm' has no available versions",
    ]);
    const one = await refusalOf(() => world.server.model("m", "2"));
    expect([one.code, one.message]).toEqual([
      "UNAVAILABLE",
      "Request for unknown model: 'm' version 2 is not at ready state",
    ]);
    expect(["", "2", "02"].map((version) => world.server.isModelReady("m", version))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test.each(["abc", "-1", "1.0.0", " 1", "+1", "99999999999999999999"])(
    "with the version %j is an invalid argument, whatever the model",
    async (version) => {
      using world = await loaded();
      for (const name of ["m", "nope"]) {
        const error = await refusalOf(() => world.server.model(name, version));
        expect([error.code, error.message]).toEqual([
          "INVALID_ARG",
          `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
        ]);
      }
    },
  );

  test("tells whether the instances of a model are up", async () => {
    using world = await loaded();
    expect(await world.server.isModelReady("m", "10")).toBe(true);
    const pool = world.hosts.pools.at(-1);
    if (pool !== undefined) pool.isHealthy = false;
    const ready = await Promise.all(
      ["2", "10"].map((version) => world.server.isModelReady("m", version)),
    );
    expect(ready.sort()).toEqual([false, true]);
  });

  test("for statistics gives all, one model or one version", async () => {
    using world = await loaded();
    world.put("a");
    await world.server.loadModel("a", {});
    const namesOf = (name: string, version: string) =>
      world.server.statisticsModels(name, version).map((m) => `${m.name} ${m.versionText}`);
    expect(namesOf("", "")).toEqual(["a 1", "m 2", "m 10"]);
    expect(namesOf("m", "")).toEqual(["m 2", "m 10"]);
    expect(namesOf("m", "10")).toEqual(["m 10"]);
    const model = await refusalOf(() => world.server.statisticsModels("nope", ""));
    expect([model.code, model.message]).toEqual([
      "INVALID_ARG",
      "requested model 'nope' is not available",
    ]);
    const version = await refusalOf(() => world.server.statisticsModels("m", "9"));
    expect([version.code, version.message]).toEqual([
      "INVALID_ARG",
      "requested model version is not available for model 'm'",
    ]);
  });
});

test("infer hands a request to its model", async () => {
  using world = new ServerWorld();
  world.put("m");
  await world.server.loadModel("m", {});
  const request = new InferenceRequest({
    signature: new RequestSignature({ inputs: [] }),
    id: "7",
    inputBytes: [],
    sink: new RecordingSink(),
    arrivalNs: 0,
  });
  const error = await refusalOf(() => world.server.infer(world.server.model("m", ""), request));
  expect(error.message).toStartWith("[request id: 7] expected 1 inputs but got 0 inputs");
});

describe("the end", () => {
  test("refuses everything at once and frees all", async () => {
    using world = new ServerWorld({ startupModels: ["*"] });
    world.put("m");
    await world.server.start();
    const stop = world.server.stop(30 * SECOND_NS);
    expect([world.server.isLive, world.server.isReady]).toEqual([false, false]);
    const lookUp = await refusalOf(() => world.server.model("m", ""));
    expect([lookUp.code, lookUp.message]).toEqual([
      "UNAVAILABLE",
      "Server is stopping, scheduler for model has stopped accepting new inference requests",
    ]);
    expect((await refusalOf(() => world.server.loadModel("m", {}))).code).toBe("UNAVAILABLE");
    expect(await stop).toBe(0);
    expect([world.hosts.poolCount, world.clock.timerCount]).toEqual([0, 0]);
    expect(world.logger.messages("info")).toContain(
      "Timeout 30: Found 1 live models and 0 in-flight non-inference requests",
    );
  });

  test("waits no longer than it may for models that do not come to an end", async () => {
    using world = new ServerWorld({ startupModels: ["*"] });
    world.put("m");
    await world.server.start();
    const pool = world.hosts.pools[0];
    if (pool === undefined) throw new Error("nothing was loaded");
    pool.dispose = () => new Promise(() => undefined);
    const stop = world.server.stop(2 * SECOND_NS);
    await settle();
    world.clock.advance(SECOND_NS);
    await settle();
    world.clock.advance(SECOND_NS);
    expect(await stop).toBe(1);
    expect(world.clock.timerCount).toBe(0);
    const lines = world.logger.messages("info").filter((line) => line.startsWith("Timeout"));
    expect(lines.map((line) => line.slice(0, 10))).toEqual([
      "Timeout 2:",
      "Timeout 1:",
      "Timeout 0:",
    ]);
  });
});
