import { describe, expect, test } from "bun:test";
import { OptionError } from "../../src/options/option.ts";
import type { ServerOptions } from "../../src/options/server-options.ts";
import { parseCommandLine } from "../../src/options.ts";

type Environment = Parameters<typeof parseCommandLine>[1];

function serve(...flags: string[]): ServerOptions {
  return served(flags).options;
}

function served(flags: readonly string[], environment: Environment = {}) {
  const command = parseCommandLine(["serve", "--model-repository=/models", ...flags], environment);
  if (command.kind !== "serve") throw new Error(`got ${command.kind}`);
  return command;
}

function refusal(...argv: string[]): string {
  try {
    parseCommandLine(argv, {});
  } catch (error) {
    if (error instanceof OptionError) return error.message;
    throw error;
  }
  return "";
}

describe("commands", () => {
  test("the program alone, and help, print the short help", () => {
    expect(parseCommandLine([], {})).toEqual({ kind: "help", isFull: false });
    expect(parseCommandLine(["help"], {})).toEqual({ kind: "help", isFull: false });
    expect(parseCommandLine(["--help"], {})).toEqual({ kind: "help", isFull: false });
  });

  test("help serve and serve --help print all flags", () => {
    expect(parseCommandLine(["help", "serve"], {})).toEqual({ kind: "help", isFull: true });
    expect(parseCommandLine(["serve", "--help"], {})).toEqual({ kind: "help", isFull: true });
    expect(parseCommandLine(["serve", "-h"], {})).toEqual({ kind: "help", isFull: true });
  });

  test("the version has three spellings", () => {
    for (const word of ["version", "--version", "-v"]) {
      expect(parseCommandLine([word], {})).toEqual({ kind: "version" });
    }
  });

  test("a line that begins with a flag is meant for serve", () => {
    expect(parseCommandLine(["--model-repository=/m"], {}).kind).toBe("serve");
  });

  test("an unknown command names the near one", () => {
    expect(refusal("srve")).toBe(
      "unknown command 'srve'; did you mean 'serve'? (commands are serve and help)",
    );
  });

  test("folders without a flag are repositories", () => {
    const command = parseCommandLine(["serve", "/a", "--http-port=1", "/b"], {});
    if (command.kind !== "serve") throw new Error("no serve");
    expect(command.options.repository.paths).toEqual(["/a", "/b"]);
  });

  test("serve without a repository is refused with Triton's words", () => {
    expect(refusal("serve")).toBe("--model-repository must be specified");
    expect(refusal("serve", "--model-repository=")).toContain("must not be empty");
  });
});

describe("defaults", () => {
  test("the three services listen where Triton's do", () => {
    const { http, grpc, metrics } = serve();
    expect([http, grpc, metrics].map((s) => [s.address, s.port, s.isAllowed])).toEqual([
      ["0.0.0.0", 8000, true],
      ["0.0.0.0", 8001, true],
      ["0.0.0.0", 8002, true],
    ]);
  });

  test("nothing is warned about", () => {
    expect(served([]).warnings).toEqual([]);
  });

  test("client shared memory is closed and configurations are completed", () => {
    expect(serve().allowClientSharedMemory).toBe(false);
    expect(serve().repository).toMatchObject({
      exitOnError: true,
      strictReadiness: true,
      autoCompleteConfig: true,
      controlMode: "none",
    });
  });
});

