import { Glob } from "bun";

/** Absolute path of the repository, with a slash at its end. */
export const REPOSITORY_ROOT = new URL("../../", import.meta.url).pathname;

/** One file of ours. */
export interface SourceFile {
  /** Relative to the repository, with slashes. */
  readonly path: string;
  readonly text: string;
}

/**
 * The TypeScript files below the given folders, by path.
 *
 * @param folders relative to the repository; one that does not exist has no files.
 */
export async function sourceFiles(...folders: readonly string[]): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for (const folder of folders) {
    const glob = new Glob(`${folder}/**/*.ts`);
    for await (const path of glob.scan({ cwd: REPOSITORY_ROOT })) {
      files.push({ path, text: await Bun.file(`${REPOSITORY_ROOT}${path}`).text() });
    }
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The source with comments and the contents of strings blanked, line breaks kept. */
export function codeWithoutText(source: string): string {
  return source.replace(
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g,
    (part) => {
      const blank = part.replace(/[^\n]/g, " ");
      return /^["'`]/.test(part) ? `${part[0]}${blank.slice(2)}${part[0]}` : blank;
    },
  );
}
