import { describe, expect, test } from "bun:test";
import { ConfigFaults } from "../../../../src/core/config/config-faults.ts";
import { refusalOf } from "../../../support/config-texts.ts";

describe("ConfigFaults", () => {
  test("throws nothing without a fault", () => {
    const faults = new ConfigFaults();
    expect(faults.require(true, () => "x")).toBe(true);
    expect(refusalOf(() => faults.throwIfAny())).toBe("");
  });

  test("tells all faults in order, each once", () => {
    const faults = new ConfigFaults();
    faults.add("first");
    expect(faults.require(false, () => "second")).toBe(false);
    faults.add("first");
    expect(refusalOf(() => faults.throwIfAny())).toBe("first; second");
  });
});