describe("flags against each other", () => {
  test("the metrics port takes the HTTP address unless it has its own", () => {
    expect(serve("--http-address=127.0.0.1").metrics.address).toBe("127.0.0.1");
    expect(serve("--http-address=127.0.0.1", "--metrics-address=::1").metrics.address).toBe("::1");
  });

  test("two services on one port are refused with Triton's words", () => {
    expect(refusal("serve", "/m", "--http-port=8001")).toBe(
      "The server cannot listen to HTTP requests and GRPC requests at the same address and port 0.0.0.0:8001",
    );
    expect(refusal("serve", "/m", "--metrics-port=8001")).toContain(
      "GRPC requests and metrics requests",
    );
  });

  test("a service that is off, another address or port 0 collide with nothing", () => {
    expect(refusal("serve", "/m", "--http-port=8001", "--allow-grpc=false")).toBe("");
    expect(refusal("serve", "/m", "--grpc-port=8000", "--grpc-address=127.0.0.1")).toBe("");
    expect(refusal("serve", "/m", "--http-port=0", "--grpc-port=0", "--metrics-port=0")).toBe("");
  });

  test("the safe range of SageMaker binds every service", () => {
    const flags = ["--allow-sagemaker=true", "--sagemaker-safe-port-range=8000-8050"];
    expect(refusal("serve", "/m", ...flags, "--grpc-port=9000", "--sagemaker-port=8040")).toBe(
      "The server cannot listen to GRPC requests at port 9000, allowed port range is [8000, 8050]",
    );
  });

  test("--load-model needs mode explicit, and * stands alone", () => {
    expect(refusal("serve", "/m", "--load-model=a")).toContain(
      "Use of '--load-model' requires setting '--model-control-mode=explicit' as well",
    );
    const explicit = ["serve", "/m", "--model-control-mode=explicit"];
    expect(refusal(...explicit, "--load-model=*", "--load-model=a")).toBe(
      "Wildcard model name '*' must be the ONLY startup model if specified at all.",
    );
    expect(refusal(...explicit, "--load-model=*")).toBe("");
  });

  test("the old flag for strict configurations gives way to the new one", () => {
    expect(serve("--strict-model-config=true").repository.autoCompleteConfig).toBe(false);
    expect(serve("--strict-model-config=false").repository.autoCompleteConfig).toBe(true);
    const both = served(["--strict-model-config=false", "--disable-auto-complete-config"]);
    expect(both.options.repository.autoCompleteConfig).toBe(false);
    expect(both.warnings.join("\n")).toContain("Overriding deprecated '--strict-model-config'");
  });

  test("TLS needs its files", () => {
    expect(serve().grpc.tls).toBeUndefined();
    expect(refusal("serve", "/m", "--grpc-use-ssl=true")).toContain("--grpc-server-cert");
    const files = ["--grpc-server-cert=c", "--grpc-server-key=k"];
    expect(serve("--grpc-use-ssl=true", ...files).grpc.tls).toMatchObject({ isMutual: false });
    const mutual = ["--grpc-use-ssl-mutual=true", ...files];
    expect(refusal("serve", "/m", ...mutual)).toContain("--grpc-root-cert");
    expect(serve(...mutual, "--grpc-root-cert=r").grpc.tls).toMatchObject({ isMutual: true });
  });

  test("the two ways to size the response cache exclude each other", () => {
    expect(serve("--response-cache-byte-size=1000").resources.cacheSettings).toEqual([
      { owner: "local", key: "size", value: "1000" },
    ]);
    expect(
      refusal("serve", "/m", "--response-cache-byte-size=1000", "--cache-config=local,size=2"),
    ).toContain("Incompatible flags");
  });

  test("settings of backends are kept by backend, the last of a key counts", () => {
    const { backendConfig } = serve(
      "--backend-config=default-max-batch-size=4",
      "--backend-config=onnxruntime,threads=1",
      "--backend-config=onnxruntime,threads=2",
    );
    expect([...backendConfig]).toEqual([
      ["", { "default-max-batch-size": "4" }],
      ["onnxruntime", { threads: "2" }],
    ]);
  });

  test("old trace flags are trace settings", () => {
    const { trace } = serve("--trace-file=/t", "--trace-rate=7", "--trace-level=TIMESTAMPS");
    expect(trace).toMatchObject({ file: "/t", rate: 7, levels: ["TIMESTAMPS"], mode: "triton" });
  });
});

describe("warnings", () => {
  test("a flag that has no effect says why, once", () => {
    expect(served(["--rate-limit=off", "--rate-limit=off"]).warnings).toEqual([
      "--rate-limit has no effect: instances run as soon as they are free",
    ]);
  });

  test("a deprecated flag names what replaces it", () => {
    expect(served(["--strict-model-config=true"]).warnings).toEqual([
      "'--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.",
    ]);
  });

  test("Vertex AI's environment is noticed and closes nothing", () => {
    const { options, warnings } = served([], { AIP_MODE: "PREDICTION" });
    expect(options.http.isAllowed && options.grpc.isAllowed).toBe(true);
    expect(warnings.join()).toContain("AIP_MODE=PREDICTION");
  });

  test("escaping of the log is switched off by Triton's variable only when it is 0", () => {
    const escapes = (value: string) =>
      served([], { TRITON_SERVER_ESCAPE_LOG_MESSAGES: value }).options.log.escapeMessages;
    expect([escapes("0"), escapes("1"), escapes("")]).toEqual([false, true, true]);
  });
});
