import { isUtf8 } from "node:buffer";
import { InferenceError } from "../../base/error.ts";
import type { Parameters, ParameterValue } from "../../core/request/request-signature.ts";
import { RESERVED_PARAMETER_PREFIX, RESERVED_PARAMETERS } from "../reserved-parameters.ts";

/**
 * `--http-header-forward-pattern`: request headers whose name matches become string parameters of the request.
 * The match is partial, as in Triton; it ignores case, because the runtime hands names out in lower case.
 */
export class HeaderForwarding {
  readonly #pattern: RegExp | undefined;

  /** @throws InferenceError INVALID_ARG when the pattern is no regular expression. */
  constructor(pattern: string) {
    if (pattern === "") return;
    try {
      // RE2's leading flag has no counterpart; what it asks for is done anyway.
      this.#pattern = new RegExp(pattern.replace(/^\(\?i\)/, ""), "i");
    } catch (thrown) {
      throw new InferenceError(
        "INVALID_ARG",
        `--http-header-forward-pattern '${pattern}' is not a regular expression`,
        { cause: thrown },
      );
    }
  }

  /** False when nothing is ever forwarded. */
  get isOn(): boolean {
    return this.#pattern !== undefined;
  }

  /**
   * @returns the parameters with the matching headers added, or the same object when none matches.
   * @throws InferenceError INVALID_ARG for a matching header of a reserved name.
   */
  addTo(parameters: Parameters, headers: Headers): Parameters {
    const pattern = this.#pattern;
    if (!pattern) return parameters;
    let joined: Map<string, ParameterValue> | undefined;
    for (const [name, value] of headers) {
      if (!pattern.test(name)) continue;
      if (RESERVED_PARAMETERS.includes(name) || name.startsWith(RESERVED_PARAMETER_PREFIX)) {
        throw new InferenceError(
          "INVALID_ARG",
          `Header '${name}' is reserved for Triton usage and cannot be forwarded.`,
        );
      }
      joined ??= new Map(parameters);
      joined.set(name, { kind: "string", value: headerText(value) });
    }
    return joined ?? parameters;
  }
}

/** Header values arrive as one character a byte; where the bytes are UTF-8 they mean that. */
function headerText(value: string): string {
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : value;
}
