import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { type LoadPlan, ModelLifecycle } from "../../../../src/core/model/model-lifecycle.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { settle } from "../../../support/settle.ts";
import { StubModel } from "../../../support/stub-model.ts";

interface World {
  readonly lifecycle: ModelLifecycle;
  readonly logger: RecordingLogger;
  readonly onDisk: Set<string>;
  /** States of `m` as text: `1 READY`, `2 UNAVAILABLE unloaded`. */
  states(name?: string): string[];
}

function world(loadRetryCount = 0, loadThreadCount = 4): World {
  const logger = new RecordingLogger();
  const onDisk = new Set(["m"]);
  const lifecycle = new ModelLifecycle({
    logger,
    loadThreadCount,
    loadRetryCount,
    isOnDisk: (name) => onDisk.has(name),
  });
  const states = (name = "m") =>
    lifecycle
      .versionStates(name)
      .map(({ version, state, reason }) => `${version} ${state} ${reason}`.trim());
  return { lifecycle, logger, onDisk, states };
}

function plan(
  versions: readonly number[],
  open: LoadPlan["open"],
  keptVersions: readonly number[] = [],
  modelName = "m",
): LoadPlan {
  return {
    modelName,
    versions,
    keptVersions: new Set(keptVersions),
    versionsOnDisk: new Set(versions),
    open,
  };
}

const opens = async (version: number) => new StubModel("m", version);
const fails = async () => {
  throw new InferenceError("INTERNAL", "it broke");
};

