import type { Backend } from "../../src/core/backend/backend.ts";
import type { BackendInstance, ExecutionBatch } from "../../src/core/backend/backend-instance.ts";
import type { BackendModel, ModelReport } from "../../src/core/backend/backend-model.ts";

/** What a {@link ScriptedBackend} does. */
export interface BackendScript {
  readonly report?: ModelReport;
  readonly cancelHandle?: number;
  open?(): void | Promise<void>;
  createInstance?(name: string): void;
  execute?(batch: ExecutionBatch): void | Promise<void>;
}

/** A backend that does what a test says, and notes what was freed in which order. */
export class ScriptedBackend implements Backend {
  /** `instance`, `model`, `backend`: what was disposed, in order. */
  readonly disposed: string[] = [];
  /** `sharedHandle` of each opening. */
  readonly openedWith: (number | undefined)[] = [];
  readonly #script: BackendScript;

  constructor(script: BackendScript = {}) {
    this.#script = script;
  }

  async openModel(options: { readonly sharedHandle?: number | undefined }): Promise<BackendModel> {
    this.openedWith.push(options.sharedHandle);
    await this.#script.open?.();
    return {
      report: this.#script.report ?? { inputs: [], outputs: [] },
      createInstance: async (name) => this.#newInstance(name),
      [Symbol.dispose]: () => void this.disposed.push("model"),
    };
  }

  [Symbol.dispose](): void {
    this.disposed.push("backend");
  }

  #newInstance(name: string): BackendInstance {
    this.#script.createInstance?.(name);
    return {
      cancelHandle: this.#script.cancelHandle,
      execute: (batch) => (this.#script.execute ?? echo)(batch),
      [Symbol.dispose]: () => void this.disposed.push(`instance ${name}`),
    };
  }
}

/** Answers each input as the output of the same index. */
export function echo(batch: ExecutionBatch): void {
  for (const { index, datatype, shape, bytes } of batch.inputs) {
    batch.allocateOutput(index, datatype, shape, bytes.length).bytes.set(bytes);
  }
}
