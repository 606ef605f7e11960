/**
 * Puts several pages of Prometheus text together. Series of one family end up side by side under one HELP and one
 * TYPE line, as the format demands.
 *
 * @see Prometheus documentation, "Exposition formats", text format 0.0.4.
 */
export function mergeExpositions(pages: readonly string[]): string {
  const families = new Map<string, { readonly head: string[]; readonly samples: string[] }>();
  for (const page of pages) {
    let current: { readonly head: string[]; readonly samples: string[] } | undefined;
    let isRepeated = false;
    for (const line of page.split("\n")) {
      if (line === "") continue;
      if (line.startsWith("# HELP ")) {
        const name = line.split(" ")[2] ?? "";
        const known = families.get(name);
        isRepeated = known !== undefined;
        current = known ?? { head: [], samples: [] };
        families.set(name, current);
      }
      if (!line.startsWith("#")) current?.samples.push(line);
      else if (!isRepeated) current?.head.push(line);
    }
  }
  let text = "";
  for (const { head, samples } of families.values()) {
    text += `${[...head, ...samples].join("\n")}\n`;
  }
  return text;
}
