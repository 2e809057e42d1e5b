/** Which entries of the command palette a text finds, the best first. */

/** What can be found. */
export type Findable = {
  readonly title: string;
  readonly section: string;
};

/** Entries that contain each word of the text in title or section: those whose title begins with it first. At most `limit`. */
export function matchEntries<T extends Findable>(
  entries: readonly T[],
  text: string,
  limit: number = 50,
): readonly T[] {
  const words = folded(text).split(/\s+/).filter(Boolean);
  const scored = entries.flatMap((entry) => {
    const score = scoreOf(entry, words);
    return score === undefined ? [] : [{ entry, score }];
  });
  return scored
    .toSorted((a, b) => a.score - b.score)
    .slice(0, limit)
    .map(({ entry }) => entry);
}

/** Smaller is better; undefined where a word is missing. */
function scoreOf(entry: Findable, words: readonly string[]): number | undefined {
  const title = folded(entry.title);
  const section = folded(entry.section);
  let score = 0;
  for (const word of words) {
    const at = title.indexOf(word);
    if (at === 0) score += 0;
    else if (at > 0) score += isWordStart(title, at) ? 1 : 2;
    else if (section.includes(word)) score += 4;
    else return undefined;
  }
  return score;
}

function isWordStart(text: string, at: number): boolean {
  return !/[\p{L}\p{N}]/u.test(text[at - 1] ?? ' ');
}

/** Without capitals and accents: `Größe` is found by `grosse` as well as by `größe`. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .toLocaleLowerCase('en');
}
