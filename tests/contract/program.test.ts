import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { RunningProgram } from "../support/running-program.ts";
import { TemporaryFolder } from "../support/temporary-folder.ts";

// Each test starts a process, on a machine that may be busy.
setDefaultTimeout(60_000);

const FREE_PORTS = [
  "--http-address=127.0.0.1",
  "--http-port=0",
  "--grpc-address=127.0.0.1",
  "--grpc-port=0",
  "--metrics-port=0",
];
const READY = /ready: HTTP (127\.0\.0\.1:\d+), gRPC (127\.0\.0\.1:\d+), metrics (127\.0\.0\.1:\d+)/;

/** A repository with one model that gives back its input after a while. */
function identityRepository(delayMs = 0): TemporaryFolder {
  const folder = new TemporaryFolder();
  folder.directory("same/1");
  folder.file(
    "same/config.pbtxt",
    `backend: "identity"
     max_batch_size: 0
     input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
     output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
     parameters { key: "execute_delay_ms" value { string_value: "${delayMs}" } }`,
  );
  return folder;
}

async function serve(repository: TemporaryFolder, ...flags: string[]) {
  const program = new RunningProgram(["serve", repository.path, ...FREE_PORTS, ...flags]);
  const [, http = "", grpc = "", metrics = ""] = await program.waitFor(READY);
  return { program, http, grpc, metrics };
}

function infer(http: string, value: number): Promise<Response> {
  return fetch(`http://${http}/v2/models/same/infer`, {
    method: "POST",
    body: JSON.stringify({
      inputs: [{ name: "INPUT0", datatype: "FP32", shape: [1], data: [value] }],
    }),
  });
}

async function endOf(...argv: string[]) {
  await using program = new RunningProgram(argv);
  return await program.end();
}

describe("without serving", () => {
  test("alone it prints a short help, and its version when asked", async () => {
    const help = await endOf();
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toContain("tribune serve FOLDER");
    expect(await endOf("--version")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^tribune \d+\.\d+\.\d+\n$/),
    });
    expect((await endOf("help", "serve")).stdout).toContain("--model-repository <path>");
  });

  test("a wrong flag is one line on standard error with the near one, and status 1", async () => {
    expect(await endOf("serve", "--htp-port=1")).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("did you mean '--http-port'?"),
    });
  });

  test("a log file that cannot be opened is named, with status 1", async () => {
    expect(await endOf("serve", "/none", "--log-file=/none/server.log")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--log-file '/none/server.log' cannot be opened"),
    });
  });
});

describe("start", () => {
  test("the ready line has three addresses, and each answers", async () => {
    using repository = identityRepository();
    const { program, http, metrics } = await serve(repository);
    await using _ = program;
    expect(program.stdout).toContain("Started HTTPService at 127.0.0.1:");
    expect(program.stdout).toContain("Started GRPCInferenceService at 127.0.0.1:");
    expect(program.stdout).toContain("Started Metrics Service at 127.0.0.1:");
    expect(program.stdout).toContain("| same  | 1       | READY  |");
    const answer = await infer(http, 3);
    expect(await answer.json()).toMatchObject({ outputs: [{ name: "OUTPUT0", data: [3] }] });
    const page = await (await fetch(`http://${metrics}/metrics`)).text();
    expect(page).toContain('nv_inference_request_success{model="same",version="1"} 1');
  });

  test("a repository that is not there ends it with status 1 and names the folder", async () => {
    const end = await endOf("serve", "/no/such/folder", ...FREE_PORTS);
    expect(end.status).toBe(1);
    expect(end.stderr).toContain("/no/such/folder");
  });

  test("a model that does not load ends it with status 1, unless it is told to go on", async () => {
    using repository = identityRepository();
    repository.directory("bad/1");
    repository.file("bad/config.pbtxt", 'backend: "nothing"');
    const end = await endOf("serve", repository.path, ...FREE_PORTS);
    expect(end.status).toBe(1);
    expect(end.stderr).toContain("failed to load all models");
    expect(end.stderr).toContain("failed to load 'bad' version 1: ");

    const { program, http } = await serve(repository, "--exit-on-error=false");
    await using _ = program;
    expect((await infer(http, 1)).ok).toBe(true);
    expect((await fetch(`http://${http}/v2/health/ready`)).ok).toBe(false);
    expect((await fetch(`http://${http}/v2/health/live`)).ok).toBe(true);
  });

  test.each([
    ["http", ["--grpc-port=0", "--metrics-port=0"]],
    ["grpc", ["--http-port=0", "--metrics-port=0"]],
    ["metrics", ["--http-port=0", "--grpc-port=0"]],
  ])(
    "a %s port that is taken is an error with Triton's words and status 1",
    async (name, others) => {
      using repository = identityRepository();
      using taken = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: { data: () => undefined },
      });
      const end = await endOf(
        "serve",
        repository.path,
        `--${name}-address=127.0.0.1`,
        `--${name}-port=${taken.port}`,
        ...others,
      );
      expect(end.status).toBe(1);
      expect(end.stderr).toContain(`Socket '127.0.0.1:${taken.port}' already in use`);
    },
  );

  test("a flag without effect is one warning at start", async () => {
    using repository = identityRepository();
    const { program } = await serve(repository, "--rate-limit=execution_count");
    await using _ = program;
    expect(program.stderr.split("\n").filter((line) => line.includes("--rate-limit"))).toHaveLength(
      1,
    );
  });
});

