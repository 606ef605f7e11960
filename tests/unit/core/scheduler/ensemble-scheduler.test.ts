import { describe, expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import {
  answersOf,
  EnsembleSetup,
  ensembleText,
  FakeStepModel,
  numberOf,
  type StepText,
} from "../../../support/ensemble-setup.ts";

const [I, O] = [{ X: "IN" }, { Y: "OUT" }];
const LINEAR: readonly StepText[] = [
  ["a", I, { Y: "t" }],
  ["b", { X: "t" }, O],
];
const DIAMOND: readonly StepText[] = [
  ["a", I, { Y: "t" }],
  ["b", { X: "t" }, { Y: "l" }],
  ["c", { X: "t" }, { Y: "r" }],
  ["join", { L: "l", R: "r" }, O],
];

function fakes(...names: string[]): FakeStepModel[] {
  return names.map((name) => new FakeStepModel(name.replace("*", ""), name.endsWith("*")));
}

function setup(
  steps: readonly StepText[],
  models: readonly FakeStepModel[],
  inputs = ["IN"],
  outputs = ["OUT"],
  extra = "",
): Promise<EnsembleSetup> {
  return EnsembleSetup.of(ensembleText(inputs, outputs, steps, extra), models);
}

const DEADLOCK =
  "in ensemble 'e', unexpected deadlock, at least one output is not set while no more ensemble steps can be made";

describe("an ensemble", () => {
  test("hands the output of one step to the next and answers under its own name", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { sink } = world.send({ IN: 1 }, [], { priority: 2 });
    const first = world.model("a").requests[0];
    expect([first?.id, first?.signature.priority, numberOf(first?.inputBytes[0])]).toEqual([
      "r",
      2,
      1,
    ]);
    expect(world.model("b").requests).toEqual([]);
    world.model("a").answer({ Y: 7 });
    const second = world.model("b").requests[0];
    expect([second?.signature.inputs[0]?.name, numberOf(second?.inputBytes[0])]).toEqual(["X", 7]);
    world.model("b").answer({ Y: 8 });
    expect(answersOf(sink)).toEqual([{ OUT: 8 }]);
    const [response] = sink.responses;
    expect([response?.modelName, response?.modelVersion, response?.id]).toEqual(["e", "3", "r"]);
    expect([sink.endCount, world.scheduler.inflightCount]).toEqual([1, 0]);
  });

  test("runs branches side by side and joins them once both are there", async () => {
    const world = await setup(DIAMOND, fakes("a", "b", "c", "join"));
    const { sink } = world.send({ IN: 1 });
    world.model("a").answer({ Y: 2 });
    expect([world.model("b").requests.length, world.model("c").requests.length]).toEqual([1, 1]);
    world.model("c").answer({ Y: 3 });
    expect(world.model("join").requests).toEqual([]);
    world.model("b").answer({ Y: 4 });
    expect(world.model("join").requests[0]?.inputBytes.map(numberOf)).toEqual([4, 3]);
    world.model("join").answer({ Y: 5 });
    expect(answersOf(sink)).toEqual([{ OUT: 5 }]);
  });

  test("keeps outputs that come early until all are there", async () => {
    const steps: readonly StepText[] = [
      ["a", I, { Y: "P" }],
      ["b", I, { Y: "Q" }],
    ];
    const world = await setup(steps, fakes("a", "b"), ["IN"], ["P", "Q"]);
    const { sink } = world.send({ IN: 1 });
    world.model("b").answer({ Y: 9 });
    world.model("a").answer({ Y: 8 });
    expect(answersOf(sink)).toEqual([{ P: 8, Q: 9 }]);
  });

  test("runs only what the wanted outputs need, and asks steps for no more", async () => {
    const steps: readonly StepText[] = [
      ["a", I, { Y: "P", Z: "t" }],
      ["b", { X: "t" }, { Y: "Q" }],
    ];
    const world = await setup(steps, fakes("a", "b"), ["IN"], ["P", "Q"]);
    const { sink } = world.send({ IN: 1 }, ["P"]);
    expect(world.model("a").requests[0]?.signature.outputs.map(({ name }) => name)).toEqual(["Y"]);
    world.model("a").answer({ Y: 4 });
    expect([answersOf(sink), world.model("b").requests.length, sink.endCount]).toEqual([
      [{ P: 4 }],
      0,
      1,
    ]);
  });

  test("leaves an optional input out where the request does", async () => {
    const steps: readonly StepText[] = [["a", { X: "IN", E: "MORE" }, O]];
    const world = await setup(steps, fakes("a"), ["IN", "MORE?"]);
    world.send({ IN: 1 });
    world.send({ IN: 1, MORE: 2 });
    const names = world
      .model("a")
      .requests.map(({ signature }) => signature.inputs.map(({ name }) => name));
    expect(names).toEqual([["X"], ["X", "E"]]);
  });

  test("classifies its own outputs", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { sink } = world.send({ IN: 1 }, ["OUT:5"]);
    world.model("a").answer({ Y: 2 });
    expect(world.model("b").requests[0]?.signature.outputs[0]?.classificationCount).toBe(0);
    world.model("b").answer({ Y: 3 });
    expect(answersOf(sink)).toEqual([{ "OUT:5": 3 }]);
  });

  test("counts one request and one execution, with the steps' times summed", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    world.send({ IN: 1 });
    for (const [name, ns] of [
      ["a", 10],
      ["b", 100],
    ] as const) {
      world.model(name).requests[0]?.onSucceeded?.(ns, 2 * ns, 3 * ns, 4 * ns);
      world.clock.advance(1000);
      world.model(name).answer({ Y: 1 });
    }
    const counted = world.statistics.snapshot();
    expect([counted.inferenceCount, counted.executionCount]).toEqual([1, 1]);
    expect([counted.success, counted.queue, counted.computeInfer].map(({ ns }) => ns)).toEqual([
      2000, 110, 330,
    ]);
  });

  test("validates like requests to a step once", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { request } = world.send({ IN: 1 });
    const [first] = world.model("a").requests;
    world.scheduler.enqueue(request);
    expect(world.model("a").requests[1]?.signature).toBe(first?.signature);
  });

  test("refuses requests once it has stopped, and stops when the last has ended", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { sink } = world.send({ IN: 1 });
    let isStopped = false;
    const stopped = world.scheduler.stop().then(() => {
      isStopped = true;
    });
    expect(() => world.send({ IN: 1 })).toThrow("Server is stopping");
    world.model("a").answer({ Y: 2 });
    await Promise.resolve();
    expect(isStopped).toBe(false);
    world.model("b").answer({ Y: 3 });
    await stopped;
    expect(sink.endCount).toBe(1);
  });
});

