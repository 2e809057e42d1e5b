/**
 * Which metrics share a chart. `train/loss` and `val/loss` are one story, so splits of the data are joined by name;
 * metrics of any other namespace share a chart only when their names say that they share a unit.
 */

import { getOrMake } from '../parts/maps.ts';
import { t } from '../parts/t.ts';

/** Namespaces that name a part of the data, in the order in which they are listed. */
export const SPLITS: readonly string[] = [
  'train',
  'training',
  'val',
  'valid',
  'validation',
  'eval',
  'test',
];

/** Name endings that are units. */
const UNITS = ['ms', 'seconds', 'bytes', 'mb', 'percent', 'ratio', 'count', 'norm', 'per_second'];

/** Groups that come first, in this order; the others follow by name. */
const FIRST = ['loss', 'accuracy', 'optimizer'];

/** One chart: its title and the metrics on it. */
export type MetricGroup = {
  readonly id: string;
  readonly title: string;
  readonly keys: readonly string[];
};

/** Whether a metric is about the machine, not the model. */
export function isMachineMetric(key: string): boolean {
  return key.startsWith('system/');
}

/** Whether a metric is about the model. */
export function isTrainingMetric(key: string): boolean {
  return !isMachineMetric(key);
}

/** Namespace (null without one) and name of a metric key: `train/loss` is `train` and `loss`. */
export function splitMetricKey(key: string): { namespace: string | null; name: string } {
  const at = key.lastIndexOf('/');
  return at <= 0
    ? { namespace: null, name: key }
    : { namespace: key.slice(0, at), name: key.slice(at + 1) };
}

export { lossMetric as lossKey } from 'quark-sdk/workspace';

/** Charts of the machine: which metrics are one picture. */
const MACHINE_GROUPS: readonly {
  readonly id: string;
  readonly title: () => string;
  readonly pattern: RegExp;
}[] = [
  { id: 'load (percent)', title: () => t('load (percent)'), pattern: /_percent$/ },
  { id: 'step time (ms)', title: () => t('step time (ms)'), pattern: /^system\/runtime\/.*_ms$/ },
  {
    id: 'blocked page (ms)',
    title: () => t('blocked page (ms)'),
    pattern: /^system\/page\/.*_ms$/,
  },
  {
    id: 'memory of the program',
    title: () => t('memory of the program'),
    pattern: /^system\/(process|page)\/.*bytes$/,
  },
  {
    id: 'memory of the machine',
    title: () => t('memory of the machine'),
    pattern: /^system\/(ram|gpu)\/.*bytes$/,
  },
  { id: 'disk', title: () => t('disk'), pattern: /^system\/disk\// },
  {
    id: 'overflows and skipped steps',
    title: () => t('overflows and skipped steps'),
    pattern: /^system\/runtime\/.*_count$/,
  },
];

function groupOf(key: string): { id: string; title: string } {
  const machine = isMachineMetric(key)
    ? MACHINE_GROUPS.find(({ pattern }) => pattern.test(key))
    : undefined;
  if (machine !== undefined) return { id: `machine:${machine.id}`, title: machine.title() };
  const { namespace, name } = splitMetricKey(key);
  if (namespace === null || SPLITS.includes(namespace)) {
    // The mean of an epoch belongs beside the values of its steps.
    const plain = name.replace(/^epoch_/, '');
    return { id: plain, title: plain };
  }
  const unit = UNITS.find((ending) => name.endsWith(`_${ending}`));
  return unit === undefined
    ? { id: key, title: key }
    : { id: `${namespace}:${unit}`, title: `${namespace} (${unit.replace('_', ' ')})` };
}

/** Rank of a namespace within a chart: training before validation before anything else. */
function splitRank(key: string): number {
  const { namespace, name } = splitMetricKey(key);
  if (name.startsWith('epoch_')) return SPLITS.length + 1;
  const rank = namespace === null ? 0 : SPLITS.indexOf(namespace);
  return rank < 0 ? SPLITS.length : rank;
}

function groupRank(id: string): number {
  const machine = MACHINE_GROUPS.findIndex((group) => id === `machine:${group.id}`);
  if (machine >= 0) return FIRST.length + 1 + machine;
  if (isMachineMetric(id)) return FIRST.length + 1 + MACHINE_GROUPS.length;
  const rank = FIRST.findIndex((first) => id === first || id.startsWith(`${first}/`));
  return rank < 0 ? FIRST.length : rank;
}

/** The charts for these metrics, the telling ones first. The order does not depend on the order of the keys. */
export function groupMetrics(keys: readonly string[]): readonly MetricGroup[] {
  const groups = new Map<string, { title: string; keys: string[] }>();
  for (const key of keys) {
    const { id, title } = groupOf(key);
    getOrMake(groups, id, () => ({ title, keys: [] })).keys.push(key);
  }
  return [...groups]
    .map(([id, group]) => {
      const sorted = group.keys.toSorted(
        (a, b) => splitRank(a) - splitRank(b) || compareText(a, b),
      );
      const only = sorted.length === 1 && !id.startsWith('machine:') ? sorted[0] : undefined;
      return { id, title: only ?? group.title, keys: sorted };
    })
    .toSorted((a, b) => groupRank(a.id) - groupRank(b.id) || compareText(a.id, b.id));
}

/** The charts, with those of many curves cut into several. */
export function splitLarge(
  groups: readonly MetricGroup[],
  maxKeys: number,
): readonly MetricGroup[] {
  return groups.flatMap((group): readonly MetricGroup[] => {
    const count = Math.ceil(group.keys.length / maxKeys);
    if (count <= 1) return [group];
    return Array.from({ length: count }, (_, at) => ({
      id: `${group.id}#${at + 1}`,
      title: t('{title}, {part} of {count}', { title: group.title, part: at + 1, count }),
      keys: group.keys.slice(at * maxKeys, (at + 1) * maxKeys),
    }));
  });
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What a metric is called under the title of its chart: below "loss", `train/loss` is just "train". */
export function legendName(key: string, title: string): string {
  const { namespace, name } = splitMetricKey(key);
  if (key === title) return t('last');
  if (namespace === null) return name;
  if (isMachineMetric(key)) return machineName(namespace, name);
  if (name === title) return namespace;
  return name === `epoch_${title}` ? t('{namespace} mean', { namespace }) : key;
}

/** `system/ram/used_bytes` is `ram used`; the unit is on the axis. */
function machineName(namespace: string, name: string): string {
  const plain = name.replace(/_(bytes|percent|ms|count)$/, '').replaceAll('_', ' ');
  const part = namespace.slice('system/'.length);
  return part === 'runtime' || part === 'process' || part === 'page' ? plain : `${part} ${plain}`;
}

/** Which palette entry a metric is drawn in: the same split has the same colour in every chart. */
export function colorIndex(key: string, position: number, paletteSize: number): number {
  const { namespace, name } = splitMetricKey(key);
  if (name.startsWith('epoch_')) return 3;
  switch (namespace) {
    case 'train':
    case 'training':
      return 0;
    case 'val':
    case 'valid':
    case 'validation':
      return 1;
    case 'eval':
    case 'test':
      return 2;
    default:
      return position % paletteSize;
  }
}
