/** Columns of the table of runs: which are shown, in which order, how wide, and which stay in sight. */
import type { RunColumn } from 'quark-sdk/workspace';
import { decodedName, type AddressText } from '../../parts/address-text.ts';
import { t } from '../../parts/t.ts';

/** A column that is shown. */
export type ListColumn = {
  /** What it shows: the path of a value, or {@link CURVE_PREFIX} and the key of a metric for a small curve with its last value. */
  readonly path: string;
  /** In CSS pixels. */
  readonly width: number;
  /** Whether it stays in sight while the others are scrolled sideways. Such columns come first. */
  readonly isPinned: boolean;
};

/** All columns that are shown, in their order. */
export type ColumnLayout = readonly ListColumn[];

/** Begins the path of a column with small curves; without a key after it, of the first loss of each run. */
export const CURVE_PREFIX = 'curve:';
/** The path of the last value of the first loss. */
export const LOSS_PATH = 'loss';

/** Narrower or wider than this is no column, in CSS pixels. */
export const MIN_COLUMN_WIDTH = 56;
export const MAX_COLUMN_WIDTH = 900;
/** So many columns that differ are shown before the others. */
const MAX_DIFFERING = 24;
/** So many columns can be shown. */
export const MAX_COLUMNS = 48;

const WIDTHS: Readonly<Record<string, number>> = {
  name: 320,
  status: 150,
  tags: 160,
  groups: 160,
  notes: 240,
  description: 240,
  durationMs: 124,
  startedAt: 124,
  endedAt: 124,
  updatedAt: 124,
  alerts: 92,
  health: 92,
};
const CURVE_PX = 208;
const VALUE_PX = 132;

/** A column as it is before somebody changes it. */
export function newColumn(path: string, isPinned: boolean = false): ListColumn {
  return { path, width: initialWidth(path), isPinned };
}

function initialWidth(path: string): number {
  if (path.startsWith(CURVE_PREFIX)) return CURVE_PX;
  return (Object.hasOwn(WIDTHS, path) ? WIDTHS[path] : undefined) ?? VALUE_PX;
}

/** What is shown before anybody chooses. */
export const INITIAL_LAYOUT: ColumnLayout = [
  newColumn('name', true),
  newColumn('status'),
  newColumn('tags'),
  newColumn(CURVE_PREFIX),
  newColumn('startedAt'),
  newColumn('durationMs'),
];

/** Shows a column, as the last one, or no longer. The name is always there. */
export function withColumn(layout: ColumnLayout, path: string, isShown: boolean): ColumnLayout {
  if (layout.some((one) => one.path === path) === isShown) return layout;
  if (isShown) return layout.length < MAX_COLUMNS ? [...layout, newColumn(path)] : layout;
  return path === 'name' ? layout : layout.filter((one) => one.path !== path);
}

/** Moves a column by so many positions, among the pinned ones or among the others. */
export function movedBy(layout: ColumnLayout, path: string, shift: number): ColumnLayout {
  const from = layout.findIndex((one) => one.path === path);
  return from < 0 ? layout : movedTo(layout, path, from + shift);
}

/** Moves a column to a position, as far as the pinned ones stay before the others. */
export function movedTo(layout: ColumnLayout, path: string, to: number): ColumnLayout {
  const moved = layout.find((one) => one.path === path);
  if (moved === undefined) return layout;
  const others = layout.filter((one) => one !== moved);
  const pinnedCount = others.filter(({ isPinned }) => isPinned).length;
  const [least, most] = moved.isPinned ? [0, pinnedCount] : [pinnedCount, others.length];
  const at = Math.max(least, Math.min(most, to));
  return [...others.slice(0, at), moved, ...others.slice(at)];
}

/** Pins a column behind the pinned ones, or puts it before the others. */
export function withPin(layout: ColumnLayout, path: string, isPinned: boolean): ColumnLayout {
  const known = layout.find((one) => one.path === path);
  if (known === undefined || known.isPinned === isPinned) return layout;
  const others = layout.filter((one) => one !== known);
  const at = others.filter((one) => one.isPinned).length;
  return [...others.slice(0, at), { ...known, isPinned }, ...others.slice(at)];
}

/** Gives a column a width. */
export function withWidth(layout: ColumnLayout, path: string, width: number): ColumnLayout {
  const fitting = Math.round(Math.max(MIN_COLUMN_WIDTH, Math.min(MAX_COLUMN_WIDTH, width)));
  return layout.map((one) => (one.path === path ? { ...one, width: fitting } : one));
}

/** The layout with these columns behind its pinned ones, and without what it has of them elsewhere. */
export function withAhead(layout: ColumnLayout, paths: readonly string[]): ColumnLayout {
  const pinned = layout.filter(({ isPinned }) => isPinned);
  const ahead = paths.filter((path) => !pinned.some((one) => one.path === path));
  const rest = layout.filter(({ path, isPinned }) => !isPinned && !ahead.includes(path));
  const known = new Map(layout.map((one) => [one.path, one]));
  return [...pinned, ...ahead.map((path) => known.get(path) ?? newColumn(path)), ...rest].slice(
    0,
    MAX_COLUMNS,
  );
}

/** The values that have to be read for these columns. */
export function valuePaths(layout: ColumnLayout): readonly string[] {
  const paths = layout.flatMap(({ path }) => {
    if (path.startsWith(CURVE_PREFIX)) return [];
    return path === 'status' ? [path, 'statusReason', 'problem'] : [path];
  });
  return [...new Set(paths)];
}

