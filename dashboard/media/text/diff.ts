/** The differences of two lists of texts, after Myers (1986), bounded: lists that differ much are told apart as a whole. Pure. */

/** A part of a diff: `same` in both, `removed` from the first, `added` by the second. */
export type DiffPart = { readonly kind: 'same' | 'removed' | 'added'; readonly text: string };

/** Most insertions and deletions that are searched for; the work grows with their square. */
const MAX_EDITS = 1500;

/** The parts that lead from `before` to `after`: taken without what was added they are `before`, without what was removed `after`. */
export function diffLists(
  before: readonly string[],
  after: readonly string[],
): readonly DiffPart[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const room = Math.min(before.length, after.length) - head;
  while (tail < room && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const middle = diffMiddle(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
  );
  return [
    ...partsOf('same', before.slice(0, head)),
    ...middle,
    ...partsOf('same', before.slice(before.length - tail)),
  ];
}

function partsOf(kind: DiffPart['kind'], texts: readonly string[]): DiffPart[] {
  return texts.map((text) => ({ kind, text }));
}

function diffMiddle(before: readonly string[], after: readonly string[]): readonly DiffPart[] {
  if (before.length === 0 || after.length === 0)
    return [...partsOf('removed', before), ...partsOf('added', after)];
  const trace = searchEdits(before, after);
  if (trace === undefined) return [...partsOf('removed', before), ...partsOf('added', after)];
  return walkBack(before, after, trace);
}

/** For each number of edits how far each diagonal reached before it; undefined beyond {@link MAX_EDITS}. */
function searchEdits(
  before: readonly string[],
  after: readonly string[],
): readonly Int32Array[] | undefined {
  const most = Math.min(MAX_EDITS, before.length + after.length);
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(reach.slice(most + 1 - edits - 1, most + 1 + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = most + 1 + diagonal;
      const isDown =
        diagonal === -edits || (diagonal !== edits && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
      let x = isDown ? (reach[at + 1] ?? 0) : (reach[at - 1] ?? 0) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal])
        x += 1;
      reach[at] = x;
      if (x >= before.length && x - diagonal >= after.length) return trace;
    }
  }
  return undefined;
}

function walkBack(
  before: readonly string[],
  after: readonly string[],
  trace: readonly Int32Array[],
): readonly DiffPart[] {
  const parts: DiffPart[] = [];
  let x = before.length;
  let y = after.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits];
    const at = (diagonal: number): number => reach?.[diagonal + edits + 1] ?? 0;
    const diagonal = x - y;
    const isDown =
      diagonal === -edits || (diagonal !== edits && at(diagonal - 1) < at(diagonal + 1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : at(from);
    const fromY = edits === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      parts.push({ kind: 'same', text: before[x] ?? '' });
    }
    if (edits === 0) break;
    if (isDown) {
      y -= 1;
      parts.push({ kind: 'added', text: after[y] ?? '' });
    } else {
      x -= 1;
      parts.push({ kind: 'removed', text: before[x] ?? '' });
    }
  }
  return parts.toReversed();
}

/** A line of a diff, in chunks of words that are the same or changed. */
export type DiffLine = {
  readonly kind: DiffPart['kind'];
  readonly words: readonly { readonly text: string; readonly isChanged: boolean }[];
};

/** Longer lines are compared as a whole. */
const MAX_WORDS = 2000;

/** The lines that lead from one text to another; lines that were replaced by others show the words that differ. */
export function diffTexts(before: string, after: string): readonly DiffLine[] {
  const parts = diffLists(before.split('\n'), after.split('\n'));
  const lines: DiffLine[] = [];
  for (let at = 0; at < parts.length;) {
    const removed = runOf(parts, at, 'removed');
    const added = runOf(parts, at + removed.length, 'added');
    const part = parts[at];
    if (removed.length + added.length === 0) {
      if (part !== undefined) lines.push(wholeLine('same', part.text));
      at += 1;
      continue;
    }
    lines.push(...replacedLines(removed, added));
    at += removed.length + added.length;
  }
  return lines;
}

function runOf(
  parts: readonly DiffPart[],
  from: number,
  kind: DiffPart['kind'],
): readonly string[] {
  let end = from;
  while (parts[end]?.kind === kind) end += 1;
  return parts.slice(from, end).map(({ text }) => text);
}

function wholeLine(kind: DiffPart['kind'], text: string, isChanged = false): DiffLine {
  return { kind, words: [{ text, isChanged }] };
}

function replacedLines(removed: readonly string[], added: readonly string[]): readonly DiffLine[] {
  if (removed.length !== added.length)
    return [
      ...removed.map((text) => wholeLine('removed', text)),
      ...added.map((text) => wholeLine('added', text)),
    ];
  const pairs = removed.map((text, at) => wordsOf(text, added[at] ?? ''));
  return [...pairs.map(([line]) => line), ...pairs.map(([, line]) => line)];
}

function wordsOf(before: string, after: string): readonly [DiffLine, DiffLine] {
  const [first, second] = [before, after].map((text) => text.split(/(\s+|\b)/));
  if (first === undefined || second === undefined || first.length + second.length > MAX_WORDS)
    return [wholeLine('removed', before), wholeLine('added', after)];
  const parts = diffLists(first, second);
  const side = (kind: 'removed' | 'added'): DiffLine => ({
    kind,
    words: joined(parts.filter((part) => part.kind === 'same' || part.kind === kind)),
  });
  return [side('removed'), side('added')];
}

function joined(parts: readonly DiffPart[]): DiffLine['words'] {
  const words: { text: string; isChanged: boolean }[] = [];
  for (const { kind, text } of parts) {
    const isChanged = kind !== 'same';
    const last = words.at(-1);
    if (last?.isChanged === isChanged) last.text += text;
    else words.push({ text, isChanged });
  }
  return words;
}
