import { InferenceError } from "../../base/error.ts";

/** Collects what is wrong with a configuration, so that its author sees everything at once. */
export class ConfigFaults {
  readonly #faults: string[] = [];

  /** Notes a fault; the same one twice counts once. */
  add(fault: string): void {
    if (!this.#faults.includes(fault)) this.#faults.push(fault);
  }

  /** Notes a fault unless a condition holds. @returns the condition. */
  require(condition: boolean, fault: () => string): boolean {
    if (!condition) this.add(fault());
    return condition;
  }

  /** @throws InferenceError INVALID_ARG with all faults, in the order in which they were noted. */
  throwIfAny(): void {
    if (this.#faults.length > 0) {
      throw new InferenceError("INVALID_ARG", this.#faults.join("; "));
    }
  }
}
