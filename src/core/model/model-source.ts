import { join } from "node:path";
import { InferenceError } from "../../base/error.ts";
import type { Logger } from "../../base/log.ts";
import { configFromBytes, configToBytes } from "../config/config-bytes.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { normalizeConfig } from "../config/normalize-config.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import { readModelConfig } from "../config/read-config.ts";
import { validateConfig } from "../config/validate-config.ts";
import { validateTensors } from "../config/validate-tensors.ts";
import { fingerprintOf, type ModelFingerprint } from "../repository/model-fingerprint.ts";
import type { OverrideDirectory } from "../repository/override-directory.ts";
import { versionDirectories } from "../repository/version-directories.ts";
import { selectVersions, versionPolicyFrom } from "../repository/version-policy.ts";

/** What a server's options say about reading models. */
export interface ReadSourceOptions {
  /** `--model-config-name`; "" = config.pbtxt. */
  readonly configName: string;
  /** False under `--disable-auto-complete-config`. */
  readonly isAutoCompleteOn: boolean;
  readonly logger: Logger;
}

/** Which model to read, and from where. */
export interface SourcePlace {
  readonly modelName: string;
  /** Absolute; the override's where there is one. */
  readonly modelDirectory: string;
  /** Made before the files are read, so that a change meanwhile shows at the next look. */
  readonly fingerprint: ModelFingerprint;
  /** The `config` parameter of the load request. */
  readonly configJson: string | undefined;
  /** Files that came with the load request; held by the source until `release`. */
  readonly override: OverrideDirectory | undefined;
}

/** A model directory as one load sees it: its normalised configuration and its versions. Read once, never changed. */
export class ModelSource {
  readonly place: SourcePlace;
  /** Normalised, free of contradictions, not completed. */
  readonly config: ParsedConfig;
  /** Equal texts mean equal configurations, the version policy aside. */
  readonly configIdentity: string;
  /** All that lie on disk. */
  readonly versionsOnDisk: ReadonlySet<number>;
  /** Those that the version policy selects, ascending. */
  readonly versions: readonly number[];

  constructor(place: SourcePlace, config: ParsedConfig, logger: Logger) {
    this.place = place;
    this.config = config;
    this.configIdentity = identityOf(config.message);
    const onDisk = versionDirectories(place.modelDirectory, logger).map(({ version }) => version);
    this.versionsOnDisk = new Set(onDisk);
    const selection = selectVersions(versionPolicyFrom(config.message), onDisk);
    this.versions = selection.selected;
    for (const version of selection.missing) {
      logger.warning(`version ${version} of model '${place.modelName}' is not on disk`);
    }
  }

  get modelName(): string {
    return this.place.modelName;
  }

  get modelDirectory(): string {
    return this.place.modelDirectory;
  }

  /** Absolute. */
  versionDirectory(version: number): string {
    return join(this.modelDirectory, String(version));
  }

  /** Keeps the files until `resources` are disposed. */
  holdFiles(resources: AsyncDisposableStack): void {
    const override = this.place.override?.retain();
    if (override !== undefined) resources.defer(() => override.release());
  }

  /** Whether a version that was loaded from another source would be loaded from this one just the same. */
  isSameVersionAs(earlier: ModelSource, version: number): boolean {
    const [now, then] = [this.place, earlier.place];
    return (
      now.modelDirectory === then.modelDirectory &&
      this.configIdentity === earlier.configIdentity &&
      now.fingerprint.other === then.fingerprint.other &&
      now.fingerprint.versions.get(version) === then.fingerprint.versions.get(version)
    );
  }
}

/**
 * Reads what a model directory holds: what Triton calls polling a model.
 *
 * @throws InferenceError INVALID_ARG for a configuration that cannot be read or contradicts itself.
 */
export async function readModelSource(
  place: SourcePlace,
  options: ReadSourceOptions,
): Promise<ModelSource> {
  const config = await readModelConfig(place.modelDirectory, {
    configName: options.configName,
    overrideJson: place.configJson,
    isAutoCompleteOn: options.isAutoCompleteOn,
  });
  await normalizeConfig(config.message, place.modelName, place.modelDirectory);
  validateConfig(config.message);
  // Otherwise the model file has a say first.
  if (!options.isAutoCompleteOn) validateTensors(config.message);
  return new ModelSource(place, config, options.logger);
}

/** @throws InferenceError INVALID_ARG when the directory cannot be looked at. */
export async function fingerprintOfModel(modelDirectory: string): Promise<ModelFingerprint> {
  try {
    return await fingerprintOf(modelDirectory);
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    throw new InferenceError("INVALID_ARG", `cannot read ${modelDirectory}: ${text}`, {
      cause: thrown,
    });
  }
}

function identityOf(message: ModelConfig["message"]): string {
  const copy = configFromBytes(configToBytes(message));
  delete copy.versionPolicy;
  return Buffer.from(configToBytes(copy)).toString("base64");
}
