import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "#gen/inference/model_config_pb.ts";
import { identitySettingsFrom } from "../../../../src/backends/identity/settings.ts";
import { configToBytes } from "../../../../src/core/config/config-bytes.ts";

function settingsOf(parameters: Readonly<Record<string, string>>) {
  const entries = Object.entries(parameters).map(
    ([key, stringValue]) => [key, { stringValue }] as const,
  );
  const message = create(ModelConfigSchema, { parameters: Object.fromEntries(entries) });
  return identitySettingsFrom(configToBytes(message));
}

test("every delay is off where the configuration does not name it", () => {
  expect(settingsOf({ enable_custom_tracing: "true" })).toEqual({
    executeDelayMs: 0,
    instanceWiseDelayMultiplier: 0,
    creationDelaySeconds: 0,
  });
});

test("delays are read from the parameters", () => {
  const parameters = {
    execute_delay_ms: "250",
    instance_wise_delay_multiplier: "2",
    creation_delay_sec: "3",
  };
  expect(settingsOf(parameters)).toEqual({
    executeDelayMs: 250,
    instanceWiseDelayMultiplier: 2,
    creationDelaySeconds: 3,
  });
});

test("what is no whole number is refused with its name and value", () => {
  for (const value of ["", "fast", "-1", "1.5"]) {
    expect(() => settingsOf({ execute_delay_ms: value })).toThrow(
      `parameter 'execute_delay_ms' of the identity backend is '${value}'`,
    );
  }
});
