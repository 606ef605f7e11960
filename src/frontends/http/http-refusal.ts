import { errorResponse } from "./json-response.ts";

/** A refusal of the transport, whose status or headers no ErrorCode stands for. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly response: Response;

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.response = errorResponse(status, text, headers);
  }
}
