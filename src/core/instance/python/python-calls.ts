import { InferenceError, inferenceErrorFrom } from "../../../base/error.ts";
import type { Logger } from "../../../base/log.ts";
import type { InferenceRequest } from "../../request/inference-request.ts";
import type { InferenceResponse, ResponseSink } from "../../request/inference-response.ts";
import { RequestSignature } from "../../request/request-signature.ts";
import { parametersFromText } from "./python-parameters.ts";
import type { PythonSession } from "./python-session.ts";
import type { TensorEntry } from "./python-tensors.ts";
import type { ServerCalls } from "./server-calls.ts";

type Message = Readonly<Record<string, unknown>>;

const SEQUENCE_START = 1;
const SEQUENCE_END = 2;

/** What a model asks of the server: other models, loads, metrics. One for each process. */
export class PythonCalls {
  readonly #session: PythonSession;
  readonly #server: ServerCalls;
  readonly #logger: Logger;
  /** Inferences under way, by call number. */
  readonly #running = new Map<number, InferenceRequest>();
  /** Metric families and metrics that the process holds: a process that is killed releases nothing itself. */
  readonly #families = new Set<number>();
  readonly #metrics = new Set<number>();

  constructor(session: PythonSession, server: ServerCalls, logger: Logger) {
    this.#session = session;
    this.#server = server;
    this.#logger = logger;
  }

  /** A `call` frame. Call number 0 wants no answer. */
  handle(message: Message, tail: Uint8Array): void {
    const call = Number(message["c"]);
    if (message["m"] === "infer") {
      this.#infer(call, message, tail);
      return;
    }
    void this.#answer(call, message, tail);
  }

  /** The process has gone: nobody waits for its calls any more, and what it held is released. */
  dispose(): void {
    for (const request of this.#running.values()) request.cancel();
    this.#running.clear();
    for (const metric of this.#metrics) this.#server.metrics.releaseMetric(metric);
    this.#metrics.clear();
    for (const family of this.#families) this.#server.metrics.releaseFamily(family);
    this.#families.clear();
  }

  async #answer(call: number, message: Message, tail: Uint8Array): Promise<void> {
    const answer: Record<string, unknown> = { t: "a", c: call };
    try {
      answer["v"] = await this.#ask(message, tail);
    } catch (error) {
      answer["e"] = inferenceErrorFrom(error).message;
      if (call === 0) {
        this.#logger.error("a call of a Python model failed", {
          instance: this.#session.name,
          call: String(message["m"]),
          error: String(answer["e"]),
        });
      }
    }
    if (call !== 0) this.#session.send(JSON.stringify(answer));
  }