/** What a column is sorted by. */
export function sortPathOf(path: string): string {
  if (!path.startsWith(CURVE_PREFIX)) return path;
  const key = path.slice(CURVE_PREFIX.length);
  return key === '' ? LOSS_PATH : `metrics.${key}.last`;
}

/** `name!,status,metrics.val/loss.best:180`: "!" for a pinned column, its width where it is another one than at first. */
export const LAYOUT: AddressText<ColumnLayout> = {
  write: (layout) => {
    const text = layoutText(layout);
    return text === layoutText(INITIAL_LAYOUT) ? undefined : text;
  },
  read: (text) => (text === undefined ? INITIAL_LAYOUT : layoutOf(text)),
};

function layoutText(layout: ColumnLayout): string {
  return layout
    .map(
      ({ path, width, isPinned }) =>
        `${encodePath(path)}${isPinned ? '!' : ''}${width === initialWidth(path) ? '' : `*${width}`}`,
    )
    .join();
}

function encodePath(path: string): string {
  return path.replaceAll(/[%,!*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

const COLUMN = /^([^!*]+)(!?)(?:\*(\d{1,4}))?$/;

/** The columns that a text stands for. The name is among them, and pinned ones come first, whatever the text is. */
export function layoutOf(text: string): ColumnLayout {
  const columns = new Map<string, ListColumn>();
  for (const part of text.split(',', MAX_COLUMNS)) {
    const [, encoded = '', pin = '', width] = COLUMN.exec(part) ?? [];
    const path = decodedName(encoded);
    if (path === '' || columns.has(path)) continue;
    columns.set(path, newColumn(path, pin !== ''));
    if (width !== undefined)
      for (const one of withWidth([newColumn(path, pin !== '')], path, Number(width)))
        columns.set(path, one);
  }
  if (!columns.has('name')) columns.set('name', newColumn('name', true));
  const all = [...columns.values()];
  return [...all.filter(({ isPinned }) => isPinned), ...all.filter(({ isPinned }) => !isPinned)];
}

/** What a column is called: its name, and what it is about in a word. */
export type ColumnTitle = { readonly name: string; readonly about: string };

/** The title of a column. */
export function titleOf(path: string): ColumnTitle {
  if (path.startsWith(CURVE_PREFIX)) {
    const key = path.slice(CURVE_PREFIX.length);
    return key === '' ? { name: t('Loss'), about: '' } : { name: key, about: t('curve') };
  }
  const known = fieldTitle(path);
  if (known !== undefined) return { name: known, about: '' };
  const metric = /^metrics\.(.+)\.(last|lastStep|min|max|best|bestStep)$/.exec(path);
  if (metric !== null) return { name: metric[1] ?? '', about: statisticWord(metric[2] ?? '') };
  const [, part = '', name = path] = /^(config|metadata|summary|tags)\.(.+)$/.exec(path) ?? [];
  return { name, about: part === 'config' ? '' : part };
}

/** What is said of a column where all of it has to be said. */
export function fullTitle(path: string): string {
  const { name, about } = titleOf(path);
  return about === '' ? name : `${name} (${about})`;
}

function statisticWord(statistic: string): string {
  switch (statistic) {
    case 'best':
      return t('best');
    case 'min':
      return t('min');
    case 'max':
      return t('max');
    case 'lastStep':
      return t('last step');
    case 'bestStep':
      return t('step of the best');
    default:
      return t('last');
  }
}

function fieldTitle(path: string): string | undefined {
  switch (path) {
    case 'name':
      return t('Run');
    case 'project':
      return t('Project');
    case 'status':
      return t('Status');
    case 'statusReason':
      return t('Reason of the status');
    case 'problem':
      return t('Problem of the record');
    case 'tags':
      return t('Tags');
    case 'groups':
      return t('Groups');
    case 'jobType':
      return t('Job type');
    case 'notes':
      return t('Notes');
    case 'description':
      return t('Description');
    case 'startedAt':
      return t('Started');
    case 'endedAt':
      return t('Ended');
    case 'updatedAt':
      return t('Changed');
    case 'durationMs':
      return t('Duration');
    case 'host':
      return t('Host');
    case 'health':
      return t('Health');
    case 'alerts':
      return t('Alerts');
    case 'gitCommit':
      return t('Commit');
    case 'parentRunId':
      return t('Parent');
    case 'configHash':
      return t('Hash of the configuration');
    case 'configRevision':
      return t('Use of the configuration');
    case LOSS_PATH:
      return t('Loss');
    case 'id':
      return t('Id');
    default:
      return undefined;
  }
}

/** Whether larger values of a column are asked for first. */
export function startsDescending(path: string): boolean {
  return ['startedAt', 'endedAt', 'updatedAt', 'durationMs', 'alerts'].includes(path);
}

/** Paths of the configuration in which the runs differ. */
export function differingPaths(
  columns: readonly Pick<RunColumn, 'path' | 'distinct' | 'runs'>[],
): readonly string[] {
  const runs = Math.max(0, ...columns.map((column) => column.runs));
  return columns
    .filter(({ path }) => path.startsWith('config.'))
    .filter((column) => column.distinct > 1 || column.runs < runs)
    .map(({ path }) => path)
    .slice(0, MAX_DIFFERING);
}
