import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { InferenceError } from "../../../../src/base/error.ts";
import { eventually } from "../../../support/eventually.ts";
import { SAMPLE_REPORT } from "../../../support/fake-instance-hosts.ts";
import { refusalOf, ServerWorld } from "../../../support/server-world.ts";
import { settle } from "../../../support/settle.ts";

const ALL = 'backend: "onnxruntime" version_policy { all { } }\n';
const CONFIG_JSON = '{"backend":"onnxruntime","max_batch_size":2}';
const GRAPH = new TextEncoder().encode("graph");

/** Makes openings fail for models whose file is not a graph, as a backend does. */
function refuseBrokenFiles(world: ServerWorld): void {
  world.hosts.report = async ({ versionDirectory }) => {
    const text = await Bun.file(`${versionDirectory}/model.onnx`).text();
    if (text === "broken") throw new InferenceError("INVALID_ARG", "no graph");
    return SAMPLE_REPORT;
  };
}

describe("a plain load", () => {
  test("of a loaded model that has not changed does nothing", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", {});
    const model = world.server.model("m", "");
    await world.server.loadModel("m", {});
    expect([world.opened(), world.server.model("m", "")]).toEqual([["m/1"], model]);
    expect(world.logger.messages("info")).toEqual(["successfully loaded 'm'"]);
  });

  test("loads a changed file behind the back of the version that serves", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", {});
    const before = world.server.model("m", "");
    world.folder.touch("m/1/model.onnx");
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "")).not.toBe(before);
    await settle();
    expect(world.hosts.poolCount).toBe(1);
  });

  test("loads a new version and leaves the others alone", async () => {
    using world = new ServerWorld();
    world.put("m", ALL);
    await world.server.loadModel("m", {});
    const first = world.server.model("m", "1");
    world.put("m", ALL, [2]);
    await world.server.loadModel("m", {});
    expect(world.opened()).toEqual(["m/1", "m/2"]);
    expect(world.server.model("m", "1")).toBe(first);
    expect(world.server.readyVersions("m")).toEqual(["1", "2"]);
  });

  test("swaps versions under the default policy", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", {});
    world.put("m", undefined, [2]);
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "").version).toBe(2);
    await settle();
    expect(world.index()).toEqual(["m 1 UNAVAILABLE unloaded", "m 2 READY"]);
  });

  test("unloads a version whose directory is gone", async () => {
    using world = new ServerWorld();
    world.put("m", ALL, [1, 2]);
    await world.server.loadModel("m", {});
    world.folder.remove("m/2");
    await world.server.loadModel("m", {});
    expect(world.server.readyVersions("m")).toEqual(["1"]);
    expect(world.opened()).toEqual(["m/1", "m/2"]);
  });

  test("follows another version policy without loading what stays, and shows it", async () => {
    using world = new ServerWorld();
    world.put("m", ALL, [1, 2]);
    await world.server.loadModel("m", {});
    const first = world.server.model("m", "1");
    const before = first.config;
    const policy = 'backend: "onnxruntime" version_policy { specific { versions: [ 1 ] } }';
    world.folder.file("m/config.pbtxt", policy);
    await world.server.loadModel("m", {});
    expect([world.opened(), world.server.model("m", "")]).toEqual([["m/1", "m/2"], first]);
    expect(first.config.message.versionPolicy?.policyChoice.case).toBe("specific");
    expect({ ...first.config, message: undefined }).toEqual({ ...before, message: undefined });
  });

  test("loads again when the configuration says something else", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", {});
    world.put("m", 'backend: "onnxruntime" max_batch_size: 2\n');
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "").config.maxBatchSize).toBe(2);
    world.folder.touch("m/config.pbtxt");
    await world.server.loadModel("m", {});
    expect(world.opened()).toEqual(["m/1", "m/1"]);
  });

  test("that failed is tried again, and what served went on", async () => {
    using world = new ServerWorld();
    refuseBrokenFiles(world);
    world.put("m");
    await world.server.loadModel("m", {});
    const before = world.server.model("m", "");
    world.folder.file("m/1/model.onnx", "broken");
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await refusalOf(() => world.server.loadModel("m", {}));
      expect([error.code, error.message.trimEnd()]).toEqual([
        "INVALID_ARG",
        "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid argument: no graph;",
      ]);
      expect(world.server.model("m", "")).toBe(before);
    }
    world.folder.file("m/1/model.onnx", "mended graph");
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "")).not.toBe(before);
  });

  test("with a new version that fails leaves the old one serving", async () => {
    using world = new ServerWorld();
    refuseBrokenFiles(world);
    world.put("m");
    await world.server.loadModel("m", {});
    world.folder.file("m/2/model.onnx", "broken");
    await refusalOf(() => world.server.loadModel("m", {}));
    expect(world.index()).toEqual(["m 1 READY", "m 2 UNAVAILABLE Invalid argument: no graph"]);
    world.folder.remove("m/2");
    await world.server.loadModel("m", {});
    expect(world.index()).toEqual(["m 1 READY", "m 2 UNAVAILABLE unloaded"]);
    expect(world.opened()).toEqual(["m/1", "m/2"]);
  });

  test("of an unreadable configuration is INTERNAL, tells the fault and leaves what served", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", {});
    world.put("m", "max_bach: 3");
    const error = await refusalOf(() => world.server.loadModel("m", {}));
    expect(error.code).toBe("INTERNAL");
    expect(error.message).toStartWith("failed to load 'm', failed to poll from model repository: ");
    expect(error.message).toContain("max_bach");
    expect(world.logger.messages("error").join()).toContain("max_bach");
    expect(world.server.model("m", "").version).toBe(1);
  });

  test("of an absent model says so without a word on the server's folders", async () => {
    using world = new ServerWorld();
    const error = await refusalOf(() => world.server.loadModel("nope", {}));
    expect([error.code, error.message]).toEqual([
      "INTERNAL",
      "failed to load 'nope', failed to poll from model repository",
    ]);
  });

  test("of a bad name is refused before anything is looked at", async () => {
    using world = new ServerWorld();
    for (const name of ["", "..", "../x", "/etc", "a/b", "a\0b"]) {
      const error = await refusalOf(() => world.server.loadModel(name, {}));
      expect(error.code).toBe("INVALID_ARG");
    }
  });

  test("loads of one model run one after the other, of several side by side", async () => {
    using world = new ServerWorld();
    for (const name of ["a", "b"]) world.put(name);
    const gate = Promise.withResolvers<void>();
    world.hosts.report = async () => {
      await gate.promise;
      return SAMPLE_REPORT;
    };
    const loads = ["a", "a", "b"].map((name) => world.server.loadModel(name, {}));
    await eventually(() => world.opened().length === 2);
    expect(world.opened().sort()).toEqual(["a/1", "b/1"]);
    expect(world.index()).toEqual(["a 1 LOADING", "b 1 LOADING"]);
    gate.resolve();
    await Promise.all(loads);
    expect(world.opened()).toHaveLength(2);
  });
});

