import { describe, expect, test } from "bun:test";
import {
  globalThreadPoolsFrom,
  sessionSettingsFrom,
} from "../../../../src/backends/onnxruntime/session-settings.ts";
import { configMessage, parameters } from "../../../support/onnx-config.ts";

function settings(values: Readonly<Record<string, string>>, backendConfig = {}) {
  return sessionSettingsFrom(configMessage(parameters(values)), backendConfig);
}

test("a configuration without settings gets Triton's defaults", () => {
  expect(sessionSettingsFrom(configMessage(), {})).toEqual({
    graphOptimizationLevel: "all",
    isParallel: false,
    intraOpThreadCount: 0,
    interOpThreadCount: 0,
    hasMemoryArena: true,
    hasMemoryPattern: true,
    sessionEntries: new Map(),
    runEntries: new Map(),
  });
});

describe("optimization.graph.level", () => {
  test.each([
    [-1, "basic"],
    [0, "all"],
    [1, "extended"],
    [2, "none"],
  ])("%d is %s", (level, name) => {
    const config = configMessage({ optimization: { graph: { level } } });
    expect(sessionSettingsFrom(config, {}).graphOptimizationLevel).toBe(name as "all");
  });

  test("anything else is refused with what may be given", () => {
    const config = configMessage({ optimization: { graph: { level: 3 } } });
    expect(() => sessionSettingsFrom(config, {})).toThrow(
      "optimization.graph.level of model 'm' must be -1 (basic), 0 (all), 1 (extended) or 2 (none), got 3",
    );
  });
});

test("each parameter has its effect", () => {
  const got = settings({
    execution_mode: "1",
    intra_op_thread_count: "3",
    inter_op_thread_count: " 2",
    enable_mem_arena: "0",
    enable_mem_pattern: "0",
  });
  expect(got).toMatchObject({
    isParallel: true,
    intraOpThreadCount: 3,
    interOpThreadCount: 2,
    hasMemoryArena: false,
    hasMemoryPattern: false,
  });
});

test("thread counts of the backend stand for models that give none", () => {
  const backendConfig = { intra_op_thread_count: "4", inter_op_thread_count: "5" };
  expect(settings({ intra_op_thread_count: "1" }, backendConfig)).toMatchObject({
    intraOpThreadCount: 1,
    interOpThreadCount: 5,
  });
});

test("entries for onnxruntime go there as they are, all other parameters do not", () => {
  const got = settings({
    "session.intra_op.allow_spinning": "0",
    "ep.context_enable": "1",
    "optimization.enable_gelu_approximation": "1",
    "memory.enable_memory_arena_shrinkage": "cpu:0",
    mine: "x",
  });
  expect([...got.sessionEntries.keys()].sort()).toEqual([
    "ep.context_enable",
    "optimization.enable_gelu_approximation",
    "session.intra_op.allow_spinning",
  ]);
  expect([...got.runEntries]).toEqual([["memory.enable_memory_arena_shrinkage", "cpu:0"]]);
});

test.each([
  ["intra_op_thread_count", "many", "from 0 to 1024"],
  ["intra_op_thread_count", "-1", "from 0 to 1024"],
  ["inter_op_thread_count", "1025", "from 0 to 1024"],
  ["execution_mode", "2", "from 0 to 1"],
  ["enable_mem_arena", "true", "from 0 to 1"],
  ["enable_mem_pattern", "", "from 0 to 1"],
])("%s = '%s' is refused", (key, value, range) => {
  expect(() => settings({ [key]: value })).toThrow(
    `parameter '${key}' of model 'm' must be a whole number ${range}, got '${value}'`,
  );
});

describe("global thread pools", () => {
  test("are off unless asked for", () => {
    expect(globalThreadPoolsFrom({ intra_op_thread_count: "2" })).toBeUndefined();
    expect(globalThreadPoolsFrom({ "enable-global-threadpool": "0" })).toBeUndefined();
  });

  test("take the thread counts of the backend", () => {
    const backendConfig = { "enable-global-threadpool": "1", intra_op_thread_count: "2" };
    expect(globalThreadPoolsFrom(backendConfig)).toMatchObject({
      intraOpThreadCount: 2,
      interOpThreadCount: 0,
    });
  });

  test("a setting that is no number names its flag", () => {
    expect(() => globalThreadPoolsFrom({ "enable-global-threadpool": "yes" })).toThrow(
      "--backend-config onnxruntime,enable-global-threadpool must be a whole number from 0 to 1, got 'yes'",
    );
  });
});
