/**
 * Part of the first composition root: where instances may live, and what memory goes there. Kept beside
 * `instance-host.ts` because Workers name that file relative to this one, in the compiled executable as from source.
 */

import { extractFiles } from "#ffi/embedded-files.ts";
import { processSurroundings } from "#ffi/embedded-library.ts";
import { terminateRun } from "#ffi/onnxruntime/terminate-run.ts";
import { setTimerSlack } from "#ffi/process-control.ts";
import { SharedSlabs } from "#ffi/shared-memory.ts";
import { NativeSlabs } from "#ffi/slab.ts";
import { interpreterOf } from "./backends/python/interpreter.ts";
import { STUB_FILES } from "./backends/python/stub-files.ts";
import type { Clock } from "./base/clock.ts";
import type { Logger } from "./base/log.ts";
import type { BackendCancel } from "./core/backend/backend-instance.ts";
import type { InstanceHosts } from "./core/instance/instance-hosts.ts";
import { LocalInstanceHosts } from "./core/instance/local-instance-hosts.ts";
import { ProcessHome } from "./core/instance/process-home.ts";
import { PythonHosts } from "./core/instance/python/python-hosts.ts";
import type { ServerCalls } from "./core/instance/python/server-calls.ts";
import { ThreadHome } from "./core/instance/thread-home.ts";
import { INSTANCE_HOST_ARGUMENT } from "./instance-host-argument.ts";

/** Precise enough for queue delays of tens of microseconds; the kernel's default is 50 µs. */
const TIMER_SLACK_NS = 1000;

/** How to stop a running batch from the main thread, by backend name. */
const CANCELS: Readonly<Record<string, BackendCancel>> = { onnxruntime: terminateRun };

/** What {@link createInstanceHosts} is made of. */
export interface InstanceHostsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Without it there are no Python models. */
  readonly python?: {
    /** False under `--disable-auto-complete-config`. */
    readonly isAutoCompleteOn: boolean;
    /** What models may ask of the server. */
    readonly calls: ServerCalls;
  };
}

/** The instance hosts of this machine. Call once, on the main thread, before any Worker is started. */
export function createInstanceHosts(options: InstanceHostsOptions): InstanceHosts {
  // Threads made later inherit it.
  setTimerSlack(TIMER_SLACK_NS);
  const entry = new URL("./instance-host.ts", import.meta.url);
  const shared = new SharedSlabs();
  const local = new LocalInstanceHosts({
    clock: options.clock,
    logger: options.logger,
    cancels: CANCELS,
    homes: {
      thread: new ThreadHome(new NativeSlabs(), entry.href),
      process: new ProcessHome(shared, childCommand(entry)),
    },
  });
  if (options.python === undefined) return local;
  const python = new PythonHosts({
    ...options.python,
    clock: options.clock,
    logger: options.logger,
    slabs: shared,
    stubDirectory: async () => extractFiles("python-stub", STUB_FILES, processSurroundings()),
    interpreterOf: async (model) => interpreterOf(model),
  });
  return {
    open: (backend, model, home) =>
      backend === "python" ? python.open(backend, model) : local.open(backend, model, home),
    dispose: async () => {
      await Promise.all([local.dispose(), python.dispose()]);
    },
  };
}

/** From source Bun runs the host's module; the compiled executable starts itself and looks at its argument. */
function childCommand(entry: URL): readonly string[] {
  const isCompiled = entry.pathname.includes("/$bunfs/");
  return [process.execPath, isCompiled ? INSTANCE_HOST_ARGUMENT : Bun.fileURLToPath(entry)];
}
