import type { InferenceError } from "../../base/error.ts";
import { HTTP_STATUS, httpStatusOf } from "../status.ts";

const JSON_HEADERS: Readonly<Record<string, string>> = { "content-type": "application/json" };

/** `{"error": text}`: the body of every refusal. */
export function errorResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ error: text }), {
    status,
    headers: { ...JSON_HEADERS, ...headers },
  });
}

/** An error of the planes or of a codec as Triton's frontends answer it. */
export function responseOfError(error: InferenceError): Response {
  return errorResponse(httpStatusOf(error.code), error.message);
}

/** A success with a JSON body. */
export function jsonResponse(value: unknown): Response {
  return jsonTextResponse(JSON.stringify(value));
}

/** A success whose body is JSON already. */
export function jsonTextResponse(text: string): Response {
  return new Response(text, { status: HTTP_STATUS.ok, headers: JSON_HEADERS });
}

/** A success without a body; Triton sets no Content-Type on it. */
export function emptyResponse(): Response {
  return new Response(null, { status: HTTP_STATUS.ok });
}
