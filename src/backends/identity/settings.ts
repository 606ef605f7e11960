import { InferenceError } from "../../base/error.ts";
import { configFromBytes } from "../../core/config/config-bytes.ts";

/** The backend's `parameters` of a configuration. */
export interface IdentitySettings {
  /** `execute_delay_ms`: each execution takes at least this long. */
  readonly executeDelayMs: number;
  /** `instance_wise_delay_multiplier`: × the instance's number, for all but number 0; 0 = off. */
  readonly instanceWiseDelayMultiplier: number;
  /** `creation_delay_sec`: opening the model takes at least this long. */
  readonly creationDelaySeconds: number;
}

/**
 * @param config ModelConfig as bytes.
 * @throws InferenceError INVALID_ARG for a parameter that is no number.
 */
export function identitySettingsFrom(config: Uint8Array): IdentitySettings {
  const { parameters } = configFromBytes(config);
  const number = (key: string): number => {
    const text = parameters[key]?.stringValue ?? "0";
    const value = Number(text);
    if (text.trim() === "" || !Number.isInteger(value) || value < 0) {
      throw new InferenceError(
        "INVALID_ARG",
        `parameter '${key}' of the identity backend is '${text}'; a whole number from 0 up is allowed`,
      );
    }
    return value;
  };
  return {
    executeDelayMs: number("execute_delay_ms"),
    instanceWiseDelayMultiplier: number("instance_wise_delay_multiplier"),
    creationDelaySeconds: number("creation_delay_sec"),
  };
}
