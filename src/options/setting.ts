import { OptionError, parseInteger } from "./option.ts";

/** `<owner>,<key>=<value>`, or `<key>=<value>` for all owners. */
export interface Setting {
  /** "" = global. A backend, a cache, a trace mode or a host policy, depending on the flag. */
  readonly owner: string;
  readonly key: string;
  readonly value: string;
}

function formatError(text: string, name: string, format: string): OptionError {
  return new OptionError(`--${name} option format is ${format}. Got ${text}`);
}

/** `<key>=<value>`; the value may hold further equal signs. @throws OptionError */
export function parseKeyValue(text: string, name: string): Setting {
  const equals = text.indexOf("=");
  if (equals <= 0 || equals === text.length - 1) {
    throw formatError(text, name, "<setting>=<value>");
  }
  return { owner: "", key: text.slice(0, equals), value: text.slice(equals + 1) };
}

/**
 * `[<owner>,]<key>=<value>`. A comma after the first equal sign belongs to the value, so that file names may hold one.
 * @throws OptionError
 */
export function parseSetting(text: string, name: string): Setting {
  const equals = text.indexOf("=");
  const comma = text.indexOf(",");
  const hasOwner = comma >= 0 && (equals < 0 || comma < equals);
  const key = text.slice(hasOwner ? comma + 1 : 0, Math.max(equals, 0));
  const value = text.slice(equals + 1);
  if (equals < 0 || key === "" || value === "" || comma === 0) {
    throw formatError(text, name, "<name>,<setting>=<value> or <setting>=<value>");
  }
  return { owner: hasOwner ? text.slice(0, comma) : "", key, value };
}

/** `<owner>,<key>=<value>` where the owner may not be left out. @throws OptionError */
export function parseOwnedSetting(text: string, name: string): Setting {
  const setting = parseSetting(text, name);
  if (setting.owner === "") throw formatError(text, name, "<name>,<setting>=<value>");
  return setting;
}

/** A number for one GPU, `<gpu>:<bytes>`. */
export interface GpuBytes {
  readonly gpu: number;
  readonly bytes: number;
}

/** `<gpu>:<bytes>`. @throws OptionError */
export function parseGpuBytes(text: string, name: string): GpuBytes {
  const [gpu, bytes, rest] = text.split(":");
  if (gpu === undefined || bytes === undefined || rest !== undefined) {
    throw formatError(text, name, "<gpu>:<bytes>");
  }
  return {
    gpu: parseInteger(gpu, `--${name}`, 0, Number.MAX_SAFE_INTEGER),
    bytes: parseInteger(bytes, `--${name}`, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** A share of the memory of one GPU. */
export interface GpuFraction {
  readonly gpu: number;
  readonly fraction: number;
}

/** `<device>:<fraction>`, the fraction between 0 and 1. @throws OptionError */
export function parseGpuFraction(text: string, name: string): GpuFraction {
  const [gpu, share, rest] = text.split(":");
  const fraction = share === undefined || share.trim() === "" ? Number.NaN : Number(share);
  if (gpu === undefined || rest !== undefined || !(fraction >= 0 && fraction <= 1)) {
    throw formatError(text, name, "<device>:<fraction>, the fraction between 0 and 1");
  }
  return { gpu: parseInteger(gpu, `--${name}`, 0, Number.MAX_SAFE_INTEGER), fraction };
}

/** One resource of the rate limiter. */
export interface RateLimitResource {
  readonly resource: string;
  readonly count: number;
  /** undefined = every device. */
  readonly device: number | undefined;
}

/** `<name>:<count>[:<device>]`. @throws OptionError */
export function parseRateLimitResource(text: string, name: string): RateLimitResource {
  const [resource, count, device, rest] = text.split(":");
  if (!resource || count === undefined || rest !== undefined) {
    throw formatError(text, name, "<resource_name>:<count>[:<device>]");
  }
  return {
    resource,
    count: parseInteger(count, `--${name}`, 0, Number.MAX_SAFE_INTEGER),
    device:
      device === undefined
        ? undefined
        : parseInteger(device, `--${name}`, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** Ports that the SageMaker endpoint may use, both ends included. */
export interface PortRange {
  readonly min: number;
  readonly max: number;
}

/** `<a>-<b>`. @throws OptionError */
export function parsePortRange(text: string, name: string): PortRange {
  const [min, max, rest] = text.split("-");
  if (min === undefined || max === undefined || rest !== undefined) {
    throw formatError(text, name, "<integer>-<integer>");
  }
  const range = {
    min: parseInteger(min, `--${name}`, 0, 65535),
    max: parseInteger(max, `--${name}`, 0, 65535),
  };
  if (range.min > range.max) throw formatError(text, name, "<integer>-<integer>, lower end first");
  return range;
}