describe("a configuration given with a load", () => {
  test("takes the place of the file and stays until something on disk is newer", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", { configJson: CONFIG_JSON });
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "").config.maxBatchSize).toBe(2);
    expect(world.opened()).toEqual(["m/1"]);
    world.folder.touch("m/1/model.onnx");
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "").config.maxBatchSize).toBe(4);
  });

  test("is forgotten by an unload", async () => {
    using world = new ServerWorld();
    world.put("m");
    await world.server.loadModel("m", { configJson: CONFIG_JSON });
    await world.server.unloadModel("m", false);
    await world.server.loadModel("m", {});
    expect(world.server.model("m", "").config.maxBatchSize).toBe(4);
  });

  test.each(["not json", '{"no_such_field":1}', '{"name":"other"}', '{"backend":"nonesuch"}'])(
    "that is bad is the caller's fault and leaves what served: %s",
    async (configJson) => {
      using world = new ServerWorld();
      world.put("m");
      await world.server.loadModel("m", {});
      const before = world.server.model("m", "");
      const error = await refusalOf(() => world.server.loadModel("m", { configJson }));
      expect(error.code).toBe("INVALID_ARG");
      expect(world.server.model("m", "")).toBe(before);
    },
  );
});

describe("files given with a load", () => {
  const files = (entries: Record<string, Uint8Array>) => new Map(Object.entries(entries));

  test("are the whole model, wherever the name is on disk or not", async () => {
    using world = new ServerWorld();
    world.put("m", ALL, [1, 2]);
    const given = { configJson: CONFIG_JSON, files: files({ "7/model.onnx": GRAPH }) };
    await world.server.loadModel("m", given);
    await world.server.loadModel("from_nowhere", given);
    expect(world.server.readyVersions("m")).toEqual(["7"]);
    expect(world.server.readyVersions("from_nowhere")).toEqual(["7"]);
    expect(world.index()).toEqual(["m 7 READY"]);
  });

  test("are on disk as long as the model needs them", async () => {
    using world = new ServerWorld();
    const given = { configJson: CONFIG_JSON, files: files({ "1/model.onnx": GRAPH }) };
    await world.server.loadModel("m", given);
    const directory = world.hosts.openings[0]?.options.modelDirectory ?? "";
    expect(directory.startsWith(world.folder.path)).toBe(false);
    expect(existsSync(directory)).toBe(true);
    await world.server.unloadModel("m", false);
    await Bun.sleep(20);
    expect(existsSync(directory)).toBe(false);
  });

  test("take effect each time, even with the same configuration", async () => {
    using world = new ServerWorld();
    const given = { configJson: CONFIG_JSON, files: files({ "1/model.onnx": GRAPH }) };
    await world.server.loadModel("m", given);
    await world.server.loadModel("m", given);
    expect(world.opened()).toEqual(["m/1", "m/1"]);
  });

  test("that are no model leave the old one and nothing on disk", async () => {
    using world = new ServerWorld();
    refuseBrokenFiles(world);
    const given = { configJson: CONFIG_JSON, files: files({ "1/model.onnx": GRAPH }) };
    await world.server.loadModel("m", given);
    const broken = files({ "1/model.onnx": new TextEncoder().encode("broken") });
    const error = await refusalOf(() => world.server.loadModel("m", { ...given, files: broken }));
    expect(error.message).toContain("no graph");
    expect(world.server.model("m", "").version).toBe(1);
    expect(existsSync(world.hosts.openings[1]?.options.modelDirectory ?? "/")).toBe(false);
  });

  test("give way to the directory at the next plain load", async () => {
    using world = new ServerWorld();
    world.put("m");
    const given = { configJson: CONFIG_JSON, files: files({ "1/model.onnx": GRAPH }) };
    await world.server.loadModel("m", given);
    await world.server.loadModel("m", {});
    expect(world.hosts.openings[1]?.options.modelDirectory).toStartWith(world.folder.path);
  });

  test("need a configuration", async () => {
    using world = new ServerWorld();
    world.put("m");
    const given = { files: files({ "1/model.onnx": GRAPH }) };
    const error = await refusalOf(() => world.server.loadModel("m", given));
    expect([error.code, error.message]).toEqual([
      "INVALID_ARG",
      "failed to load 'm', failed to poll from model repository: " +
        "Load parameter 'config' must be specified for model file override",
    ]);
  });

  test("must stay within the model", async () => {
    using world = new ServerWorld();
    const given = { configJson: CONFIG_JSON, files: files({ "../evil": GRAPH }) };
    const error = await refusalOf(() => world.server.loadModel("m", given));
    expect(error.code).toBe("INVALID_ARG");
    expect(error.message).toContain("must stay within model directory.");
  });
});
