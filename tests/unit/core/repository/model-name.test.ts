import { expect, test } from "bun:test";
import { InferenceError } from "../../../../src/base/error.ts";
import { checkModelName } from "../../../../src/core/repository/model-name.ts";

function refusal(name: string): InferenceError | undefined {
  try {
    checkModelName(name);
    return undefined;
  } catch (error) {
    return error instanceof InferenceError ? error : undefined;
  }
}

test.each(["", " ", "\t\n"])("an empty name %j is refused with Triton's text", (name) => {
  expect(refusal(name)?.code).toBe("INVALID_ARG");
  expect(refusal(name)?.message).toBe(
    "Model name cannot be empty. Please enter a valid name to deploy.",
  );
});

test.each(["..", ".", "../x", "a/b", "/etc", "a\0b", "x/../y"])(
  "a name that leaves the repository is refused: %j",
  (name) => {
    expect(refusal(name)?.code).toBe("INVALID_ARG");
    expect(refusal(name)?.message).toContain("path separator");
  },
);

test.each(["resnet50", "model with space", "größe", "a.b", "v1-2_3", "_"])(
  "any other directory name is a model name: %j",
  (name) => {
    expect(refusal(name)).toBeUndefined();
  },
);
