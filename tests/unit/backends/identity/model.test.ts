import { describe, expect, test } from "bun:test";
import { IdentityModel } from "../../../../src/backends/identity/model.ts";
import type { IdentitySettings } from "../../../../src/backends/identity/settings.ts";
import type { ExecutionTensor } from "../../../../src/core/backend/backend-model.ts";

const SETTINGS: IdentitySettings = {
  executeDelayMs: 0,
  instanceWiseDelayMultiplier: 0,
  creationDelaySeconds: 0,
};

function tensor(name: string, fields: Partial<ExecutionTensor> = {}): ExecutionTensor {
  return { name, datatype: "FP32", shape: [-1, 2], ...fields };
}

async function refusal(inputs: ExecutionTensor[], outputs: ExecutionTensor[]): Promise<string> {
  try {
    await new IdentityModel(SETTINGS).createInstance("m_0", { inputs, outputs, maxBatchSize: 1 });
    return "accepted";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe("pairing of inputs and outputs", () => {
  test("goes by the text after INPUT and OUTPUT, not by order", async () => {
    const inputs = [tensor("INPUT0"), tensor("INPUT_b", { datatype: "BYTES" })];
    const outputs = [tensor("OUTPUT_b", { datatype: "BYTES" }), tensor("OUTPUT0")];
    expect(await refusal(inputs, outputs)).toBe("accepted");
  });

  test("every kind of mismatch is refused in Triton's words", async () => {
    const cases: [ExecutionTensor[], ExecutionTensor[], string][] = [
      [[tensor("INPUT0")], [], "model configuration must have equal input/output pairs"],
      [
        [tensor("IN0")],
        [tensor("OUTPUT0")],
        "expected input name to follow INPUT<index> pattern, got 'IN0'",
      ],
      [
        [tensor("INPUT0")],
        [tensor("OUT0")],
        "expected output name to follow OUTPUT<index> pattern, got 'OUT0'",
      ],
      [[tensor("INPUT0")], [tensor("OUTPUT1")], "expected input and output indices to match"],
      [
        [tensor("INPUT0")],
        [tensor("OUTPUT0", { datatype: "INT32" })],
        "expected input and output datatype to match, got FP32 and INT32",
      ],
      [
        [tensor("INPUT0")],
        [tensor("OUTPUT0", { shape: [-1, 3] })],
        "expected input and output shape to match, got [-1,2] and [-1,3]",
      ],
    ];
    for (const [inputs, outputs, text] of cases) expect(await refusal(inputs, outputs)).toBe(text);
  });
});
