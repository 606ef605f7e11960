import { describe, expect, test } from "bun:test";
import { parseSetting } from "../../../src/options/setting.ts";
import { traceConfigFrom } from "../../../src/options/trace-config.ts";

type TraceEnvironment = Parameters<typeof traceConfigFrom>[1];

function config(texts: readonly string[], environment: TraceEnvironment = {}) {
  const warnings: string[] = [];
  const settings = texts.map((text) => parseSetting(text, "trace-config"));
  return { ...traceConfigFrom(settings, environment, warnings), warnings };
}

test("tracing is off by default", () => {
  expect(config([])).toMatchObject({
    mode: "triton",
    levels: [],
    rate: 1000,
    count: -1,
    file: "",
    logFrequency: 0,
    warnings: [],
  });
});

describe("levels", () => {
  test("several add up", () => {
    expect(config(["level=TIMESTAMPS", "level=TENSORS"]).levels).toEqual(["TIMESTAMPS", "TENSORS"]);
  });

  test("OFF stands alone", () => {
    expect(config(["level=OFF"]).levels).toEqual([]);
    expect(() => config(["level=OFF", "level=TENSORS"])).toThrow("OFF can not be combined");
  });

  test("another word is refused", () => {
    expect(() => config(["level=ALL"])).toThrow("invalid value 'ALL'");
  });
});

test("settings of the modes", () => {
  const { opentelemetry, file, logFrequency, mode } = config([
    "mode=opentelemetry",
    "triton,file=/t",
    "triton,log-frequency=5",
    "opentelemetry,url=http://x/v1",
    "opentelemetry,resource=a=b",
  ]);
  expect({ file, logFrequency, mode }).toEqual({
    file: "/t",
    logFrequency: 5,
    mode: "opentelemetry",
  });
  expect(opentelemetry.url).toBe("http://x/v1");
  expect(opentelemetry.resource).toEqual({ "service.name": "triton-inference-server", a: "b" });
});

test("the environment is the default of the span processor, a flag wins over it", () => {
  const environment = { OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_SCHEDULE_DELAY: "20" };
  const { opentelemetry } = config(["opentelemetry,bsp_schedule_delay=30"], environment);
  expect(opentelemetry).toMatchObject({ bspMaxQueueSize: 10, bspScheduleDelayMs: 30 });
  expect(() => config([], { OTEL_BSP_MAX_QUEUE_SIZE: "many" })).toThrow("OTEL_BSP_MAX_QUEUE_SIZE");
});

test("numbers have their limits", () => {
  expect(() => config(["count=-2"])).toThrow("range -1 to");
  expect(() => config(["rate=x"])).toThrow("Got x");
});

test("an unknown mode is refused and an unknown setting skipped", () => {
  expect(() => config(["mode=print"])).toThrow("invalid value 'print'");
  expect(() => config(["zipkin,url=x"])).toThrow("invalid value 'zipkin'");
  expect(config(["colour=red"]).warnings[0]).toContain("colour is not a known setting");
});
