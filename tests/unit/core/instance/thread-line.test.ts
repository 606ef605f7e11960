import { describe, expect, test } from "bun:test";
import {
  MainLineEnd,
  newThreadLine,
  WAKE,
  WorkerLineEnd,
} from "../../../../src/core/instance/thread-line.ts";

const SLOT_COUNT = 5;
const DOORBELL_COUNT = 40_000;

/** Both ends in one thread; a test says when an end wakes. */
function pair() {
  const buffer = newThreadLine();
  const heard: number[] = [];
  let wakeCount = 0;
  const main = new MainLineEnd(buffer, {
    wake: () => {
      wakeCount += 1;
    },
    onRing: () => undefined,
  });
  const worker = new WorkerLineEnd(buffer, {
    wake: () => undefined,
    onRing: (slot) => heard.push(slot),
  });
  return { main, worker, heard, wakes: () => wakeCount };
}

describe("a line to a Worker", () => {
  test("wakes a side once, however many doorbells ring before it looks", () => {
    const { main, worker, heard, wakes } = pair();
    for (const slot of [3, 1, 4]) main.ring(slot);
    expect(wakes()).toBe(1);
    worker.drain();
    expect(heard).toEqual([3, 1, 4]);
    main.ring(2);
    expect(wakes()).toBe(2);
  });

  test("a doorbell waits for the messages that were sent before it", () => {
    const { main, worker, heard } = pair();
    main.ring(0);
    main.countSent();
    main.ring(1);
    worker.drain();
    expect(heard).toEqual([0]);
    worker.countReceived();
    expect(heard).toEqual([0, 1]);
  });

  test("a cancelled batch does not start, one that runs is stopped, and one that is over is left alone", () => {
    const { main, worker } = pair();
    let stopCount = 0;
    const stop = () => {
      stopCount += 1;
    };
    main.ring(1);
    main.cancel(1, stop);
    expect([worker.enter(1), stopCount]).toEqual([false, 0]);
    worker.leave(1);
    main.ring(1);
    main.ring(2);
    expect(worker.enter(1)).toBe(true);
    main.cancel(2, stop);
    expect(stopCount).toBe(0);
    main.cancel(1, stop);
    expect(stopCount).toBe(1);
    worker.leave(1);
    main.cancel(1, stop);
    expect(stopCount).toBe(1);
  });

  test("a listener that throws does not silence the line", async () => {
    const buffer = newThreadLine();
    const heard: number[] = [];
    const main = new MainLineEnd(buffer, { wake: () => undefined, onRing: () => undefined });
    const worker = new WorkerLineEnd(buffer, {
      wake: () => undefined,
      onRing: (slot) => {
        heard.push(slot);
        if (slot === 0) throw new Error("a listener failed");
      },
    });
    main.ring(0);
    main.ring(1);
    expect(() => worker.drain()).toThrow("a listener failed");
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([0, 1]);
  });

  test("no doorbell goes unheard, whatever the two threads are doing", async () => {
    const worker = new Worker(
      new URL("../../../support/thread-line-worker.ts", import.meta.url).href,
    );
    const buffer = newThreadLine();
    const free = Array.from({ length: SLOT_COUNT }, (_, slot) => slot);
    let sentCount = 0;
    let heardCount = 0;
    let wakeCount = 0;
    const done = Promise.withResolvers<void>();
    const line = new MainLineEnd(buffer, {
      wake: () => worker.postMessage(WAKE),
      onRing: (slot) => {
        heardCount += 1;
        free.push(slot);
        // Sometimes at once, sometimes in another turn, so that the Worker falls asleep in between.
        if (heardCount % 3 === 0) submit();
        else setImmediate(submit);
      },
    });
    const submit = (): void => {
      if (heardCount === DOORBELL_COUNT) done.resolve();
      for (let slot = free.pop(); slot !== undefined; slot = free.pop()) {
        if (sentCount === DOORBELL_COUNT) return;
        sentCount += 1;
        if (sentCount % 70 === 0) {
          line.countSent();
          worker.postMessage({ number: sentCount });
        }
        line.cancel(slot, () => undefined);
        line.ring(slot);
        if (sentCount % 11 === 0) return;
      }
    };
    worker.postMessage(buffer);
    worker.onmessage = ({ data }) => {
      if (data !== WAKE) {
        line.countReceived();
        return;
      }
      wakeCount += 1;
      line.drain();
    };
    submit();
    await done.promise;
    worker.terminate();
    expect(heardCount).toBe(DOORBELL_COUNT);
    expect(wakeCount).toBeLessThan(DOORBELL_COUNT);
  }, 30_000);
});
