import type { OpenModelOptions } from "../backend/backend.ts";
import type { BackendCancel } from "../backend/backend-instance.ts";
import type { HostHome } from "./host-link.ts";
import type { InstanceHome, InstanceHosts, OpenedModel } from "./instance-hosts.ts";
import { type HostSurroundings, OpenedHost, openHost } from "./opened-host.ts";

/** What {@link LocalInstanceHosts} is made of; handed in by the composition root. */
export interface LocalInstanceHostsOptions extends HostSurroundings {
  readonly homes: Readonly<Record<InstanceHome, HostHome>>;
  /** How to stop a running batch from the main thread, by backend name. */
  readonly cancels: Readonly<Record<string, BackendCancel>>;
}

/** Hosts on this machine: Workers and child processes. */
export class LocalInstanceHosts implements InstanceHosts {
  readonly #options: LocalInstanceHostsOptions;
  /** Opened and not yet handed over to a pool. */
  readonly #opened = new Set<OpenedModel>();

  constructor(options: LocalInstanceHostsOptions) {
    this.#options = options;
  }

  async open(backend: string, options: OpenModelOptions, home: InstanceHome): Promise<OpenedModel> {
    const { homes, cancels, logger } = this.#options;
    const recipe = { backend, options, home: homes[home], cancel: cancels[backend] };
    const host = await openHost(recipe, options, logger);
    const opened = new OpenedHost(recipe, this.#options, host, (one) => this.#opened.delete(one));
    this.#opened.add(opened);
    return opened;
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#opened].map((one) => one.dispose()));
  }
}
