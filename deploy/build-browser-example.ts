/**
 * Bundles docs/browser-example into one HTML file without outside references:
 * `bun deploy/build-browser-example.ts [OUTPUT]`, by default dist/browser-example/index.html.
 */
import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../docs/browser-example", import.meta.url));
const outfile = resolve(process.argv[2] ?? "dist/browser-example/index.html");
const SCRIPT_TAG = '<script type="module" src="./classify.ts"></script>';

const result = await Bun.build({
  entrypoints: [`${folder}/classify.ts`],
  target: "browser",
  minify: true,
});
const script = (await result.outputs[0]?.text()) ?? "";
const page = await Bun.file(`${folder}/index.html`).text();
if (!page.includes(SCRIPT_TAG)) throw new Error(`index.html lacks ${SCRIPT_TAG}`);
mkdirSync(dirname(outfile), { recursive: true });
// A function, since the script may hold `$&` and the like; "</script" in a string would end the element.
const inlined = script.replaceAll("</script", "<\\/script");
await Bun.write(
  outfile,
  page.replace(SCRIPT_TAG, () => `<script type="module">${inlined}</script>`),
);
process.stdout.write(`  ${outfile}\n`);
