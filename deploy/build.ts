/**
 * Compiles the server into one executable: `bun deploy/build.ts [OUTPUT]`, by default dist/tribune.
 *
 * Inside are Bun, the bundled source, the entry of the instance hosts and onnxruntime's library (brought by
 * deploy/fetch_onnxruntime.py before). At run time `Bun.embeddedFiles` lists the library under its own name, and the
 * constants below are filled in; a run from source has neither.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../package.json" with { type: "json" };

/** The whole executable; a file that one downloads on a whim. */
const MAX_EXECUTABLE_BYTES = 170_000_000;
const ONNXRUNTIME_LIBRARY = "dist/lib/libonnxruntime.so.1.32.0";

const root = fileURLToPath(new URL("..", import.meta.url));
const outfile = resolve(process.argv[2] ?? `${root}/dist/tribune`);
const libraryPath = resolve(root, ONNXRUNTIME_LIBRARY);

function fail(message: string): never {
  process.stderr.write(`build: ${message}\n`);
  process.exit(1);
}

async function sha256Of(path: string): Promise<string> {
  return new Bun.CryptoHasher("sha256").update(await Bun.file(path).arrayBuffer()).digest("hex");
}

if (!(await Bun.file(libraryPath).exists())) {
  fail(`${ONNXRUNTIME_LIBRARY} is missing; \`make ${ONNXRUNTIME_LIBRARY}\` brings it`);
}
mkdirSync(dirname(outfile), { recursive: true });

const result = await Bun.build({
  // The second entry is named by the Workers as `instance-host.ts` beside main.ts; the root keeps it there.
  entrypoints: [`${root}/src/main.ts`, `${root}/src/instance-host.ts`, libraryPath],
  root: `${root}/src`,
  target: "bun",
  // Bytecode in the default cjs format breaks Workers (a package of theirs is not found); esm does not.
  format: "esm",
  bytecode: true,
  minify: true,
  naming: { asset: "[name].[ext]" },
  define: {
    TRIBUNE_VERSION: JSON.stringify(manifest.version),
    TRIBUNE_ONNXRUNTIME_SHA256: JSON.stringify(await sha256Of(libraryPath)),
  },
  // A `.env` or bunfig.toml in the folder where somebody starts the server is none of our business.
  compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  throw: false,
});
if (!result.success) fail(result.logs.map((log) => String(log)).join("\n"));

const sizeBytes = statSync(outfile).size;
if (sizeBytes > MAX_EXECUTABLE_BYTES) {
  fail(`${outfile} has ${sizeBytes} bytes, allowed are ${MAX_EXECUTABLE_BYTES}`);
}
process.stdout.write(`  ${outfile}  ${(sizeBytes / 1e6).toFixed(0)} MB\n`);