describe("a request that fails", () => {
  test("ends with the step's error, named after the ensemble, and cancels the rest", async () => {
    const world = await setup(DIAMOND, fakes("a", "b", "c", "join"));
    const { sink } = world.send({ IN: 1 });
    world.model("a").answer({ Y: 2 });
    world.model("b").next().sink.onError(new InferenceError("UNAVAILABLE", "no room"), true);
    expect([sink.errors[0]?.code, sink.errors[0]?.message]).toEqual([
      "UNAVAILABLE",
      "in ensemble 'e', no room",
    ]);
    expect(world.model("c").cancelledCount).toBe(1);
    world.model("c").answer({ Y: 3 });
    expect([
      sink.endCount,
      world.model("join").requests.length,
      world.scheduler.inflightCount,
    ]).toEqual([1, 0, 0]);
    expect(world.statistics.snapshot().fail.count).toBe(1);
  });

  test("at its first step is answered after enqueue has returned", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    world.model("a").refusal = new InferenceError("INVALID_ARG", "bad shape");
    const { sink } = world.send({ IN: 1 });
    expect(sink.endCount).toBe(0);
    await Promise.resolve();
    expect(sink.errors.map(({ message }) => message)).toEqual(["in ensemble 'e', bad shape"]);
    expect(sink.endCount).toBe(1);
  });

  test("at a later step ends too", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { sink } = world.send({ IN: 1 });
    world.model("b").refusal = new InferenceError("INVALID_ARG", "too many rows");
    world.model("a").answer({ Y: 2 });
    expect(sink.errors.map(({ message }) => message)).toEqual(["in ensemble 'e', too many rows"]);
  });

  test("because a step leaves out what others need says that nothing can go on", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { sink } = world.send({ IN: 1 });
    world.model("a").answer({});
    expect(sink.errors.map(({ message }) => message)).toEqual([DEADLOCK]);
  });

  test("by its client's cancellation ends at once and stops what runs", async () => {
    const world = await setup(LINEAR, fakes("a", "b"));
    const { request, sink } = world.send({ IN: 1 });
    request.cancel();
    expect([sink.errors[0]?.code, sink.endCount, world.model("a").cancelledCount]).toEqual([
      "CANCELLED",
      1,
      1,
    ]);
    world.model("a").answer({ Y: 2 });
    expect([sink.endCount, world.model("b").requests.length]).toEqual([1, 0]);
    expect(world.statistics.snapshot().failuresByReason.CANCELED).toBe(1);
  });
});

