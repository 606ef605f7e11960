import { CFunction } from "bun:ffi";
import { NativeBlock, pointerFrom } from "../memory.ts";
import type { OrtApi } from "./api.ts";
import { ORT_API_FUNCTIONS } from "./api-table.ts";
import type { RunOptions } from "./run-options.ts";

/** Words of a handle: what it is, the function to call, its argument. */
const WORD_COUNT = 3;
const MARK = 0x7472_6962_7465_726dn;

type SetTerminate = ReturnType<typeof CFunction>;

/** By address of the function; as many as there are libraries in the process, so one. */
const linked = new Map<number, SetTerminate>();

/**
 * Lets any thread of the process end a run, without opening the library again there: the handle is the address of a
 * note that says which function to call with what.
 */
export class TerminateHandle implements Disposable {
  readonly #note: NativeBlock;

  /** @param options of the runs; must outlive this. */
  constructor(api: OrtApi, options: RunOptions) {
    this.#note = NativeBlock.allocate(WORD_COUNT);
    this.#note.words[0] = MARK;
    this.#note.words[1] = BigInt(api.addressOfFunction("RunOptionsSetTerminate"));
    this.#note.words[2] = BigInt(options.pointer);
  }

  /** For {@link terminateRun}; no longer valid after dispose. */
  get address(): number {
    return this.#note.address;
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    this.#note.free();
  }
}

/**
 * Ends a run that is on in another thread of this process: it fails with onnxruntime's code 1 as soon as the node that
 * runs just now is done. Does nothing when no run is on.
 *
 * @param handle `TerminateHandle.address` of an instance that still exists.
 */
export function terminateRun(handle: number): void {
  const note = NativeBlock.attach(handle, WORD_COUNT);
  try {
    if (note.words[0] !== MARK) throw new Error(`${handle} is no handle of a run`);
    const address = Number(note.words[1]);
    let setTerminate = linked.get(address);
    if (setTerminate === undefined) {
      const { args, returns } = ORT_API_FUNCTIONS.RunOptionsSetTerminate;
      setTerminate = CFunction({ ptr: pointerFrom(address), args: [...args], returns });
      linked.set(address, setTerminate);
    }
    // It only sets a flag; its status is always success.
    setTerminate(pointerFrom(Number(note.words[2])));
  } finally {
    note.detach();
  }
}
