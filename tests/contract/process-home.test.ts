import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { instanceHomeContract } from "./instance-home.contract.ts";

const cycles = Number(process.env["TRIBUNE_LOAD_CYCLES"] ?? 10);
instanceHomeContract({ home: "process", loadCycleCount: cycles });

test("when the server is killed its children go too, and nothing stays in /dev/shm", async () => {
  const namesBefore = readdirSync("/dev/shm");
  const script = join(import.meta.dir, "../support/process-home-holder.ts");
  const server = Bun.spawn([process.execPath, script], { stdout: "pipe" });
  const { value } = await server.stdout.getReader().read();
  expect(Buffer.from(value ?? []).toString()).toBe("ready\n");
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8");
  const childPid = Number(children.trim());
  expect(childPid).toBeGreaterThan(0);
  server.kill("SIGKILL");
  await server.exited;
  const deadlineMs = Date.now() + 2000;
  while (isRunning(childPid) && Date.now() < deadlineMs) await Bun.sleep(5);
  expect(isRunning(childPid)).toBe(false);
  expect(readdirSync("/dev/shm")).toEqual(namesBefore);
});

/** Whether a process is there; one that nobody waits for any more counts as gone. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !readFileSync(path, "utf8").includes(") Z ");
}
