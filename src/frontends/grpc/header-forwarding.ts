import { InferenceError } from "../../base/error.ts";
import { type ParameterValue, RequestSignature } from "../../core/request/request-signature.ts";
import { RESERVED_PARAMETER_PREFIX, RESERVED_PARAMETERS } from "../reserved-parameters.ts";

/**
 * `--grpc-header-forward-pattern`: metadata whose key matches become string parameters of the request. The match is
 * partial, as in Triton; keys are in lower case.
 */
export class HeaderForwarding {
  readonly #pattern: RegExp | undefined;

  /** @throws InferenceError INVALID_ARG when the pattern is no regular expression. */
  constructor(pattern: string) {
    if (pattern === "") return;
    try {
      // RE2's leading flag has no counterpart in front of a pattern here.
      const isCaseless = pattern.startsWith("(?i)");
      this.#pattern = new RegExp(isCaseless ? pattern.slice(4) : pattern, isCaseless ? "i" : "");
    } catch (thrown) {
      throw new InferenceError(
        "INVALID_ARG",
        `--grpc-header-forward-pattern '${pattern}' is not a regular expression`,
        { cause: thrown },
      );
    }
  }

  /** False when nothing is ever forwarded. */
  get isOn(): boolean {
    return this.#pattern !== undefined;
  }

  /**
   * @param headers names in lower case; pseudo-headers are left out.
   * @returns a signature with the matching metadata added, or the same object when none matches.
   * @throws InferenceError INVALID_ARG for a matching key of a reserved name.
   */
  addTo(signature: RequestSignature, headers: Iterable<[string, string]>): RequestSignature {
    const pattern = this.#pattern;
    if (!pattern) return signature;
    let parameters: Map<string, ParameterValue> | undefined;
    for (const [name, value] of headers) {
      if (name.startsWith(":") || !pattern.test(name)) continue;
      if (RESERVED_PARAMETERS.includes(name) || name.startsWith(RESERVED_PARAMETER_PREFIX)) {
        throw new InferenceError(
          "INVALID_ARG",
          `Header '${name}' is reserved for Triton usage and cannot be forwarded.`,
        );
      }
      parameters ??= new Map(signature.parameters);
      parameters.set(name, { kind: "string", value });
    }
    return parameters ? new RequestSignature({ ...signature, parameters }) : signature;
  }
}
