/**
 * The candidate that somebody who typed `word` most likely meant: at most two letters added, left out, changed or swapped with
 * the next, and fewer than half of them. The first of several as close.
 *
 * @returns undefined where none is that close
 */
export function closestTo(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.min(2, Math.ceil(word.length / 2) - 1);
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance > least || (best !== undefined && distance === least)) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each of cost 1. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const costs = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + change];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) costs.push((before[j - 2] ?? 0) + 1);
      next.push(Math.min(...costs));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
