/** What `quark top` shows, and what each key does to it. */
import type { FoundRun } from '../../workspace.ts';
import type { RunProgress } from '../../profiler.ts';
import type { BrailleCurve } from './braille.ts';

/** What is known of the chosen run. */
export type TopRun = {
  readonly runId: string;
  /** Keys of its metrics, those that matter most first. */
  readonly keys: readonly string[];
  readonly progress: RunProgress | undefined;
  /** The chosen metric. */
  readonly key: string | undefined;
  readonly curve: BrailleCurve | undefined;
  readonly alerts: readonly string[];
};

/** The whole screen. */
export type TopState = {
  readonly runs: readonly FoundRun[];
  /** Runs in the store. */
  readonly total: number;
  /** The chosen run, and the chosen metric among its keys. */
  readonly runAt: number;
  readonly keyAt: number;
  readonly isLog: boolean;
  /** Whether the chart has the whole screen. */
  readonly isWide: boolean;
  readonly isHelp: boolean;
  readonly isOver: boolean;
  readonly chosen: TopRun | undefined;
  /** Why the last question failed. */
  readonly failure: string | undefined;
};

/** The state before the first answer. */
export const FIRST_STATE: TopState = Object.freeze({
  runs: [],
  total: 0,
  runAt: 0,
  keyAt: 0,
  isLog: false,
  isWide: false,
  isHelp: false,
  isOver: false,
  chosen: undefined,
  failure: undefined,
});

/** The keys and what they do, for the help. */
export const TOP_KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['up, down (k, j)', 'another run'],
  ['left, right (h, l)', 'another metric'],
  ['g', 'logarithmic values, or not'],
  ['enter', 'the chart on the whole screen, or not'],
  ['?', 'these keys'],
  ['q, Ctrl-C', 'the end'],
];

/** The state after a key: `up`, `down`, `left`, `right`, `enter`, `escape`, or a character. Unknown keys change nothing. */
export function afterKey(state: TopState, key: string): TopState {
  const [runs, keys] = [state.runs.length, state.chosen?.keys.length ?? 0];
  switch (key) {
    case 'up':
    case 'k':
      return { ...state, runAt: Math.max(0, state.runAt - 1), keyAt: 0 };
    case 'down':
    case 'j':
      return { ...state, runAt: Math.max(0, Math.min(runs - 1, state.runAt + 1)), keyAt: 0 };
    case 'left':
    case 'h':
      return { ...state, keyAt: keys === 0 ? 0 : (state.keyAt + keys - 1) % keys };
    case 'right':
    case 'l':
      return { ...state, keyAt: keys === 0 ? 0 : (state.keyAt + 1) % keys };
    case 'g':
      return { ...state, isLog: !state.isLog };
    case 'enter':
      return { ...state, isWide: !state.isWide };
    case '?':
      return { ...state, isHelp: !state.isHelp };
    case 'escape':
      return { ...state, isHelp: false, isWide: false };
    case 'q':
    case 'ctrl+c':
      return { ...state, isOver: true };
    default:
      return state;
  }
}

/** The state with the runs that are there now; the chosen run stays the chosen one wherever it lies. */
export function withFoundRuns(state: TopState, runs: readonly FoundRun[], total: number): TopState {
  const chosenId = state.runs[state.runAt]?.id;
  const at = runs.findIndex(({ id }) => id === chosenId);
  const runAt = at >= 0 ? at : Math.max(0, Math.min(state.runAt, runs.length - 1));
  return { ...state, runs, total, runAt, keyAt: at >= 0 ? state.keyAt : 0, failure: undefined };
}

const NAMED_KEYS: Readonly<Record<string, string>> = {
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001b[C': 'right',
  '\u001b[D': 'left',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\u001bOC': 'right',
  '\u001bOD': 'left',
  '\u001b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\u0003': 'ctrl+c',
};

/** The keys in what a terminal in raw mode sent, which may be several. */
export function keysIn(sent: string): readonly string[] {
  // oxlint-disable-next-line no-control-regex -- terminals send control characters
  const parts = sent.match(/\u001b[[O][A-D]|[\s\S]/gu) ?? [];
  return parts.map((part) => NAMED_KEYS[part] ?? part);
}
