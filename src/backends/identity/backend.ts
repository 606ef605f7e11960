import type { Backend, BackendFactory, OpenModelOptions } from "../../core/backend/backend.ts";
import type { BackendModel } from "../../core/backend/backend-model.ts";
import { IdentityModel } from "./model.ts";
import { identitySettingsFrom } from "./settings.ts";

/** Answers each input as the output of the same number. For tests of everything around a backend. */
class IdentityBackend implements Backend {
  async openModel(options: OpenModelOptions): Promise<BackendModel> {
    const settings = identitySettingsFrom(options.config);
    await Bun.sleep(settings.creationDelaySeconds * 1000);
    return new IdentityModel(settings);
  }

  [Symbol.dispose](): void {
    return;
  }
}

/** The catalog's entry. */
export const IDENTITY_BACKEND: BackendFactory = {
  name: "identity",
  create: async () => new IdentityBackend(),
};
