import { posix } from "node:path";

/** One import of a file. */
export interface Import {
  /** As written. */
  readonly specifier: string;
  /** Repository path for files of ours, otherwise the package or built-in as written. */
  readonly target: string;
  /** Written with `import type`, so that nothing is left of it at run time. */
  readonly isType: boolean;
}

const STATIC_IMPORT =
  /^(?:import|export)\s+(type\s+)?(?:[\w*{][^"';]*?\sfrom\s+)?["']([^"']+)["']/gm;
/** `import("…")`, and the URL from which a Worker is started. */
const DYNAMIC_IMPORT = /(?:\bimport\(|\bnew URL\()\s*["']([^"']+\.ts)["']/g;

/** The imports of a file: static, re-exported, dynamic, and Worker entries by `new URL("….ts", …)`. */
export function importsOf(path: string, text: string): readonly Import[] {
  const found: Import[] = [];
  for (const match of text.matchAll(STATIC_IMPORT)) {
    found.push(importFrom(path, match[2] ?? "", match[1] !== undefined));
  }
  for (const match of text.matchAll(DYNAMIC_IMPORT)) {
    found.push(importFrom(path, match[1] ?? "", false));
  }
  return found;
}

function importFrom(path: string, specifier: string, isType: boolean): Import {
  if (specifier.startsWith(".")) {
    return { specifier, target: posix.join(posix.dirname(path), specifier), isType };
  }
  // Subpath imports of package.json: `#ffi/…` and `#gen/…`.
  return { specifier, target: specifier.replace(/^#(ffi|gen)\//, "$1/"), isType };
}
