/**
 * The known name that a mistyped one was probably meant to be, for "did you mean" in messages.
 *
 * @returns undefined when no name is within a third of its length in edits.
 */
export function nearestName(mistyped: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let nearestEdits = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const edits = editDistance(normalized(mistyped), normalized(name));
    if (edits < nearestEdits && edits <= Math.max(1, Math.floor(name.length / 3))) {
      nearest = name;
      nearestEdits = edits;
    }
  }
  return nearest;
}

/** Words joined by `-`, `_` or capitals are one name to whoever mistyped it. */
function normalized(name: string): string {
  return name.slice(0, 100).toLowerCase().replace(/[-_]/g, "");
}

/** Insertions, deletions and substitutions between two texts. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substituted));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
