/** Which panels are shown, in which sections and order: from a view and the metrics that there are. Pure. */
import type { ChartsView, ViewPanel, ViewSection } from 'quark-sdk/workspace';
import {
  groupMetrics,
  SPLITS,
  isMachineMetric,
  splitLarge,
  splitMetricKey,
  type MetricGroup,
} from '../charts/group.ts';
import { getOrMake } from '../parts/maps.ts';
import { t } from '../parts/t.ts';

/** Curves in one panel that comes by itself. */
const MAX_CURVES = 32;

/** Ids of the sections that are no prefix. */
export const MACHINE_SECTION = 'system';
const SPLITS_SECTION = '+';
const PLAIN_SECTION = '.';

/** What stands before a formula in the key of its curve: no metric begins so. */
export const FORMULA_MARK = '= ';

/** A panel as it is shown. */
export type ShownPanel = {
  readonly id: string;
  readonly title: string;
  /** Metrics that are there, then formulas, each with {@link FORMULA_MARK} before it. */
  readonly keys: readonly string[];
  readonly sectionId: string;
  /** What the view says of it. */
  readonly panel: ViewPanel;
  /** Whether it comes by itself from the names of metrics. */
  readonly isAutomatic: boolean;
};

/** A section as it is shown: its pinned and hidden panels are not among its panels. */
export type ShownSection = {
  readonly id: string;
  readonly title: string;
  readonly isFolded: boolean;
  /** What the view says of it. */
  readonly section: ViewSection;
  readonly panels: readonly ShownPanel[];
};

/** All that is shown of a view. */
export type Layout = {
  readonly pinned: readonly ShownPanel[];
  readonly sections: readonly ShownSection[];
  readonly hidden: readonly ShownPanel[];
};

/** The id of a section of a view. */
export function sectionIdOf({ id, title }: ViewSection): string {
  return id ?? title;
}

/** The id of a panel of a view. */
export function panelIdOf({ formulas = [], id, metrics }: ViewPanel): string {
  return id ?? [...metrics, ...formulas.map((one) => FORMULA_MARK + one)].join(' ');
}

/** A view without anything in it: all comes from the names of metrics. */
export const EMPTY_VIEW: ChartsView = { name: 'view', sections: [] };

/**
 * The same view with everything that comes by itself written out, so that any part of it can be moved. Panels of metrics that are not there
 * stay.
 */
export function writtenOut(view: ChartsView, keys: readonly string[]): ChartsView {
  const groups = view.addsMetrics === false ? [] : automaticGroups(view, keys);
  const sections = view.sections.map((section) => ({
    ...section,
    id: sectionIdOf(section),
    panels: section.panels.map((panel) => ({ ...panel, id: panelIdOf(panel) })),
  }));
  const positions = new Map<string, readonly [section: number, panel: number]>();
  for (const [at, { panels }] of sections.entries())
    for (const [row, panel] of panels.entries())
      if (!positions.has(panel.id)) positions.set(panel.id, [at, row]);
  const sectionAt = new Map(sections.map(({ id }, at) => [id, at]));
  for (const { group, sectionId } of groups) {
    const known = positions.get(group.id);
    if (known !== undefined) {
      // The panel of these names is there, and a metric of the same name has come.
      const panel = sections[known[0]]?.panels[known[1]];
      if (panel !== undefined) {
        const metrics = [...new Set([...panel.metrics, ...group.keys])];
        sections[known[0]]?.panels.splice(known[1], 1, { ...panel, metrics });
      }
      continue;
    }
    const at = getOrMake(sectionAt, sectionId, () => {
      const isFolded = sectionId === MACHINE_SECTION ? { isFolded: true } : {};
      sections.push({ id: sectionId, title: sectionTitle(sectionId), ...isFolded, panels: [] });
      return sections.length - 1;
    });
    sections[at]?.panels.push({ id: group.id, title: group.title, metrics: group.keys });
  }
  return { ...view, sections };
}