describe("a decoupled step", () => {
  test("sends each of its answers on, and the ensemble ends after the last", async () => {
    const world = await setup(LINEAR, fakes("a*", "b"));
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    for (const value of [1, 2]) world.model("a").answer({ Y: value }, false, stream);
    expect(world.model("b").requests.map(({ inputBytes }) => numberOf(inputBytes[0]))).toEqual([
      1, 2,
    ]);
    world.model("b").answer({ Y: 10 });
    stream.sink.onComplete();
    expect([answersOf(sink), sink.endCount]).toEqual([[{ OUT: 10 }], 0]);
    world.model("b").answer({ Y: 20 });
    expect([answersOf(sink), sink.endCount]).toEqual([[{ OUT: 10 }, { OUT: 20 }], 1]);
    expect(world.statistics.snapshot().success.count).toBe(1);
  });

  test("keeps the order of its answers although a later one is ready first", async () => {
    const world = await setup(LINEAR, fakes("a*", "b"));
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    for (const value of [1, 2]) world.model("a").answer({ Y: value }, value === 2, stream);
    const [first, second] = [world.model("b").next(), world.model("b").next()];
    world.model("b").answer({ Y: 20 }, true, second);
    expect(sink.responses).toEqual([]);
    world.model("b").answer({ Y: 10 }, true, first);
    expect([answersOf(sink), sink.endCount]).toEqual([[{ OUT: 10 }, { OUT: 20 }], 1]);
  });

  test("may have no answer", async () => {
    const world = await setup(LINEAR, fakes("a*", "b"));
    const { sink } = world.send({ IN: 1 });
    world.model("a").next().sink.onComplete();
    expect([sink.responses.length, sink.errors.length, sink.endCount]).toEqual([0, 0, 1]);
  });

  test("meets tensors of the request in a later step, whichever comes first", async () => {
    const steps: readonly StepText[] = [
      ["a", I, { Y: "t" }],
      ["b", I, { Y: "u" }],
      ["join", { L: "t", R: "u" }, O],
    ];
    const world = await setup(steps, fakes("a*", "b", "join"));
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    world.model("a").answer({ Y: 1 }, false, stream);
    expect(world.model("join").requests).toEqual([]);
    world.model("b").answer({ Y: 5 });
    world.model("a").answer({ Y: 2 }, true, stream);
    const pairs = world.model("join").requests.map(({ inputBytes }) => inputBytes.map(numberOf));
    expect(pairs).toEqual([
      [1, 5],
      [2, 5],
    ]);
    world.model("join").answer({ Y: 6 });
    world.model("join").answer({ Y: 7 });
    expect([answersOf(sink), sink.endCount]).toEqual([[{ OUT: 6 }, { OUT: 7 }], 1]);
  });

  test("may stand behind another", async () => {
    const world = await setup(LINEAR, fakes("a*", "b*"));
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    world.model("a").answer({ Y: 1 }, false, stream);
    const inner = world.model("b").next();
    world.model("b").answer({ Y: 10 }, false, inner);
    world.model("b").answer({ Y: 11 }, false, inner);
    stream.sink.onComplete();
    expect(sink.endCount).toBe(0);
    inner.sink.onComplete();
    expect([answersOf(sink), sink.endCount]).toEqual([[{ OUT: 10 }, { OUT: 11 }], 1]);
  });

  test("does not get ahead of a later step by more than max_inflight_requests", async () => {
    const world = await setup(
      LINEAR,
      fakes("a*", "b"),
      ["IN"],
      ["OUT"],
      "max_inflight_requests: 2",
    );
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    for (const value of [1, 2, 3, 4]) world.model("a").answer({ Y: value }, value === 4, stream);
    expect(world.model("b").requests).toHaveLength(2);
    for (const value of [1, 2, 3, 4]) {
      world.model("b").answer({ Y: value });
      expect(world.model("b").requests.length).toBeLessThanOrEqual(2);
    }
    expect([answersOf(sink).length, sink.endCount]).toEqual([4, 1]);
  });

  test("that fails in the middle ends the request", async () => {
    const world = await setup(LINEAR, fakes("a*", "b"));
    const { sink } = world.send({ IN: 1 });
    const stream = world.model("a").next();
    stream.sink.onError(new InferenceError("INTERNAL", "broken"), false);
    expect([sink.errors.length, sink.endCount, world.model("a").cancelledCount]).toEqual([1, 1, 1]);
    stream.sink.onComplete();
    expect(sink.endCount).toBe(1);
  });
});

test("a step that needs answers of two decoupled models is refused", async () => {
  const steps: readonly StepText[] = [
    ["a", I, { Y: "t" }],
    ["b", I, { Y: "u" }],
    ["join", { L: "t", R: "u" }, O],
  ];
  await expect(setup(steps, fakes("a*", "b*", "join"))).rejects.toThrow(
    "in ensemble e, step of model 'join' receives inputs originated from different decoupled models",
  );
});
