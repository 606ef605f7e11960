import { describe, expect, test } from "bun:test";
import { fillDefaults, normalizeConfig } from "../../../../src/core/config/normalize-config.ts";
import { configMessage, GOOD_CONFIG, refusalOfPromise } from "../../../support/config-texts.ts";

function filled(text: string) {
  const message = configMessage(text);
  fillDefaults(message);
  return message;
}

describe("normalizeConfig", () => {
  test("gives a configuration without name the directory's", async () => {
    const message = configMessage('backend: "identity"');
    await normalizeConfig(message, "m", "/nowhere");
    expect(message.name).toBe("m");
  });

  test("refuses another name than the directory's, naming both", async () => {
    const message = configMessage(GOOD_CONFIG);
    expect(await refusalOfPromise(normalizeConfig(message, "renamed", "/nowhere"))).toBe(
      "unexpected directory name 'renamed' for model 'm', directory name must equal model name",
    );
  });
});

describe("fillDefaults", () => {
  test("serves the latest version where no policy is given", () => {
    expect(filled("").versionPolicy?.policyChoice).toMatchObject({
      case: "latest",
      value: { numVersions: 1 },
    });
    expect(filled("version_policy {}").versionPolicy?.policyChoice.case).toBe("latest");
    expect(filled("version_policy { all {} }").versionPolicy?.policyChoice.case).toBe("all");
  });

  test("prefers the largest batch where nothing is preferred", () => {
    const preferred = (text: string) => {
      const { schedulingChoice } = filled(text);
      if (schedulingChoice.case === "dynamicBatching")
        return schedulingChoice.value.preferredBatchSize;
      if (schedulingChoice.case !== "sequenceBatching") return undefined;
      const { strategyChoice } = schedulingChoice.value;
      return strategyChoice.case === "oldest" ? strategyChoice.value.preferredBatchSize : undefined;
    };
    expect(preferred("max_batch_size: 8 dynamic_batching {}")).toEqual([8]);
    expect(preferred("max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 }")).toEqual([
      2,
    ]);
    expect(preferred("dynamic_batching {}")).toEqual([]);
    expect(preferred("max_batch_size: 8 sequence_batching { oldest {} }")).toEqual([8]);
  });

  test("ends idle sequences after a second unless told otherwise", () => {
    const idle = (text: string) => {
      const { schedulingChoice } = filled(text);
      return schedulingChoice.case === "sequenceBatching"
        ? schedulingChoice.value.maxSequenceIdleMicroseconds
        : undefined;
    };
    expect(idle("sequence_batching {}")).toBe(1_000_000n);
    expect(idle("sequence_batching { max_sequence_idle_microseconds: 7 }")).toBe(7n);
  });

  test("turns pinned memory on unless it was turned off, but not for ensembles", () => {
    const { optimization } = filled("optimization { input_pinned_memory { enable: false } }");
    expect(optimization?.inputPinnedMemory?.enable).toBe(false);
    expect(optimization?.outputPinnedMemory?.enable).toBe(true);
    expect(filled('platform: "ensemble"').optimization).toBeUndefined();
  });

  test("changes nothing when it runs again", () => {
    const message = filled("max_batch_size: 8 dynamic_batching {}");
    fillDefaults(message);
    expect(message).toEqual(filled("max_batch_size: 8 dynamic_batching {}"));
  });
});
