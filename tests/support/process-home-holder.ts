/** A server's stand-in: opens a model in a child process, runs a batch, says `ready`, and waits to be killed. */
import { SystemClock } from "../../src/base/system-clock.ts";
import { createInstanceHosts } from "../../src/instance-homes.ts";
import { identityConfig, NO_ANSWERS, openOptions } from "./identity-model.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { sampleSignature } from "./sample-config.ts";
import { batchOf, fp32Input, validatedRequest } from "./validated-request.ts";

const config = identityConfig({
  tensors: [{ datatype: "FP32", dims: [1] }],
  maxBatchSize: 1,
  parameters: { execute_delay_ms: "20" },
});
const hosts = createInstanceHosts({ clock: new SystemClock(), logger: new RecordingLogger() });
const opened = await hosts.open("identity", openOptions(config), "process");
const pool = await opened.createPool(config, sampleSignature(config));
const instance = pool.acquire();
const batch = batchOf(validatedRequest(config, [fp32Input("INPUT0", [1, 1], [1])]));
const next = () => instance?.execute(batch, next, NO_ANSWERS);
instance?.execute(
  batch,
  () => {
    process.stdout.write("ready\n");
    next();
  },
  NO_ANSWERS,
);
