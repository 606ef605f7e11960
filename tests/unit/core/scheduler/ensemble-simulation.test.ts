import { expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import type { InferenceRequest } from "../../../../src/core/request/inference-request.ts";
import { Random } from "../../../robustness/random.ts";
import {
  answersOf,
  EnsembleSetup,
  ensembleText,
  FakeStepModel,
  numberOf,
  type StepText,
} from "../../../support/ensemble-setup.ts";
import type { RecordingSink } from "../../../support/recording-sink.ts";

const SEED_COUNT = 200;
const REQUEST_COUNT = 30;

/** An ensemble of some steps in a chain with side ways; the last step writes OUT. At most one step is decoupled. */
interface World {
  readonly texts: readonly StepText[];
  readonly models: readonly FakeStepModel[];
  readonly setup: EnsembleSetup;
}

interface Sent {
  readonly value: number;
  readonly request: InferenceRequest;
  readonly sink: RecordingSink;
}

/** What a step makes of its inputs. */
function resultOf(step: number, inputs: readonly number[]): number {
  return (inputs.reduce((sum, input) => sum * 3 + input, step + 1) % 9973) + 1;
}

/** How often a decoupled step answers. */
function answerCountOf(result: number): number {
  return result % 4;
}

async function worldOf(dice: Random): Promise<World> {
  const stepCount = 2 + dice.below(5);
  const decoupled = dice.below(2) === 0 ? dice.below(stepCount) : -1;
  const texts = Array.from({ length: stepCount }, (_, i): StepText => {
    // Each step reads the one before it, so that nothing is left unused, and perhaps an earlier one.
    const sources = [i === 0 ? "IN" : `t${i - 1}`];
    const side = dice.below(i + 1);
    if (side > 0 && side < i) sources.push(`t${side - 1}`);
    const inputs = Object.fromEntries(sources.map((source, at) => [`X${at}`, source]));
    return [`m${i}`, inputs, { Y: i === stepCount - 1 ? "OUT" : `t${i}` }];
  });
  const models = texts.map(([name], i) => new FakeStepModel(name, i === decoupled));
  const limit = `max_inflight_requests: ${dice.below(3)}`;
  const setup = await EnsembleSetup.of(ensembleText(["IN"], ["OUT"], texts, limit), models);
  return { texts, models, setup };
}

/** The answers of a whole ensemble, worked out step by step without a scheduler. */
function expectedAnswers({ texts, models }: World, value: number): readonly number[] {
  let branches: ReadonlyMap<string, number>[] = [new Map([["IN", value]])];
  for (const [i, [, inputs, { Y: output = "" }]] of texts.entries()) {
    branches = branches.flatMap((tensors) => {
      const result = resultOf(
        i,
        Object.values(inputs).map((name) => tensors.get(name) ?? -1),
      );
      if (models[i]?.config.isDecoupled !== true) return [new Map([...tensors, [output, result]])];
      return Array.from(
        { length: answerCountOf(result) },
        (_, n) => new Map([...tensors, [output, result + n]]),
      );
    });
  }
  return branches.map((tensors) => tensors.get("OUT") ?? -1);
}

/** Lets one request to a step go on: one answer, or its end. */
function serveOne(
  model: FakeStepModel,
  step: number,
  dice: Random,
  progress: Map<object, number>,
): void {
  const request = model.requests[dice.below(model.requests.length)];
  if (request === undefined) return;
  const done = (): void => {
    model.requests.splice(model.requests.indexOf(request), 1);
  };
  if (dice.below(60) === 0) {
    done();
    request.sink.onError(new InferenceError("INTERNAL", "broken"), true);
    return;
  }
  const result = resultOf(
    step,
    request.inputBytes.map((bytes) => numberOf(bytes) ?? -1),
  );
  if (!model.config.isDecoupled) {
    done();
    model.answer({ Y: result }, true, request);
    return;
  }
  const sentCount = progress.get(request) ?? 0;
  if (sentCount < answerCountOf(result)) {
    progress.set(request, sentCount + 1);
    model.answer({ Y: result + sentCount }, false, request);
    return;
  }
  done();
  request.sink.onComplete();
}

async function simulate(seed: number): Promise<void> {
  const dice = new Random(seed);
  const world = await worldOf(dice);
  const sent: Sent[] = [];
  const progress = new Map<object, number>();
  const isBusy = (): boolean => world.models.some(({ requests }) => requests.length > 0);
  while (sent.length < REQUEST_COUNT || isBusy()) {
    if (sent.length < REQUEST_COUNT && dice.below(4) === 0) {
      const value = dice.below(1000);
      sent.push({ value, ...world.setup.send({ IN: value }) });
    }
    if (dice.below(80) === 0) sent[dice.below(sent.length)]?.request.cancel();
    const step = dice.below(world.models.length);
    const model = world.models[step];
    if (model !== undefined) serveOne(model, step, dice, progress);
  }
  const counted = world.setup.statistics.snapshot();
  let successCount = 0;
  for (const { value, sink } of sent) {
    const answers = answersOf(sink).map(({ OUT }) => OUT);
    const expected = expectedAnswers(world, value);
    if (sink.errors.length === 0) successCount += 1;
    const wanted = sink.errors.length === 0 ? expected : expected.slice(0, answers.length);
    expect({ seed, ends: sink.endCount, answers }).toEqual({ seed, ends: 1, answers: [...wanted] });
  }
  expect({ seed, inflight: world.setup.scheduler.inflightCount }).toEqual({ seed, inflight: 0 });
  expect([counted.success.count, counted.fail.count]).toEqual([
    successCount,
    REQUEST_COUNT - successCount,
  ]);
}

test(`every request through ${SEED_COUNT} random ensembles ends once, with the right answers in order`, async () => {
  for (let seed = 0; seed < SEED_COUNT; seed++) await simulate(seed);
});
