import { describe, expect, test } from "bun:test";
import {
  encodeFrame,
  FRAME_HEADER_BYTES,
  type Frame,
  FrameReader,
} from "../../../../../src/core/instance/python/python-frames.ts";

/** The frames that a reader cuts out of chunks. */
function framesOf(...chunks: readonly Uint8Array[]): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader((frame) => frames.push(frame));
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

const first = encodeFrame('{"t":"x","name":"grüße 🙂"}', [Uint8Array.of(1, 2), Uint8Array.of(3)]);
const second = encodeFrame('{"t":"free"}');
const both = Buffer.concat([first, second]);

describe("encodeFrame", () => {
  test("writes two little-endian lengths, the text as UTF-8 and the pieces after it", () => {
    const frame = Buffer.from(encodeFrame('"ü"', [Uint8Array.of(9)]));
    expect([frame.readUInt32LE(0), frame.readUInt32LE(4)]).toEqual([4, 1]);
    expect(frame.subarray(FRAME_HEADER_BYTES).toString("latin1")).toBe('"Ã¼"\t');
  });
});

describe("FrameReader", () => {
  test("cuts several frames out of one chunk", () => {
    const [one, two, ...more] = framesOf(both);
    expect(one).toEqual({
      message: { t: "x", name: "grüße 🙂" },
      tail: Uint8Array.of(1, 2, 3),
    });
    expect(two).toEqual({ message: { t: "free" }, tail: new Uint8Array(0) });
    expect(more).toEqual([]);
  });

  test("finds the same frames wherever the bytes are cut", () => {
    const whole = framesOf(both);
    for (let at = 0; at <= both.length; at++) {
      expect(framesOf(both.subarray(0, at), both.subarray(at))).toEqual(whole);
    }
    expect(framesOf(...Array.from(both, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test("gives a tail that stays as it is when the socket uses its chunk again", () => {
    const chunk = Uint8Array.from(first);
    const [frame] = framesOf(chunk);
    chunk.fill(0);
    expect(frame?.tail).toEqual(Uint8Array.of(1, 2, 3));
  });

  test("refuses lengths that no frame has", () => {
    const noise = new Uint8Array(FRAME_HEADER_BYTES).fill(0xff);
    expect(() => framesOf(noise)).toThrow("is above the limit of 2147483647");
    expect(() => framesOf(noise.subarray(0, 3), noise.subarray(3))).toThrow("above the limit");
  });

  test("refuses a text that is no JSON", () => {
    expect(() => framesOf(encodeFrame("{"))).toThrow(SyntaxError);
  });
});