  #ask(message: Message, tail: Uint8Array): unknown {
    switch (message["m"]) {
      case "load":
        return this.#server.load(
          String(message["model"]),
          String(message["config"]),
          filesOf(message["files"], tail),
        );
      case "unload":
        return this.#server.unload(String(message["model"]), message["dependents"] === true);
      case "is_ready":
        return this.#server.isReady(String(message["model"]), String(message["version"]));
      case "cancel":
        return this.#running.get(Number(message["call"]))?.cancel();
      default:
        return this.#askMetrics(message);
    }
  }

  #askMetrics(message: Message): unknown {
    const { metrics } = this.#server;
    const id = Number(message["id"]);
    switch (message["m"]) {
      case "metric_family":
        return kept(
          this.#families,
          metrics.family(
            String(message["name"]),
            String(message["description"]),
            Number(message["kind"]),
          ),
        );
      case "metric_family_delete":
        this.#families.delete(id);
        return metrics.releaseFamily(id);
      case "metric":
        return kept(
          this.#metrics,
          metrics.metric(
            Number(message["family"]),
            message["labels"] as Record<string, string>,
            (message["buckets"] ?? undefined) as readonly number[] | undefined,
          ),
        );
      case "metric_delete":
        this.#metrics.delete(id);
        return metrics.releaseMetric(id);
      case "metric_change":
        return metrics.change(id, String(message["op"]), Number(message["value"]));
      case "metric_value":
        return jsonNumber(metrics.value(id));
      default:
        throw new InferenceError("INTERNAL", `unknown call '${message["m"]}'`);
    }
  }

  #infer(call: number, message: Message, tail: Uint8Array): void {
    const blocks: [number, number][] = [];
    const modelName = String(message["model"]);
    const sink = new CallSink(this.#session, call, blocks, () => this.#running.delete(call));
    try {
      const inputs = (message["i"] as readonly TensorEntry[]).map((entry) =>
        this.#session.tensors.read(entry, tail, blocks),
      );
      const flags = Number(message["flags"]);
      const correlation = message["corr"];
      const request = this.#server.infer({
        modelName,
        modelVersion: Number(message["version"]),
        isDecoupled: message["decoupled"] === true,
        request: {
          signature: new RequestSignature({
            inputs,
            outputs: (message["o"] as readonly string[]).map((name) => ({
              name,
              classificationCount: 0,
            })),
            parameters: parametersFromText(message["params"]),
            timeoutMicroseconds: Number(message["timeout"]),
            sequenceId: typeof correlation === "string" ? correlation : BigInt(String(correlation)),
            sequenceStart: (flags & SEQUENCE_START) !== 0,
            sequenceEnd: (flags & SEQUENCE_END) !== 0,
          }),
          id: String(message["id"]),
          inputBytes: inputs.map(({ bytes }) => bytes),
          sink,
        },
      });
      this.#running.set(call, request);
    } catch (error) {
      sink.onError(inferenceErrorFrom(error), true);
    }
  }
}

/** JSON has no NaN and no infinities: those go as words, which Python's `float` reads. */
function jsonNumber(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function kept(held: Set<number>, id: number): number {
  held.add(id);
  return id;
}

function filesOf(places: unknown, tail: Uint8Array): ReadonlyMap<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const [key, place] of Object.entries((places ?? {}) as Record<string, [number, number]>)) {
    files.set(key.replace(/^file:/, ""), tail.subarray(place[0], place[0] + place[1]));
  }
  return files;
}

/** Sends the answers to a call back to the process that made it. */
class CallSink implements ResponseSink {
  readonly #session: PythonSession;
  readonly #call: number;
  /** Input blocks of the call, the process's own; returned when the call is over. */
  readonly #blocks: [number, number][];
  readonly #onEnd: () => void;

  constructor(session: PythonSession, call: number, blocks: [number, number][], onEnd: () => void) {
    this.#session = session;
    this.#call = call;
    this.#blocks = blocks;
    this.#onEnd = onEnd;
  }

  onResponse(response: InferenceResponse, isFinal: boolean): void {
    const tail: Uint8Array[] = [];
    const key = this.#session.nextKey();
    const outgoing = response.outputs.map((output) => ({ nameOrIndex: output.name, ...output }));
    const placed = this.#session.tensors.place(outgoing, tail, 0, key);
    const frame = {
      t: "p",
      c: this.#call,
      final: isFinal,
      o: placed.entries,
      l: placed.lease,
      k: key,
    };
    this.#send(frame, tail, isFinal);
  }

  onError(error: InferenceError, isFinal: boolean): void {
    this.#send(
      { t: "p", c: this.#call, final: isFinal, e: [error.code, error.message] },
      [],
      isFinal,
    );
  }

  onComplete(): void {
    this.#send({ t: "p", c: this.#call, final: true }, [], true);
  }

  #send(frame: Message, tail: readonly Uint8Array[], isFinal: boolean): void {
    if (isFinal) this.#onEnd();
    if (this.#session.isClosed) return;
    this.#session.send(JSON.stringify(frame), tail);
    if (isFinal) this.#session.returnBlocks(this.#blocks);
  }
}
