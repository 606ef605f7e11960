import { describe, expect, test } from "bun:test";
import { importsOf } from "../support/imports.ts";
import { sourceFiles } from "../support/source-files.ts";

/** Folders of core from the left to the right: each may import itself and what stands left of it. */
const CORE_ORDER = [
  "tensor",
  "config",
  "request",
  "memory",
  "cache",
  "statistics",
  "repository",
  "backend",
  "instance",
  "scheduler",
  "model",
];

/**
 * Who may import whom (ARCHITECTURE.md has the same table in words). `<own>` is the folder of the importing file;
 * packages stand as they are written in the import.
 */
const ALLOWED: readonly (readonly [zone: RegExp, allowed: readonly RegExp[]])[] = [
  [/^base$/, [/^base$/]],
  [/^core\/planes$/, [/^base$/, /^core\//, /^gen$/]],
  [/^core\/config$/, [/^base$/, /^gen$/, /^package:@bufbuild\/protobuf/, /^package:node:/]],
  [/^core\//, [/^base$/, /^package:(node:|bun$)/]],
  [/^options$/, [/^base$/, /^package:node:/]],
  [/^backends\/catalog$/, [/^base$/, /^core\/backend$/, /^backends\//]],
  [
    /^backends\//,
    [
      /^base$/,
      /^core\/(backend|tensor|config|request)$/,
      // The configuration reaches a backend in protobuf's binary form.
      /^gen$/,
      /^package:@bufbuild\/protobuf/,
      /^package:node:/,
      /^ffi\/(root|cuda)$/,
    ],
  ],
  // What both ports need stands beside their folders.
  [/^frontends\/(status|rpc-apis|request-memo|reserved-parameters)$/, [/^base$/]],
  [
    /^frontends\//,
    [
      /^base$/,
      /^core\/(planes|tensor|request)$/,
      /^frontends\/(status|rpc-apis|request-memo|reserved-parameters)$/,
      /^gen$/,
      /^package:(node:|@bufbuild\/protobuf|bun$)/,
    ],
  ],
  [/^ffi\//, [/^ffi\/root$/, /^package:(bun:ffi|node:)/]],
];

/** Packages that one folder alone may know. */
const PACKAGE_OWNERS: readonly (readonly [name: RegExp, owners: RegExp])[] = [
  [/^bun:ffi$/, /^ffi\//],
  [/^elysia/, /^frontends\/(http|metrics)$/],
  [/^@connectrpc\//, /^frontends\/grpc$/],
  [/^prom-client$/, /^frontends\/metrics$/],
];

/** What a frontend sees of the types that the planes hand out: types only. */
const TYPES_BEHIND_THE_PLANES = /^core\/(model|statistics|config|backend|repository)$/;

/** Departures from the table: importing file, imported file, and why it is right. */
const EXCEPTIONS: readonly (readonly [from: string, target: string, reason: string])[] = [];

/** The row of the table that a file belongs to; undefined for files outside of it (roots, tests, deploy). */
function zoneOf(path: string): string | undefined {
  const [top, second, third, fourth] = path.split("/");
  if (top === "gen") return "gen";
  if (top === "ffi") return third === undefined ? "ffi/root" : `ffi/${second}`;
  if (top !== "src" || second === undefined || third === undefined) return undefined;
  if (second === "base" || second === "options") return second;
  if (second === "core") return fourth === undefined ? "core/planes" : `core/${third}`;
  return `${second}/${third.replace(/\.ts$/, "")}`;
}

function targetZone(target: string): string {
  return zoneOf(target) ?? (/^(src|tests|deploy)\//.test(target) ? "root" : `package:${target}`);
}

function isLeftOf(zone: string, target: string): boolean {
  const from = CORE_ORDER.indexOf(zone.replace("core/", ""));
  const to = CORE_ORDER.indexOf(target.replace("core/", ""));
  return from >= 0 && to >= 0 && to <= from;
}

function mayImport(zone: string, target: string, isType: boolean): boolean {
  if (zone === target) return true;
  if (zone.startsWith("core/") && isLeftOf(zone, target)) return true;
  if (zone.startsWith("backends/") && target === zone.replace("backends/", "ffi/")) return true;
  if (zone.startsWith("frontends/") && isType && TYPES_BEHIND_THE_PLANES.test(target)) return true;
  const owned = PACKAGE_OWNERS.find(([name]) => name.test(target.replace("package:", "")));
  if (owned) return owned[1].test(zone);
  const row = ALLOWED.find(([pattern]) => pattern.test(zone));
  return row?.[1].some((pattern) => pattern.test(target)) ?? false;
}

/** What the table has against one file. */
function layerFaults(path: string, text: string): string[] {
  const zone = zoneOf(path);
  if (zone === undefined || zone === "gen") return [];
  return importsOf(path, text)
    .filter(({ target, isType }) => !mayImport(zone, targetZone(target), isType))
    .map(
      ({ specifier, target }) =>
        `${path}: ${zone} may not import ${targetZone(target)} ("${specifier}"); ` +
        "move the shared part to the left, or have it handed in by a composition root",
    );
}

function isException(path: string, fault: string): boolean {
  return EXCEPTIONS.some(([from, target]) => from === path && fault.includes(`"${target}"`));
}

describe("layers", () => {
  test("every import follows the table of ARCHITECTURE.md", async () => {
    const faults: string[] = [];
    for (const { path, text } of await sourceFiles("src", "ffi")) {
      faults.push(...layerFaults(path, text).filter((fault) => !isException(path, fault)));
    }
    expect(faults).toEqual([]);
  });

  test("every exception still departs from the table and has a reason", async () => {
    const files = new Map((await sourceFiles("src", "ffi")).map(({ path, text }) => [path, text]));
    for (const [from, target, reason] of EXCEPTIONS) {
      const faults = layerFaults(from, files.get(from) ?? "");
      expect([from, faults.some((fault) => fault.includes(`"${target}"`))]).toEqual([from, true]);
      expect(reason.length).toBeGreaterThan(20);
    }
  });

  test("the rule lets good imports through", () => {
    const good: readonly (readonly [string, string])[] = [
      ["src/core/scheduler/direct.ts", 'import type { T } from "../tensor/tensor.ts";'],
      ["src/core/config/parse-config.ts", 'import { S } from "#gen/inference/model_config_pb.ts";'],
      ["src/backends/onnxruntime/backend.ts", 'import { S } from "#ffi/onnxruntime/session.ts";'],
      ["src/frontends/http/infer.ts", 'import { Elysia } from "elysia";'],
      ["src/frontends/http/infer.ts", 'import type { Model } from "../../core/model/model.ts";'],
      ["src/main.ts", 'import { start } from "./server.ts";'],
      ["ffi/library.ts", 'import {\n  dlopen,\n} from "bun:ffi";'],
    ];
    for (const [path, text] of good) expect(layerFaults(path, text)).toEqual([]);
  });

  test("the rule names file, import and what to do for bad ones", () => {
    const bad: readonly (readonly [string, string])[] = [
      ["src/base/error.ts", 'import { S } from "../core/tensor/tensor.ts";'],
      ["src/core/tensor/join.ts", 'import type { M } from "../model/model.ts";'],
      ["src/core/scheduler/direct.ts", 'import { dlopen } from "bun:ffi";'],
      ["src/core/instance/pool.ts", 'import { alloc } from "#ffi/memory.ts";'],
      ["src/core/model/load-model.ts", 'const m = await import("../../backends/catalog.ts");'],
      ["src/frontends/http/infer.ts", 'import { x } from "../grpc/infer.ts";'],
      ["src/frontends/http/infer.ts", 'import { LoadedModel } from "../../core/model/model.ts";'],
      ["src/backends/onnxruntime/model.ts", 'import { I } from "../identity/instance.ts";'],
      ["src/core/config/read.ts", 'import { start } from "../../server.ts";'],
      ["ffi/memory.ts", 'import { x } from "../src/base/error.ts";'],
    ];
    for (const [path, text] of bad) {
      expect(layerFaults(path, text)).toEqual([expect.stringContaining(`${path}: `)]);
    }
  });
});
