import type {
  Parameters,
  ParameterValue,
  RequestSignature,
} from "../../request/request-signature.ts";
import { NO_PARAMETERS } from "../../request/request-signature.ts";

const texts = new WeakMap<RequestSignature, string>();

/** The custom parameters of a request as JSON text, integers with all their digits. Made once per signature. */
export function parametersTextOf(signature: RequestSignature): string {
  if (signature.parameters.size === 0) return "{}";
  const known = texts.get(signature);
  if (known !== undefined) return known;
  const members = [...signature.parameters].map(
    ([name, { value }]) =>
      `${JSON.stringify(name)}:${typeof value === "bigint" ? value : JSON.stringify(value)}`,
  );
  const text = `{${members.join(",")}}`;
  texts.set(signature, text);
  return text;
}

/** Parameters from JSON text, as a model gives them with a response or a call. @throws SyntaxError for other text. */
export function parametersFromText(text: unknown): Parameters {
  if (typeof text !== "string" || text === "" || text === "{}") return NO_PARAMETERS;
  const object = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context?.source ?? "0")
      : value,
  ) as Record<string, unknown>;
  const parameters = new Map<string, ParameterValue>();
  for (const [name, value] of Object.entries(object)) {
    if (typeof value === "bigint") parameters.set(name, { kind: "int64", value });
    else if (typeof value === "boolean") parameters.set(name, { kind: "bool", value });
    else if (typeof value === "number") parameters.set(name, { kind: "double", value });
    else parameters.set(name, { kind: "string", value: String(value) });
  }
  return parameters;
}
