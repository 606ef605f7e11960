/** The Worker of the line's stress test: rings back each slot that it hears, and answers each message. */
import { WAKE, WorkerLineEnd } from "../../src/core/instance/thread-line.ts";

addEventListener("message", ({ data }: MessageEvent<SharedArrayBuffer>) => echo(data), {
  once: true,
});

function echo(buffer: SharedArrayBuffer): void {
  let messageCount = 0;
  let roundCount = 0;
  const line = new WorkerLineEnd(buffer, {
    wake: () => postMessage(WAKE),
    onRing: (slot) => {
      roundCount += 1;
      // Now and then it dawdles, so that doorbells find it awake, falling asleep and asleep.
      for (let i = (roundCount * 7919) % 400; i > 0; i--) Bun.nanoseconds();
      if (roundCount % 50 === 0) {
        line.countSent();
        postMessage({ heard: roundCount, messageCount });
      }
      line.enter(slot);
      line.leave(slot);
      line.ring(slot);
    },
  });
  addEventListener("message", ({ data }: MessageEvent<typeof WAKE | object>) => {
    if (data === WAKE) {
      line.drain();
      return;
    }
    messageCount += 1;
    line.countReceived();
  });
}
