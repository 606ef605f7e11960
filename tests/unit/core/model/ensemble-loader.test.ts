import { describe, expect, test } from "bun:test";
import { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { RequestSignature } from "../../../../src/core/request/request-signature.ts";
import { RecordingSink } from "../../../support/recording-sink.ts";
import { refusalOf, ServerWorld } from "../../../support/server-world.ts";
import { settle } from "../../../support/settle.ts";

/** An ensemble that hands its input through these models in turn; ensembles among them as `>name`. */
function chain(name: string, models: readonly string[]): string {
  const steps = models.map((model, i) => {
    const [input, output] = model.startsWith(">") ? ["IN", "OUT"] : ["INPUT0", "OUTPUT0"];
    const from = i === 0 ? "IN" : `t${i}`;
    const to = i === models.length - 1 ? "OUT" : `t${i + 1}`;
    return (
      `step { model_name: "${model.replace(">", "")}" model_version: -1 ` +
      `input_map { key: "${input}" value: "${from}" } output_map { key: "${output}" value: "${to}" } }`
    );
  });
  return (
    `name: "${name}" platform: "ensemble" max_batch_size: 4 ` +
    'input { name: "IN" data_type: TYPE_FP32 dims: 4 } output { name: "OUT" data_type: TYPE_FP32 dims: 4 } ' +
    `ensemble_scheduling { ${steps.join(" ")} }`
  );
}

function worldWith(ensembles: Readonly<Record<string, readonly string[]>>): ServerWorld {
  const world = new ServerWorld();
  world.put("a");
  world.put("b");
  for (const [name, models] of Object.entries(ensembles)) world.put(name, chain(name, models));
  return world;
}

function infer(world: ServerWorld, name: string): InferenceRequest {
  const request = new InferenceRequest({
    signature: new RequestSignature({
      inputs: [{ name: "IN", datatype: "FP32", shape: [1, 4] }],
    }),
    id: "",
    inputBytes: [new Uint8Array(16)],
    sink: new RecordingSink(),
    arrivalNs: 0,
  });
  world.server.infer(world.server.model(name, ""), request);
  return request;
}

describe("loading an ensemble", () => {
  test("loads its steps first, each once, also those of ensembles in it", async () => {
    using world = worldWith({ inner: ["a", "b"], outer: [">inner", "a"] });
    await world.server.loadModel("outer", {});
    expect(world.opened().sort()).toEqual(["a/1", "b/1"]);
    expect(world.index(true)).toEqual(["a 1 READY", "b 1 READY", "inner 1 READY", "outer 1 READY"]);
    await world.server.loadModel("outer", {});
    expect(world.opened()).toHaveLength(2);
  });

  test("at the start, when everything loads at once, works in any order", async () => {
    using world = new ServerWorld({ controlMode: "none" });
    world.put("z");
    world.put("a_outer", chain("a_outer", [">m_inner"]));
    world.put("m_inner", chain("m_inner", ["z"]));
    expect(await world.server.start()).toEqual([]);
    expect(world.opened()).toEqual(["z/1"]);
    expect(world.server.isReady).toBe(true);
  });

  test("needs all models of its steps, and says which it misses", async () => {
    using world = worldWith({ e: ["a", "ghost", "phantom"] });
    const error = await refusalOf(() => world.server.loadModel("e", {}));
    expect(error.message).toContain(
      "ensemble e contains models that are not available or ambiguous: ghost, phantom",
    );
    expect(world.index(true)).toEqual(["a 1 READY"]);
  });

  test("says why a step has no version", async () => {
    using world = worldWith({ e: ["broken"] });
    world.put("broken", 'backend: "nonesuch"\n');
    const error = await refusalOf(() => world.server.loadModel("e", {}));
    expect(error.message).toContain(
      "ensemble 'e' depends on 'broken' which has no loaded version. Model 'broken' loading failed with " +
        "error: version 1 is at UNAVAILABLE state: Invalid argument: unable to find backend library for 'nonesuch';",
    );
  });

  test("says which version of a step it lacks", async () => {
    using world = worldWith({});
    world.put("e", chain("e", ["a"]).replace("model_version: -1", "model_version: 7"));
    const error = await refusalOf(() => world.server.loadModel("e", {}));
    expect(error.message).toContain(
      "ensemble 'e' depends on 'a' whose required version 7 is not loaded",
    );
  });

  test("in a circle is refused with the way round, whichever comes first", async () => {
    using world = worldWith({ x: [">y"], y: [">z"], z: [">x"] });
    const error = await refusalOf(() => world.server.loadModel("y", {}));
    expect(error.message).toBe(
      "failed to load 'y', circular dependency between ensembles: y -> z -> x -> y",
    );
    const all = await Promise.allSettled(
      ["x", "y", "z"].map((name) => world.server.loadModel(name, {})),
    );
    expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});

describe("a step that is loaded anew", () => {
  test("takes its ensembles along, and goes when their last request has ended", async () => {
    using world = worldWith({ inner: ["a"], outer: [">inner"] });
    await world.server.loadModel("outer", {});
    const before = ["inner", "outer"].map((name) => world.server.model(name, ""));
    const request = infer(world, "outer");
    world.folder.touch("a/1/model.onnx");
    await world.server.loadModel("a", {});
    const after = ["inner", "outer"].map((name) => world.server.model(name, ""));
    expect(after.map((model, i) => model === before[i])).toEqual([false, false]);
    await settle();
    expect(world.hosts.poolCount).toBe(2);
    request.cancel();
    await settle();
    expect(world.hosts.poolCount).toBe(1);
  });

  test("leaves ensembles of other models alone", async () => {
    using world = worldWith({ e: ["a"], f: ["b"] });
    await world.server.loadModel("e", {});
    await world.server.loadModel("f", {});
    const before = world.server.model("f", "");
    world.folder.touch("a/1/model.onnx");
    await world.server.loadModel("e", {});
    expect(world.server.model("f", "")).toBe(before);
  });

  test("takes ensembles out of service that do not fit any more", async () => {
    using world = worldWith({ e: ["a"] });
    await world.server.loadModel("e", {});
    world.put("a", 'backend: "onnxruntime" max_batch_size: 2\n');
    await world.server.loadModel("a", {});
    await settle();
    expect(world.index()).toContain("e 1 UNAVAILABLE unloaded");
    expect(world.logger.messages("error").at(-1)).toContain(
      "ensemble 'e' cannot go on with another version of its steps",
    );
    expect(world.hosts.poolCount).toBe(1);
  });
});

describe("unloading", () => {
  test("a step takes its ensembles out of service, and they come back with it", async () => {
    using world = worldWith({ inner: ["a", "b"], outer: [">inner"] });
    await world.server.loadModel("outer", {});
    await world.server.unloadModel("a", false);
    await settle();
    expect(world.index(true)).toEqual(["b 1 READY"]);
    expect(world.hosts.poolCount).toBe(1);
    await world.server.loadModel("a", {});
    expect(world.index(true)).toEqual(["a 1 READY", "b 1 READY", "inner 1 READY", "outer 1 READY"]);
  });

  test("an ensemble keeps its steps, unless they are to go along", async () => {
    using world = worldWith({ e: ["a", "b"] });
    await world.server.loadModel("e", {});
    await world.server.unloadModel("e", false);
    expect(world.index(true)).toEqual(["a 1 READY", "b 1 READY"]);
    await world.server.loadModel("e", {});
    await world.server.unloadModel("e", true);
    expect(world.index(true)).toEqual([]);
  });

  test("spares steps that somebody asked for, or that another ensemble needs", async () => {
    using world = worldWith({ e: ["a", "b"], f: ["b"] });
    await world.server.loadModel("a", {});
    await world.server.loadModel("e", {});
    await world.server.loadModel("f", {});
    await world.server.unloadModel("e", true);
    expect(world.index(true)).toEqual(["a 1 READY", "b 1 READY", "f 1 READY"]);
  });

  test("a stop ends requests under way through every step, and frees everything", async () => {
    using world = worldWith({ e: ["a", "b"] });
    await world.server.loadModel("e", {});
    const request = infer(world, "e");
    let freed: number | undefined;
    const end = world.server.stop(60e9).then((left) => {
      freed = left;
    });
    await settle();
    expect([freed, world.hosts.poolCount]).toEqual([undefined, 2]);
    request.cancel();
    await end;
    expect([freed, world.hosts.poolCount]).toEqual([0, 0]);
  });
});
