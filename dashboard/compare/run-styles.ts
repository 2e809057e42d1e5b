/** Which colour and dashes a run has: its own from the first comparison on, in every other one, until somebody chooses another. */
import { signal, type Signal } from '@preact/signals';
import { storedText } from '../parts/browser-storage.ts';
import { CURVE_STYLES, type CurveStyle } from '../theme/curve-styles.ts';

/** Styles by the id of the run, as indices of {@link CURVE_STYLES}; the run that was shown first comes first. */
export type RunStyles = ReadonlyMap<string, GivenStyle>;

/** A style that a run has, and whether somebody chose it. */
export type GivenStyle = { readonly index: number; readonly isChosen: boolean };

/** Runs that are remembered. */
const MAX_REMEMBERED = 400;

/**
 * The styles with one for each of these runs. A run stays as it is, unless another one shown beside it looks the same: then the one
 * whose style nobody chose gets another. A new run gets a colour that no run beside it has, if there is one, and of those the one
 * that the fewest runs have.
 */
export function withStylesOf(known: RunStyles, runIds: readonly string[]): RunStyles {
  const styles = new Map(known);
  const taken = new Set<number>();
  const without: string[] = [];
  const chosenFirst = runIds.toSorted(
    (a, b) => Number(known.get(b)?.isChosen ?? false) - Number(known.get(a)?.isChosen ?? false),
  );
  for (const runId of chosenFirst) {
    const given = styles.get(runId);
    if (given === undefined || (taken.has(given.index) && !given.isChosen)) without.push(runId);
    else taken.add(given.index);
  }
  if (without.length === 0) return known;
  const uses = CURVE_STYLES.map(() => 0);
  for (const { index } of styles.values()) uses[index] = (uses[index] ?? 0) + 1;
  for (const runId of without) {
    const index = nextStyle(taken, uses);
    styles.set(runId, { index, isChosen: false });
    uses[index] = (uses[index] ?? 0) + 1;
    taken.add(index);
  }
  const tooMany = styles.size - MAX_REMEMBERED;
  for (const runId of [...styles.keys()].slice(0, Math.max(0, tooMany)))
    if (!runIds.includes(runId)) styles.delete(runId);
  return styles;
}

function nextStyle(taken: ReadonlySet<number>, uses: readonly number[]): number {
  const colors = new Set([...taken].map((index) => CURVE_STYLES[index]?.color));
  const costs = CURVE_STYLES.map(({ color }, index) => {
    const isTaken = taken.has(index) ? 1e9 : 0;
    return isTaken + (colors.has(color) ? 1e6 : 0) + (uses[index] ?? 0);
  });
  return costs.indexOf(Math.min(...costs));
}

const stored = storedText('quark.run-styles');
const styles: Signal<RunStyles> = signal(readStyles(stored.get()));

/** Gives each of these runs a style. Call it outside of rendering. */
export function giveStyles(runIds: readonly string[]): void {
  setStyles(withStylesOf(styles.peek(), runIds));
}

/** The style of a run. Reading it in a component or an effect subscribes to it. */
export function styleOfRun(runId: string): CurveStyle {
  return CURVE_STYLES[styles.value.get(runId)?.index ?? 0] ?? { color: 0, dash: 0 };
}

/** Draws a run so from now on. */
export function chooseStyle(runId: string, { color, dash }: CurveStyle): void {
  const index = CURVE_STYLES.findIndex((style) => style.color === color && style.dash === dash);
  setStyles(new Map(styles.peek()).set(runId, { index, isChosen: true }));
}

function setStyles(next: RunStyles): void {
  if (next === styles.peek()) return;
  styles.value = next;
  const entries = [...next].map(([runId, { index, isChosen }]) => [runId, index, isChosen]);
  stored.set(JSON.stringify(entries));
}

/** The styles that were stored; none where the text is not such a list. */
export function readStyles(text: string | undefined): RunStyles {
  let found: unknown;
  try {
    found = JSON.parse(text ?? '[]');
  } catch {
    return new Map();
  }
  const known = new Map<string, GivenStyle>();
  if (!Array.isArray(found)) return known;
  for (const entry of found) {
    const [runId, index, isChosen]: readonly unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof runId === 'string' && typeof index === 'number' && CURVE_STYLES[index] !== undefined)
      known.set(runId, { index, isChosen: isChosen === true });
  }
  return known;
}
