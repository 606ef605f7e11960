import type { ModelConfig } from "../config/model-config.ts";

/** Which of the versions on disk are served (`version_policy`). */
export type VersionPolicy =
  | { readonly kind: "latest"; readonly versionCount: number }
  | { readonly kind: "all" }
  | { readonly kind: "specific"; readonly versions: readonly number[] };

/** The policy of a configuration; the latest version where it says nothing. */
export function versionPolicyFrom(message: ModelConfig["message"]): VersionPolicy {
  const choice = message.versionPolicy?.policyChoice;
  switch (choice?.case) {
    case "all":
      return { kind: "all" };
    case "specific":
      return { kind: "specific", versions: choice.value.versions.map(Number) };
    case "latest":
      return { kind: "latest", versionCount: choice.value.numVersions };
    default:
      return { kind: "latest", versionCount: 1 };
  }
}

/** What a policy makes of the versions on disk. */
export interface VersionSelection {
  /** To be served, ascending. */
  readonly selected: readonly number[];
  /** Named by a `specific` policy but not on disk: worth a warning, no error. */
  readonly missing: readonly number[];
}

/** @param available versions on disk, in any order. */
export function selectVersions(
  policy: VersionPolicy,
  available: readonly number[],
): VersionSelection {
  const ascending = [...new Set(available)].sort((a, b) => a - b);
  switch (policy.kind) {
    case "all":
      return { selected: ascending, missing: [] };
    case "latest":
      // slice(-0) would be everything.
      return {
        selected: policy.versionCount > 0 ? ascending.slice(-policy.versionCount) : [],
        missing: [],
      };
    case "specific": {
      const wanted = new Set(policy.versions);
      const onDisk = new Set(ascending);
      return {
        selected: ascending.filter((version) => wanted.has(version)),
        missing: [...wanted].filter((version) => !onDisk.has(version)),
      };
    }
  }
}
