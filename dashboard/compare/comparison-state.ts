/** What is chosen on the comparison page, which all its tabs share and its address says. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import {
  BAND_KINDS,
  groupRuns,
  METRIC_STATISTICS,
  RUN_GROUPINGS,
  type BandKind,
  type MetricStatistic,
  type RunGroup,
  type RunGrouping,
} from 'quark-sdk/analysis';
import { choiceText, FLAG, plainText, type AddressText } from '../parts/address-text.ts';
import { useAddressed } from '../parts/addressed.ts';
import type { CompareFeed } from './compare-feed.ts';
import type { ComparedRuns } from './compared-runs.ts';
import { BRUSHES, type Brushes } from './brushes.ts';

/** What the cells of the table of values show. */
export const SHOWN_STATISTICS = [...METRIC_STATISTICS, 'step'] as const;

/** One of {@link SHOWN_STATISTICS}. */
export type ShownStatistic = MetricStatistic | 'step';

/** The comparison that the page shows. */
export type ComparisonState = {
  readonly store: Store;
  /** Records of all runs. */
  readonly runs: ComparedRuns;
  /** Curves of the first of them. */
  readonly feed: CompareFeed;
  /** Changes when records changed. */
  readonly recordsRevision: ReadonlySignal<number>;
  /** Changes when points arrived. */
  readonly curvesRevision: Signal<number>;
  /** What makes runs a group; undefined: each run stands for itself. */
  readonly grouping: Signal<RunGrouping | undefined>;
  readonly band: Signal<BandKind>;
  /** Id of the run, or name of the group, that others are compared with; empty: the first. */
  readonly baseline: Signal<string>;
  readonly statistic: Signal<ShownStatistic>;
  /** The step at which values are shown. */
  readonly step: Signal<number>;
  /** What names of metrics and settings have to contain. */
  readonly search: Signal<string>;
  /** Whether settings are shown that do not differ. */
  readonly showsAll: Signal<boolean>;
  /** Ids of the quantities on parallel axes; empty: a choice of the page. */
  readonly axes: Signal<readonly string[]>;
  /** Parts of parallel axes that runs have to go through. */
  readonly brushes: Signal<Brushes>;
  /** Ids of the quantities of the scatter; empty: a choice of the page. */
  readonly x: Signal<string>;
  readonly y: Signal<string>;
  /** Id of the metric that importance is of and that lines are coloured by; empty: a choice of the page. */
  readonly target: Signal<string>;
  /** Whether the axes of the scatter are logarithmic; undefined: where that fits. */
  readonly logX: Signal<boolean | undefined>;
  readonly logY: Signal<boolean | undefined>;
  readonly showsFront: Signal<boolean>;
};

/** What the view of a tab is given. */
export type ComparisonTabProps = { readonly state: ComparisonState };

/** The signals of a comparison as it begins. */
export function createChoices(): Omit<
  ComparisonState,
  'store' | 'runs' | 'feed' | 'recordsRevision' | 'curvesRevision'
> {
  return {
    grouping: signal(undefined),
    band: signal('interval'),
    baseline: signal(''),
    statistic: signal('last'),
    step: signal(0),
    search: signal(''),
    showsAll: signal(false),
    axes: signal([]),
    brushes: signal<Brushes>(new Map()),
    x: signal(''),
    y: signal(''),
    target: signal(''),
    logX: signal(undefined),
    logY: signal(undefined),
    showsFront: signal(false),
  };
}

const GROUPING: AddressText<RunGrouping | undefined> = {
  write: (value) => value,
  read: (text) => groupingOf(text),
};

/** The grouping that a text names; undefined for none. */
export function groupingOf(text: string | undefined): RunGrouping | undefined {
  const known = RUN_GROUPINGS.find((one) => one === text);
  if (known !== undefined) return known;
  return text?.startsWith('config.') === true && text.length > 'config.'.length
    ? `config.${text.slice('config.'.length)}`
    : undefined;
}

const STEP: AddressText<number> = {
  write: (value) => (value === 0 ? undefined : String(value)),
  read: (text) => {
    const value = Number(text ?? 0);
    return Number.isSafeInteger(value) && value > 0 ? value : 0;
  },
};

/** A boolean that the page chooses until somebody does. */
const MAYBE: AddressText<boolean | undefined> = {
  write: (value) => (value === undefined ? undefined : value ? '1' : '0'),
  read: (text) => (text === '1' || text === '0' ? text === '1' : undefined),
};

/** Names apart by `;`, which is escaped in each: metrics with a context have commas. */
const NAMES: AddressText<readonly string[]> = {
  write: (names) =>
    names.length === 0 ? undefined : names.map((name) => name.replaceAll(';', '%3B')).join(';'),
  read: (text) =>
    (text ?? '')
      .split(';')
      .filter((name) => name !== '')
      .map((name) => name.replaceAll('%3B', ';')),
};

/** Puts what is chosen into the address, and takes it from there. */
export function useComparisonAddress(choices: ReturnType<typeof createChoices>): void {
  useAddressed('by', choices.grouping, GROUPING);
  useAddressed('band', choices.band, choiceText(BAND_KINDS));
  useAddressed('base', choices.baseline, plainText());
  useAddressed('value', choices.statistic, choiceText(SHOWN_STATISTICS));
  useAddressed('step', choices.step, STEP);
  useAddressed('find', choices.search, plainText());
  useAddressed('all', choices.showsAll, FLAG);
  useAddressed('axes', choices.axes, NAMES);
  useAddressed('brush', choices.brushes, BRUSHES);
  useAddressed('x', choices.x, plainText());
  useAddressed('y', choices.y, plainText());
  useAddressed('of', choices.target, plainText());
  useAddressed('logx', choices.logX, MAYBE);
  useAddressed('logy', choices.logY, MAYBE);
  useAddressed('front', choices.showsFront, FLAG);
}

/** A run or a group of runs as one column, curve or row. */
export type ComparedColumn = {
  /** The id of a run, or {@link groupKey} of a group. */
  readonly key: string;
  readonly name: string;
  readonly runIds: readonly string[];
};

/** Under which key a group has its colour. */
export function groupKey(grouping: RunGrouping, { name }: Pick<RunGroup, 'name'>): string {
  return `group:${grouping}:${name}`;
}

/** The runs, or their groups where some are asked for. Reading it in a component subscribes to it. */
export function comparedColumns(state: ComparisonState): readonly ComparedColumn[] {
  void state.recordsRevision.value;
  const { runs } = state;
  const grouping = state.grouping.value;
  const records = runs.summaries.map(({ run }) => run);
  if (grouping === undefined)
    return records.map(({ id }) => ({ key: id, name: runs.nameOf(id), runIds: [id] }));
  return groupRuns(records, grouping).map((group) => ({
    key: groupKey(grouping, group),
    name: group.name,
    runIds: group.runIds,
  }));
}