/** What is shown of a view. `isWanted` is the search: a panel stays if its title or one of its metrics is wanted. */
export function shownLayout(
  view: ChartsView,
  keys: readonly string[],
  isWanted: (text: string) => boolean = () => true,
): Layout {
  const there = new Set(keys);
  const known = new Set(view.sections.flatMap(({ panels }) => panels.map(panelIdOf)));
  const pinned: ShownPanel[] = [];
  const hidden: ShownPanel[] = [];
  const sections = writtenOut(view, keys).sections.map((section): ShownSection => {
    const sectionId = sectionIdOf(section);
    const panels: ShownPanel[] = [];
    for (const panel of section.panels) {
      const shown = shownPanel(panel, sectionId, there, known);
      if (shown.keys.length === 0 || ![shown.title, ...shown.keys].some(isWanted)) continue;
      if (panel.isHidden === true) hidden.push(shown);
      else if (panel.isPinned === true) pinned.push(shown);
      else panels.push(shown);
    }
    return {
      id: sectionId,
      title: section.title,
      isFolded: section.isFolded === true,
      section,
      panels,
    };
  });
  return { pinned, hidden, sections: sections.filter(({ panels }) => panels.length > 0) };
}

function shownPanel(
  panel: ViewPanel,
  sectionId: string,
  there: ReadonlySet<string>,
  known: ReadonlySet<string>,
): ShownPanel {
  const id = panelIdOf(panel);
  const keys = [
    ...panel.metrics.filter((key) => there.has(key)),
    ...(panel.formulas ?? []).map((one) => FORMULA_MARK + one),
  ];
  const title = panel.title ?? titleOf(panel);
  return { id, title, keys, sectionId, panel, isAutomatic: !known.has(id) };
}

/** The name that the metrics of a panel share, or the first of them. */
function titleOf({ formulas = [], metrics }: ViewPanel): string {
  const [first = formulas[0] ?? ''] = metrics;
  const names = new Set(metrics.map((key) => splitMetricKey(key).name));
  return metrics.length > 1 && names.size === 1 ? splitMetricKey(first).name : first;
}

type AutomaticGroup = { readonly group: MetricGroup; readonly sectionId: string };

/** Panels of the metrics that no panel of the view names, sections in order, those of the machine last. */
function automaticGroups(view: ChartsView, keys: readonly string[]): readonly AutomaticGroup[] {
  const named = new Set(
    view.sections.flatMap(({ panels }) => panels.flatMap((one) => one.metrics)),
  );
  const left = keys.filter((key) => !named.has(key));
  const groups =
    view.joinsSplits === false
      ? left.toSorted(compareKeys).map((key): MetricGroup => ({ id: key, title: key, keys: [key] }))
      : splitLarge(groupMetrics(left), MAX_CURVES);
  return groups
    .map((group) => ({ group, sectionId: sectionOf(group, view.joinsSplits !== false) }))
    .toSorted((a, b) => sectionRank(a.sectionId) - sectionRank(b.sectionId));
}

function sectionOf({ keys }: MetricGroup, joinsSplits: boolean): string {
  if (keys.every(isMachineMetric)) return MACHINE_SECTION;
  const prefixes = new Set(keys.map((key) => splitMetricKey(key).namespace?.split('/')[0] ?? ''));
  const [only = ''] = prefixes;
  const areSplits = [...prefixes].every((one) => SPLITS.includes(one));
  if (prefixes.size > 1 || (joinsSplits && areSplits)) return SPLITS_SECTION;
  return only === '' ? PLAIN_SECTION : only;
}

/** Training and validation first, the machine last, what is between in the order of its names. */
function sectionRank(id: string): number {
  const at = [SPLITS_SECTION, PLAIN_SECTION, ...SPLITS].indexOf(id);
  if (at >= 0) return at;
  return id === MACHINE_SECTION ? 100 : 50;
}

function sectionTitle(id: string): string {
  if (id === SPLITS_SECTION) return t('Training and validation');
  if (id === PLAIN_SECTION) return t('Metrics');
  return id === MACHINE_SECTION ? t('Machine') : id;
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
