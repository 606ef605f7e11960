import { describe, expect, test } from "bun:test";
import {
  MessageAssembler,
  MessageTooLongError,
} from "../../../../../src/frontends/grpc/wire/message-assembler.ts";
import { frame } from "../../../../support/raw-grpc-call.ts";

class Recorder {
  readonly messages: Buffer[] = [];
  readonly longBytes: number[] = [];

  onMessage(message: Buffer): void {
    this.messages.push(message);
  }

  onLongMessage(messageBytes: number): void {
    this.longBytes.push(messageBytes);
  }
}

function assembler(maxMessageBytes = 1000) {
  const recorder = new Recorder();
  return { recorder, assembler: new MessageAssembler(recorder, maxMessageBytes) };
}

const MESSAGES = ["first", "", "the third"].map((text) => Buffer.from(text));
const BODY = Buffer.concat(MESSAGES.map((message) => frame(message)));

describe("MessageAssembler", () => {
  test("finds every message, wherever the body is cut", () => {
    for (let first = 0; first <= BODY.length; first++) {
      for (let second = first; second <= BODY.length; second++) {
        const { recorder, assembler: own } = assembler();
        own.feed(BODY.subarray(0, first));
        own.feed(BODY.subarray(first, second));
        own.feed(BODY.subarray(second));
        expect(recorder.messages.map(String)).toEqual(MESSAGES.map(String));
        expect(own.isIncomplete).toBe(false);
      }
    }
  });

  test("copies nothing of a message that lies in one chunk", () => {
    const { recorder, assembler: own } = assembler();
    own.feed(BODY);
    expect(recorder.messages[0]?.buffer).toBe(BODY.buffer);
    expect(recorder.longBytes).toEqual([]);
  });

  test("announces a message that does not, once", () => {
    const { recorder, assembler: own } = assembler();
    const body = frame(Buffer.alloc(100, 7));
    for (const byte of body) own.feed(Buffer.of(byte));
    expect(recorder.longBytes).toEqual([100]);
    expect(recorder.messages).toEqual([Buffer.alloc(100, 7)]);
  });

  test("knows that a body which ends now is incomplete", () => {
    for (const end of [1, 4, 5, 9]) {
      const { assembler: own } = assembler();
      own.feed(BODY.subarray(0, end));
      expect(own.isIncomplete).toBe(true);
    }
  });

  test("refuses a message above the limit by its prefix", () => {
    const { assembler: own } = assembler(10);
    own.feed(frame(Buffer.alloc(10)));
    expect(() => own.feed(frame(Buffer.alloc(11)).subarray(0, 5))).toThrow(MessageTooLongError);
  });

  test("refuses compressed messages and unknown flags", () => {
    expect(() => assembler().assembler.feed(frame(Buffer.alloc(1), 1))).toThrow("compressed");
    expect(() => assembler().assembler.feed(frame(Buffer.alloc(1), 9))).toThrow("flag 9");
  });
});