describe("end", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s ends an idle server with status 0",
    async (signal) => {
      using repository = identityRepository();
      const { program } = await serve(repository);
      await using _ = program;
      program.kill(signal);
      const end = await program.end();
      expect(end.status).toBe(0);
      expect(end.stdout).toContain("Timeout 30: Found 1 live models and 0 in-flight");
      expect(end.stderr).toBe("");
    },
  );

  test("requests under way and waiting are answered, new ones are refused as unavailable", async () => {
    using repository = identityRepository(400);
    const { program, http } = await serve(repository);
    await using _ = program;
    const answers = [infer(http, 1), infer(http, 2)];
    await Bun.sleep(150);
    program.kill("SIGTERM");
    await program.waitFor(/draining/);
    const late = await infer(http, 3);
    expect(late.status).toBe(503);
    expect((await fetch(`http://${http}/v2/health/ready`)).ok).toBe(false);
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    expect((await program.end()).status).toBe(0);
  });

  test("the exit timeout bounds the wait, and what was lost is status 1", async () => {
    using repository = identityRepository(8000);
    const { program, http } = await serve(repository, "--exit-timeout-secs=1");
    await using _ = program;
    const lost = infer(http, 1).then(
      () => "answered",
      () => "lost",
    );
    await Bun.sleep(150);
    const beginMs = Date.now();
    program.kill("SIGTERM");
    const end = await program.end();
    expect(Date.now() - beginMs).toBeLessThan(4000);
    expect(end.status).toBe(1);
    expect(end.stderr).toContain("Exit timeout expired");
    expect(await lost).toBe("lost");
  });

  test("a second signal exits at once", async () => {
    using repository = identityRepository(8000);
    const { program, http } = await serve(repository);
    await using _ = program;
    infer(http, 1).catch(() => undefined);
    await Bun.sleep(150);
    program.kill("SIGTERM");
    await program.waitFor(/draining/);
    program.kill("SIGINT");
    expect((await program.end()).status).toBe(130);
  });
});

describe("log", () => {
  test("JSON lines hold what the text lines hold", async () => {
    using repository = identityRepository();
    const { program } = await serve(repository, "--log-format=json");
    await using _ = program;
    const records = program.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.at(-1).message).toStartWith("ready: HTTP");
    expect(records.find((record) => record.table)?.table).toEqual([
      { model: "same", version: "1", status: "READY" },
    ]);
  });

  test("a log file gets everything, and the console nothing", async () => {
    using repository = identityRepository();
    using folder = new TemporaryFolder();
    const path = `${folder.path}/server.log`;
    await using program = new RunningProgram([
      "serve",
      repository.path,
      ...FREE_PORTS,
      `--log-file=${path}`,
    ]);
    while (!(await Bun.file(path).exists()) || !(await Bun.file(path).text()).includes("ready: ")) {
      await Bun.sleep(10);
    }
    program.kill("SIGTERM");
    const end = await program.end();
    expect([end.stdout, end.stderr]).toEqual(["", ""]);
    expect(await Bun.file(path).text()).toContain("the server has stopped");
  });
});
