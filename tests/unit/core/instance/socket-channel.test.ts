import { describe, expect, test } from "bun:test";
import { SocketChannel } from "../../../../src/core/instance/socket-channel.ts";

/** A channel whose bytes come out of another one, in pieces of a given size. */
function pair(takenBytes = Number.POSITIVE_INFINITY) {
  const sent: Uint8Array[] = [];
  const seen: unknown[] = [];
  const left = new SocketChannel(
    {
      write: (bytes) => {
        const taken = new Uint8Array(bytes.subarray(0, takenBytes));
        sent.push(taken);
        return taken.length;
      },
    },
    { onRing: () => undefined, onMessage: () => undefined },
  );
  const right = new SocketChannel(
    { write: () => 0 },
    { onRing: (slot) => seen.push(slot), onMessage: (message) => seen.push(message) },
  );
  const deliver = (pieceBytes: number) => {
    const all = Buffer.concat(sent.splice(0));
    for (let at = 0; at < all.length; at += pieceBytes)
      right.receive(all.subarray(at, at + pieceBytes));
  };
  return { left, right, seen, deliver };
}

describe("socket channel", () => {
  test("doorbells and messages arrive in order, however the stream is cut", () => {
    for (const pieceBytes of [1, 2, 3, 5, 1000]) {
      const { left, seen, deliver } = pair();
      left.ring(0);
      left.send({
        type: "a",
        text: "grüße",
        bytes: new Uint8Array([0, 255, 7]),
        nothing: undefined,
      });
      left.ring(1);
      left.send({ type: "b" });
      deliver(pieceBytes);
      const message = { type: "a", text: "grüße", bytes: new Uint8Array([0, 255, 7]) };
      expect(seen).toEqual([0, message, 1, { type: "b" }]);
    }
  });

  test("what the sink does not take is offered again, in order", () => {
    const { left, seen, deliver } = pair(6);
    left.send({ type: "first" });
    left.ring(1);
    for (let i = 0; i < 20; i++) left.drained();
    deliver(1000);
    expect(seen).toEqual([{ type: "first" }, 1]);
  });

  test("a stream out of step is refused", () => {
    const { right } = pair();
    expect(() => right.receive(Buffer.from([0xff, 0xff, 0xff, 0x7f]))).toThrow("2147483647 bytes");
  });
});
