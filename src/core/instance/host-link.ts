import type { ErrorCode, FailureReason, InferenceError } from "../../base/error.ts";
import type { LogFields } from "../../base/log.ts";
import type { OpenModelOptions } from "../backend/backend.ts";
import type { ExecutionSignature, ModelReport } from "../backend/backend-model.ts";
import type { SlabAllocator, SlabHandle } from "../memory/slab.ts";

/** An InferenceError on its way between hosts. */
export interface ErrorNote {
  readonly code: ErrorCode;
  readonly reason: FailureReason;
  readonly message: string;
}

/** What the main thread tells an instance host, besides doorbells. Plain data; sent in order. */
export type HostCommand =
  | { readonly type: "open"; readonly backend: string; readonly options: OpenModelOptions }
  | {
      readonly type: "createInstance";
      readonly name: string;
      readonly signature: ExecutionSignature;
      readonly config: Uint8Array;
    }
  | { readonly type: "inputSlab"; readonly slot: number; readonly handle: SlabHandle }
  | { readonly type: "dispose" };

/** What an instance host tells the main thread, besides doorbells. Each command but `inputSlab` gets one answer. */
export type HostReport =
  | { readonly type: "opened"; readonly report: ModelReport }
  | { readonly type: "instanceCreated"; readonly cancelHandle: number | undefined }
  | { readonly type: "disposed" }
  /** The answer to the command at hand is an error. */
  | { readonly type: "failed"; readonly error: ErrorNote }
  /** Before the doorbell that answers a batch: the slabs of the slot's output area, in order. */
  | {
      readonly type: "outputSlabs";
      readonly slot: number;
      readonly handles: readonly SlabHandle[];
    }
  /** In place of a doorbell: the batch failed and there is not even room for a reply frame. */
  | { readonly type: "executionFailed"; readonly slot: number; readonly error: ErrorNote }
  | {
      readonly type: "log";
      readonly severity: "error" | "warning" | "info" | "verbose";
      /** Of `verbose` records; 0 otherwise. */
      readonly level: number;
      readonly message: string;
      readonly fields: LogFields;
    };

/** What comes out of a {@link HostLink}. Calls come on the main thread, never from inside a method of the link. */
export interface HostListener {
  /** The batch of this slot has been answered. */
  onRing(slot: number): void;
  onReport(report: HostReport): void;
  /** The host is gone without having been asked to. Last call. */
  onClosed(error: InferenceError): void;
}

/** The main thread's end of the line to one instance host. */
export interface HostLink {
  /** Set right after the link was made. */
  listener: HostListener | undefined;
  /** Doorbell: a batch lies in this slot's input slab. */
  ring(slot: number): void;
  send(command: HostCommand): void;
  /**
   * The batch of this slot is not wanted any more: it need not start. Where the link can tell that it runs just now,
   * it calls `stop`, and the host goes on to no other batch before `stop` has returned.
   */
  cancel(slot: number, stop: () => void): void;
  /** Ends a host that has answered `disposed` (or never opened anything), and waits until it is gone. */
  end(): Promise<void>;
}

/** A way of hosting instances: Workers, child processes, … */
export interface HostHome {
  /** Makes the input slabs and attaches to the output slabs. */
  readonly slabs: SlabAllocator;
  /** Whether hosts share the process, so that native handles mean the same in all of them and on the main thread. */
  readonly sharesProcess: boolean;
  /** @throws InferenceError when no host can be started. */
  start(): Promise<HostLink>;
}

/** The host's end of the line. */
export interface HostPort {
  /** The batch of this slot has been answered. */
  ring(slot: number): void;
  /** From here until {@link leave} the batch of the slot may be stopped. @returns whether it is still wanted. */
  enter(slot: number): boolean;
  leave(slot: number): void;
  send(report: HostReport): void;
}
