import { InferenceError } from "../../base/error.ts";
import { type RestrictedApis, RPC_APIS } from "../rpc-apis.ts";

/**
 * Lets a call pass or refuses it.
 *
 * @param metadataOf looks a metadata key up; null or undefined = the call does not have it.
 * @throws InferenceError UNAVAILABLE, which is Triton's status for it, naming the key.
 */
export function checkAccess(
  restricted: RestrictedApis,
  rpcName: string,
  metadataOf: (key: string) => string | null | undefined,
): void {
  if (restricted.size === 0) return;
  const api = RPC_APIS[rpcName];
  const needed = api && restricted.get(api);
  if (!needed || metadataOf(needed.key) === needed.value) return;
  throw new InferenceError(
    "UNAVAILABLE",
    `This protocol is restricted, expecting header '${needed.key}'`,
  );
}
