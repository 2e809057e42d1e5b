/** The screen of `quark top` as lines. */
import { duration, fit, onTerminal, shortNumber, table, type Style } from '../support/text.ts';
import { statusStyle } from '../support/command.ts';
import { progressLine } from '../support/run-progress.ts';
import { brailleChart } from './braille.ts';
import { TOP_KEYS, type TopRun, type TopState } from './top-state.ts';

/** The first of these that a run has stands in its line. */
const LOSSES = ['loss', 'train/loss', 'train_loss', 'val/loss', 'val_loss'].map(
  (key) => `metrics.${key}.last`,
);
/** The values that the line of a run shows. */
export const TOP_COLUMNS: readonly string[] = ['alerts', ...LOSSES];

/** Width and height of a terminal, and its colours. */
export type TopSize = {
  readonly columns: number;
  readonly rows: number;
  readonly style: Style;
  readonly nowMs: number;
};

const LEAST_CHART = 4;
const SHOWN_ALERTS = 3;

/** As many lines as the terminal has rows at most, none wider than it. */
export function topScreen(state: TopState, size: TopSize): readonly string[] {
  const { columns, rows, style } = size;
  if (state.isHelp) return helpLines(style).slice(0, rows);
  const head = `${style.bold('quark top')}  ${state.total} ${state.total === 1 ? 'run' : 'runs'}  ${style.dim('? keys, q end')}`;
  const failure = state.failure === undefined ? [] : [style.red(fit(state.failure, columns))];
  const about =
    state.chosen === undefined
      ? []
      : aboutLines(state.chosen, state.runs[state.runAt]?.isLive === true, size);
  const alerts = (state.chosen?.alerts ?? [])
    .slice(0, SHOWN_ALERTS)
    .map((text) => fit(text, columns));
  const free = rows - 1 - failure.length - about.length - alerts.length;
  const chartRows = state.isWide ? free : Math.max(LEAST_CHART + 1, Math.floor(free / 2));
  const listRows = Math.max(0, free - chartRows);
  const chart =
    state.chosen?.curve === undefined
      ? []
      : brailleChart(state.chosen.curve, {
          width: columns,
          height: Math.max(1, chartRows - 1),
          isLog: state.isLog,
        });
  const lines = [
    head,
    ...failure,
    ...listLines(state, listRows, size),
    ...about,
    ...chart,
    ...alerts,
  ];
  return lines.slice(0, rows);
}

function helpLines(style: Style): readonly string[] {
  const width = Math.max(...TOP_KEYS.map(([keys]) => keys.length));
  return [style.bold('Keys'), ...TOP_KEYS.map(([keys, does]) => `${keys.padEnd(width)}  ${does}`)];
}

/** The table of runs around the chosen one. */
function listLines(state: TopState, room: number, size: TopSize): readonly string[] {
  if (state.isWide || room < 2) return [];
  if (state.runs.length === 0) return ['No runs yet.'];
  const count = room - 1;
  const first = Math.max(0, Math.min(state.runAt - (count >> 1), state.runs.length - count));
  const shown = state.runs.slice(first, first + count);
  const { nowMs, style } = size;
  const text = table(
    [
      { title: '', cell: ({ id }) => (id === state.runs[state.runAt]?.id ? '>' : '') },
      { title: 'RUN', cell: ({ id, name }) => name ?? id, isElastic: true },
      { title: 'PROJECT', cell: ({ project }) => project, isElastic: true },
      {
        title: 'STATUS',
        cell: ({ status }) => status,
        style: ({ status }) => statusStyle(style, status),
      },
      {
        title: 'TOOK',
        cell: (run) => duration((run.endedAtMs ?? nowMs) - run.startedAtMs),
        align: 'right',
      },
      {
        title: 'LOSS',
        cell: ({ values }) =>
          shownValue(LOSSES.map((path) => values[path]).find((one) => one !== undefined)),
        align: 'right',
      },
      { title: 'ALERTS', cell: ({ values }) => shownValue(values['alerts']), align: 'right' },
    ],
    shown,
    size.columns,
    style,
  );
  return text.trimEnd().split('\n');
}

function shownValue(value: unknown): string {
  return typeof value === 'number' ? shortNumber(value) : '-';
}

function aboutLines(
  { key, keys, progress }: TopRun,
  isLive: boolean,
  { columns, style }: TopSize,
): readonly string[] {
  const bar = progressLine({ isLive, progress, values: [] }, columns - 1, style);
  const metric =
    key === undefined
      ? 'no metrics yet'
      : `${onTerminal(key)} (${keys.indexOf(key) + 1} of ${keys.length})`;
  return ['', bar, style.bold(fit(metric, columns))];
}
