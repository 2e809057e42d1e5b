/** Metrics in sections by the beginning of their names. */
import { isMachineMetric, SPLITS } from '../../charts/group.ts';

/** Metrics whose names begin alike. */
export type MetricSection = {
  readonly id: string;
  readonly metrics: readonly string[];
  /** Whether it is about the machine, which is seldom what runs are compared by. */
  readonly isMachine: boolean;
};

/** Sections in the order of their first metrics; those of parts of the data and those without a `/` are one. */
export function metricSections(metrics: readonly string[]): readonly MetricSection[] {
  const sections = new Map<string, string[]>();
  for (const metric of metrics) {
    const cut = metric.indexOf('/');
    const prefix = cut <= 0 ? '' : metric.slice(0, cut);
    const id = SPLITS.includes(prefix) ? '' : prefix;
    const section = sections.get(id);
    if (section === undefined) sections.set(id, [metric]);
    else section.push(metric);
  }
  return [...sections].map(([id, own]) => ({
    id,
    metrics: own,
    isMachine: own.every(isMachineMetric),
  }));
}
