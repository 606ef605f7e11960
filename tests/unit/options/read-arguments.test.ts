import { describe, expect, test } from "bun:test";
import { OptionError } from "../../../src/options/option.ts";
import { readArguments } from "../../../src/options/read-arguments.ts";

function refusal(...argv: string[]): string {
  try {
    readArguments(argv);
  } catch (error) {
    if (error instanceof OptionError) return error.message;
    throw error;
  }
  return "";
}

describe("forms of a flag", () => {
  test("the value stands after an equal sign or in the next word", () => {
    expect(readArguments(["--http-port=9"]).values["http-port"]).toBe(9);
    expect(readArguments(["--http-port", "9"]).values["http-port"]).toBe(9);
  });

  test("the next word is the value even when it begins with a dash", () => {
    expect(readArguments(["--id", "--x"]).values.id).toBe("--x");
  });

  test("only the first equal sign splits", () => {
    expect(readArguments(["--id=a=b"]).values.id).toBe("a=b");
  });

  test("the last value of a single flag counts, a repeatable one keeps all", () => {
    const { values } = readArguments(["--id=a", "--id=b", "--load-model=x", "--load-model=y"]);
    expect(values.id).toBe("b");
    expect(values["load-model"]).toEqual(["x", "y"]);
  });

  test("an alias adds to the flag it stands for", () => {
    const { values, given } = readArguments(["--model-store=/a", "--model-repository=/b"]);
    expect(values["model-repository"]).toEqual(["/a", "/b"]);
    expect([...given]).toEqual(["model-repository"]);
  });

  test("two dashes end the flags, and a single dash is a word", () => {
    expect(readArguments(["a", "-", "--", "--id=x"]).positional).toEqual(["a", "-", "--id=x"]);
  });

  test("a flag without a value stands alone", () => {
    expect(readArguments(["--disable-auto-complete-config", "w"]).positional).toEqual(["w"]);
    expect(refusal("--disable-auto-complete-config=true")).toBe(
      "option '--disable-auto-complete-config' doesn't allow an argument",
    );
  });

  test("a missing value is refused with what is needed", () => {
    expect(refusal("--http-port")).toBe("option '--http-port' requires an argument: <integer>");
  });
});

describe("names", () => {
  test("a beginning that only one flag has is enough", () => {
    expect(readArguments(["--cache-dir=/c"]).values["cache-directory"]).toBe("/c");
  });

  test("a full name wins over longer ones with the same beginning", () => {
    expect(readArguments(["--grpc-use-ssl=1"]).values["grpc-use-ssl"]).toBe(true);
    expect(readArguments(["--rate-limit=off"]).values["rate-limit"]).toBe("off");
  });

  test("a beginning of several flags is ambiguous and lists them", () => {
    expect(refusal("--log-w=1")).toBe("");
    expect(refusal("--allow-g=1")).toBe(
      "option '--allow-g' is ambiguous; possibilities: '--allow-grpc' '--allow-gpu-metrics'",
    );
  });

  test("a wrong flag suggests the near one", () => {
    expect(refusal("--htp-port=1")).toBe(
      "unrecognized option '--htp-port'; did you mean '--http-port'?",
    );
    expect(refusal("--model_repository=/m")).toContain("did you mean '--model-repository'?");
    expect(refusal("--no-such-flag")).toBe("unrecognized option '--no-such-flag'");
    expect(refusal("-p")).toContain("flags begin with two dashes");
  });
});

describe("values", () => {
  test("booleans are Triton's words in any case", () => {
    for (const word of ["true", "ON", "1"]) {
      expect(readArguments([`--allow-http=${word}`]).values["allow-http"]).toBe(true);
    }
    for (const word of ["False", "off", "0"]) {
      expect(readArguments([`--allow-http=${word}`]).values["allow-http"]).toBe(false);
    }
    expect(refusal("--allow-http=maybe")).toBe(
      "invalid value for bool option: maybe (--allow-http may be true, on, 1, false, off or 0)",
    );
    expect(refusal("--allow-http=")).toContain("invalid value for bool option: ");
  });

  test.each(["x", "", "1x", "1.5", "1e3", "99999999999999999999"])("%j is no number", (value) => {
    expect(refusal(`--http-port=${value}`)).toContain(`Invalid option value. Got ${value}`);
  });

  test("numbers outside of their range are refused with the range", () => {
    expect(refusal("--http-port=65536")).toContain("Must be in the range 0 to 65535.");
    expect(refusal("--grpc-infer-thread-count=1")).toContain("Must be in the range 2 to 128.");
    expect(refusal("--http-max-input-size=0")).toContain("Must be in the range 1 to ");
    expect(refusal("--exit-timeout-secs=-1")).toContain("Must be in the range 0 to ");
  });

  test("words outside of a choice are refused with the choice", () => {
    expect(refusal("--model-control-mode=sometimes")).toBe(
      "invalid argument for --model-control-mode, got: sometimes (allowed are none, poll, explicit)",
    );
  });

  test("a pattern that is no regular expression is refused", () => {
    expect(refusal("--http-header-forward-pattern=(")).toContain("got: (");
  });

  test("a configuration name has no spaces", () => {
    expect(refusal("--model-config-name=a b")).toContain("without spaces");
    expect(refusal("--model-config-name=")).toContain("without spaces");
  });
});
