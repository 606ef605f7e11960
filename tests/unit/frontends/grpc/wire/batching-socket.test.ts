import { describe, expect, test } from "bun:test";
import {
  BatchingSocket,
  type ByteConnection,
} from "../../../../../src/frontends/grpc/wire/batching-socket.ts";

/** A connection that takes as many bytes as it is told to. */
class FakeConnection implements ByteConnection {
  readonly remoteAddress = "127.0.0.1";
  readonly sent: string[] = [];
  roomBytes = Number.POSITIVE_INFINITY;
  hasEnded = false;
  isTerminated = false;

  write(bytes: Uint8Array): number {
    const takenBytes = Math.min(bytes.length, this.roomBytes);
    this.roomBytes -= takenBytes;
    if (takenBytes > 0) this.sent.push(Buffer.from(bytes.subarray(0, takenBytes)).toString());
    return takenBytes;
  }

  end(): void {
    this.hasEnded = true;
  }

  terminate(): void {
    this.isTerminated = true;
  }
}

function setUp() {
  const connection = new FakeConnection();
  return { connection, socket: new BatchingSocket(connection) };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("BatchingSocket", () => {
  test("sends all chunks of one turn as one", async () => {
    const { connection, socket } = setUp();
    for (const text of ["a", "bc", "d"]) expect(socket.write(Buffer.from(text))).toBe(true);
    process.nextTick(() => socket.write(Buffer.from("e")));
    await tick();
    socket.write(Buffer.from("f"));
    await tick();
    expect(connection.sent).toEqual(["abcd", "e", "f"]);
  });

  test("does not wait with what is long", () => {
    const { connection, socket } = setUp();
    socket.write(Buffer.from("head"));
    socket.write(Buffer.alloc(70_000, "x"));
    expect(connection.sent.join("")).toBe(`head${"x".repeat(70_000)}`);
  });

  test("keeps what the system does not take, in order, and tells the session to wait", async () => {
    const { connection, socket } = setUp();
    let drainCount = 0;
    socket.on("drain", () => drainCount++);
    connection.roomBytes = 3;
    socket.write(Buffer.from("abc"));
    socket.write(Buffer.from("def"));
    await tick();
    expect(socket.write(Buffer.alloc(300_000, "y"))).toBe(false);
    connection.roomBytes = 100_000;
    socket.onDrain();
    expect(drainCount).toBe(1);
    connection.roomBytes = Number.POSITIVE_INFINITY;
    socket.onDrain();
    expect(drainCount).toBe(1);
    expect(connection.sent.join("")).toBe(`abcdef${"y".repeat(300_000)}`);
  });

  test("two sockets do not mix their batches", async () => {
    const first = setUp();
    const second = setUp();
    first.connection.roomBytes = 2;
    for (const text of ["ab", "cd"]) first.socket.write(Buffer.from(text));
    for (const text of ["12", "34"]) second.socket.write(Buffer.from(text));
    await tick();
    first.connection.roomBytes = 100;
    first.socket.onDrain();
    expect(first.connection.sent).toEqual(["ab", "cd"]);
    expect(second.connection.sent).toEqual(["1234"]);
  });

  test("ends after the last byte, not before", () => {
    const { connection, socket } = setUp();
    connection.roomBytes = 1;
    socket.write(Buffer.from("abc"));
    socket.end();
    expect([connection.sent, connection.hasEnded]).toEqual([["a"], false]);
    connection.roomBytes = 100;
    socket.onDrain();
    expect([connection.sent, connection.hasEnded]).toEqual([["a", "bc"], true]);
    socket.write(Buffer.from("late"));
    expect(connection.sent).toEqual(["a", "bc"]);
    socket.onClose();
  });

  test("sends what is left when it is destroyed, and says once that it is closed", async () => {
    const { connection, socket } = setUp();
    let closeCount = 0;
    socket.on("close", () => closeCount++);
    socket.write(Buffer.from("goaway"));
    socket.destroy();
    socket.onData(Buffer.from("ignored"));
    socket.onClose();
    await tick();
    expect([connection.sent, connection.hasEnded, closeCount]).toEqual([["goaway"], true, 1]);
  });

  test("hands bytes on, and writes nothing to a connection that has gone", async () => {
    const { connection, socket } = setUp();
    const seen: string[] = [];
    socket.on("data", (chunk: Buffer) => seen.push(chunk.toString()));
    socket.onData(Buffer.from("hello"));
    socket.write(Buffer.from("x"));
    socket.onClose();
    await tick();
    expect([seen, connection.sent, connection.hasEnded]).toEqual([["hello"], [], false]);
  });
});