async function refusal(load: Promise<void>): Promise<InferenceError> {
  try {
    await load;
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
  throw new Error("the load did not fail");
}

describe("a load", () => {
  test("shows LOADING with an empty reason, then READY", async () => {
    const { lifecycle, states, logger } = world();
    const opening = Promise.withResolvers<StubModel>();
    const load = lifecycle.load(plan([1], () => opening.promise));
    await settle();
    expect(states()).toEqual(["1 LOADING"]);
    expect(lifecycle.ready.find("m", "")).toBeUndefined();
    expect(lifecycle.areAllReady).toBe(false);
    const model = new StubModel("m", 1);
    opening.resolve(model);
    await load;
    expect(states()).toEqual(["1 READY"]);
    expect(lifecycle.ready.find("m", "")).toBe(model);
    expect(lifecycle.areAllReady).toBe(true);
    expect(logger.messages("info")).toEqual(["successfully loaded 'm'"]);
  });

  test("that fails keeps its reason and tells it in Triton's words", async () => {
    const { lifecycle, states, logger } = world();
    const error = await refusal(lifecycle.load(plan([1], fails)));
    expect(error.code).toBe("INVALID_ARG");
    expect(error.message.trimEnd()).toBe(
      "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: it broke;",
    );
    expect(states()).toEqual(["1 UNAVAILABLE Internal: it broke"]);
    expect(lifecycle.areAllReady).toBe(false);
    expect(logger.messages("error")).toEqual(["failed to load 'm' version 1: Internal: it broke"]);
  });

  test("names every version that failed and puts none into service", async () => {
    const { lifecycle, states } = world();
    const good = new StubModel("m", 1);
    const open = async (version: number) => (version === 1 ? good : await fails());
    const error = await refusal(lifecycle.load(plan([1, 2, 3], open)));
    expect(error.message).toContain("version 2 is at UNAVAILABLE state: Internal: it broke;\n");
    expect(error.message).toContain("version 3 is at UNAVAILABLE state: Internal: it broke;\n");
    await settle();
    expect(good.isDisposed).toBe(true);
    expect(states()[0]).toBe("1 UNAVAILABLE unloaded");
    expect(lifecycle.ready.all()).toEqual([]);
  });

  test("is tried again as often as it may be", async () => {
    const { lifecycle, states } = world(2);
    let attempts = 0;
    await lifecycle.load(
      plan([1], async (version) => (++attempts < 3 ? await fails() : opens(version))),
    );
    expect([attempts, states()]).toEqual([3, ["1 READY"]]);
    attempts = -10;
    await refusal(
      lifecycle.load(
        plan([1], async (version) => (++attempts < 3 ? await fails() : opens(version))),
      ),
    );
    expect(attempts).toBe(-7);
  });

  test("without any version fails and is known as not ready", async () => {
    const { lifecycle, states } = world();
    const error = await refusal(lifecycle.load(plan([], opens)));
    const text = "at least one version must be available under the version policy of model 'm'";
    expect([error.code, error.message.trimEnd()]).toEqual([
      "INVALID_ARG",
      `load failed for model 'm': ${text}`,
    ]);
    expect([states(), lifecycle.areAllReady, lifecycle.isKnown("m")]).toEqual([[], false, true]);
    expect(lifecycle.reasonWithoutVersions("m")).toBe(`Invalid argument: ${text}`);
    await lifecycle.load(plan([1], opens));
    expect([lifecycle.reasonWithoutVersions("m"), lifecycle.areAllReady]).toEqual(["", true]);
  });

  test("opens at most as many versions at once as there are load threads", async () => {
    const { lifecycle } = world(0, 2);
    let running = 0;
    let most = 0;
    const open = async (version: number) => {
      most = Math.max(most, ++running);
      await settle();
      running--;
      return new StubModel("m", version);
    };
    await Promise.all([
      lifecycle.load(plan([1, 2, 3], open)),
      lifecycle.load(plan([1, 2], open, [], "other")),
    ]);
    expect(most).toBe(2);
  });

  test("turns a thrown non-error into INTERNAL", async () => {
    const { lifecycle } = world();
    const error = await refusal(lifecycle.load(plan([1], () => Promise.reject(new Error("odd")))));
    expect(error.message).toContain("Internal: unexpected error: odd");
  });
});

describe("a reload", () => {
  test("goes on behind the back of the version that serves, then swaps", async () => {
    const { lifecycle, states } = world();
    const [first, second] = [new StubModel("m", 1), new StubModel("m", 1)];
    await lifecycle.load(plan([1], async () => first));
    const opening = Promise.withResolvers<StubModel>();
    const reload = lifecycle.load(plan([1], () => opening.promise));
    await settle();
    expect([states(), lifecycle.ready.find("m", ""), lifecycle.areAllReady]).toEqual([
      ["1 READY"],
      first,
      true,
    ]);
    opening.resolve(second);
    await reload;
    expect(lifecycle.ready.find("m", "")).toBe(second);
    await settle();
    expect([first.isDisposed, second.isDisposed]).toEqual([true, false]);
    expect(states()).toEqual(["1 READY"]);
  });

  test("that fails leaves everything as it was", async () => {
    const { lifecycle, states } = world();
    const first = new StubModel("m", 1);
    await lifecycle.load(plan([1], async () => first));
    const error = await refusal(lifecycle.load(plan([1], fails)));
    expect(error.message).toContain("version 1 is at UNAVAILABLE state: Internal: it broke;");
    await settle();
    expect([states(), lifecycle.ready.find("m", ""), first.isDisposed]).toEqual([
      ["1 READY"],
      first,
      false,
    ]);
  });

  test("with a new version that fails leaves the old version and shows the new one's reason", async () => {
    const { lifecycle, states } = world();
    await lifecycle.load(plan([1], opens));
    await refusal(lifecycle.load(plan([2], fails)));
    expect(states()).toEqual(["1 READY", "2 UNAVAILABLE Internal: it broke"]);
    expect(lifecycle.ready.find("m", "")?.version).toBe(1);
  });

  test("keeps the versions it may, adds new ones and unloads the others", async () => {
    const { lifecycle, states } = world();
    await lifecycle.load(plan([1, 2], opens));
    const kept = lifecycle.ready.find("m", "2");
    const opened: number[] = [];
    const open = async (version: number) => {
      opened.push(version);
      return new StubModel("m", version);
    };
    await lifecycle.load(plan([2, 3], open, [2]));
    expect(opened).toEqual([3]);
    expect(lifecycle.ready.find("m", "2")).toBe(kept);
    expect(lifecycle.ready.find("m", "1")).toBeUndefined();
    await settle();
    expect(states()).toEqual(["1 UNAVAILABLE unloaded", "2 READY", "3 READY"]);
    expect(lifecycle.areAllReady).toBe(true);
  });

  test("clears the reason of versions that failed before and are not wanted any more", async () => {
    const { lifecycle, states } = world();
    await refusal(lifecycle.load(plan([1], fails)));
    await lifecycle.load(plan([2], opens));
    expect(states()).toEqual(["1 UNAVAILABLE unloaded", "2 READY"]);
    expect(lifecycle.areAllReady).toBe(true);
  });
});

describe("an unload", () => {
  test("takes the model out of service at once and waits for its requests before the end", async () => {
    const { lifecycle, states, logger } = world();
    const model = new StubModel("m", 1, true);
    await lifecycle.load(plan([1], async () => model));
    model.inflightCount = 1;
    lifecycle.unload("m");
    await settle();
    expect([states(), lifecycle.ready.find("m", "")]).toEqual([["1 UNLOADING"], undefined]);
    expect([lifecycle.inflightCount, lifecycle.liveCount]).toEqual([1, 1]);
    model.endDrain();
    await settle();
    expect(states()).toEqual(["1 UNAVAILABLE unloaded"]);
    expect([model.isDisposed, lifecycle.liveCount, lifecycle.areAllReady]).toEqual([true, 0, true]);
    expect(logger.messages("info")).toContain("successfully unloaded 'm' version 1");
  });

  test("of an unknown model does nothing", () => {
    const { lifecycle } = world();
    lifecycle.unload("nope");
    expect(lifecycle.isKnown("nope")).toBe(false);
  });

  test("of a model that failed to load gives readiness back", async () => {
    const { lifecycle, states } = world();
    await refusal(lifecycle.load(plan([1], fails)));
    lifecycle.unload("m");
    expect([states(), lifecycle.areAllReady]).toEqual([["1 UNAVAILABLE unloaded"], true]);
  });

  test("does not touch a version that was loaded again while the old one drains", async () => {
    const { lifecycle, states } = world();
    const draining = new StubModel("m", 1, true);
    await lifecycle.load(plan([1], async () => draining));
    lifecycle.unload("m");
    await lifecycle.load(plan([1], opens));
    expect(states()).toEqual(["1 READY"]);
    draining.endDrain();
    await settle();
    expect(states()).toEqual(["1 READY"]);
  });

  test("that ends with an error is logged and still ends", async () => {
    const { lifecycle, states, logger } = world();
    const model = new StubModel("m", 1);
    model.dispose = () => Promise.reject(new InferenceError("INTERNAL", "host is gone"));
    await lifecycle.load(plan([1], async () => model));
    lifecycle.unload("m");
    await settle();
    expect(states()).toEqual(["1 UNAVAILABLE unloaded"]);
    expect(logger.messages("error")).toEqual([
      "failed to unload 'm' version 1: Internal: host is gone",
    ]);
  });
});

test("a READY version whose instances are all down holds readiness back", async () => {
  const { lifecycle } = world();
  const model = new StubModel("m", 1);
  await lifecycle.load(plan([1], async () => model));
  model.isHealthy = false;
  expect(lifecycle.areAllReady).toBe(false);
});

test("models that are in no repository are forgotten once nothing of them is left", async () => {
  const { lifecycle, onDisk } = world();
  onDisk.clear();
  await lifecycle.load(plan([1], opens));
  expect(lifecycle.isKnown("m")).toBe(true);
  lifecycle.unload("m");
  await settle();
  expect(lifecycle.isKnown("m")).toBe(false);
  await refusal(lifecycle.load(plan([1], fails)));
  expect(lifecycle.isKnown("m")).toBe(false);
});

describe("the end of the server", () => {
  test("keeps models with sequences in service until those are over", async () => {
    const { lifecycle } = world();
    const finished = Promise.withResolvers<void>();
    const model = Object.assign(new StubModel("m", 1), {
      finishSequences: () => finished.promise,
    });
    await lifecycle.load(plan([1], async () => model));
    const stop = lifecycle.stop();
    await settle();
    expect(lifecycle.ready.all()).toEqual([model]);
    finished.resolve();
    await stop;
    expect([lifecycle.ready.all(), model.isDisposed]).toEqual([[], true]);
  });

  test("unloads everything and waits for requests that are under way", async () => {
    const { lifecycle } = world();
    const models = [new StubModel("m", 1, true), new StubModel("m", 2)];
    await lifecycle.load(plan([1, 2], async (v) => models[v - 1] ?? (await fails())));
    let isOver = false;
    const stop = lifecycle.stop().then(() => {
      isOver = true;
    });
    await settle();
    expect([lifecycle.ready.all(), isOver]).toEqual([[], false]);
    models[0]?.endDrain();
    await stop;
    expect(models.map((model) => model.isDisposed)).toEqual([true, true]);
  });

  test("frees a model whose load comes to its end meanwhile, and refuses further loads", async () => {
    const { lifecycle, states } = world();
    const opening = Promise.withResolvers<StubModel>();
    const load = lifecycle.load(plan([1], () => opening.promise));
    const failed = refusal(load);
    await settle();
    const stop = lifecycle.stop();
    expect(lifecycle.liveCount).toBe(1);
    const model = new StubModel("m", 1);
    opening.resolve(model);
    await stop;
    expect(lifecycle.liveCount).toBe(0);
    expect([model.isDisposed, lifecycle.ready.all(), states()[0]]).toEqual([
      true,
      [],
      "1 UNAVAILABLE Unavailable: Server is stopping",
    ]);
    expect((await failed).message).toContain("Server is stopping");
    expect((await refusal(lifecycle.load(plan([2], opens)))).code).toBe("UNAVAILABLE");
  });
});
