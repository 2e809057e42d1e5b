/** Which classes, samples and sequences batches showed, counted batch by batch. */
import type { JsonObject } from '../../base/json.ts';
import { exposureSummaryRecord, type ExposureSummary } from './findings.ts';
import { compareClasses } from './labels.ts';

const MOST_SEEN = 10;

/** What of a batch is counted. */
export type ShownBatch = {
  readonly step: number | null;
  readonly batchSize: number | null;
  readonly classCounts: JsonObject | null;
  readonly sampleIds: Iterable<string> | null;
  readonly sequenceLengths: Iterable<number> | null;
};

export class Exposure {
  readonly #classes = new Map<string, number>();
  readonly #samples = new Map<string, number>();
  #batchCount = 0;
  #sampleCount = 0;
  #stepStart = Number.POSITIVE_INFINITY;
  #stepEnd = Number.NEGATIVE_INFINITY;
  #sequenceCount = 0;
  #lengthSum = 0;
  #shortest = Number.POSITIVE_INFINITY;
  #longest = 0;

  add({ step, batchSize, classCounts, sampleIds, sequenceLengths }: ShownBatch): void {
    this.#batchCount += 1;
    this.#sampleCount += batchSize ?? 0;
    if (step !== null) {
      this.#stepStart = Math.min(this.#stepStart, step);
      this.#stepEnd = Math.max(this.#stepEnd, step);
    }
    if (classCounts !== null) {
      for (const [label, count] of Object.entries(classCounts))
        if (typeof count === 'number') increase(this.#classes, label, count);
    }
    if (sampleIds !== null) for (const id of sampleIds) increase(this.#samples, id, 1);
    if (sequenceLengths !== null) {
      for (const length of sequenceLengths) {
        this.#sequenceCount += 1;
        this.#lengthSum += length;
        this.#shortest = Math.min(this.#shortest, length);
        this.#longest = Math.max(this.#longest, length);
      }
    }
  }

  /** Adds what another one has counted. */
  join(other: Exposure): void {
    this.#batchCount += other.#batchCount;
    this.#sampleCount += other.#sampleCount;
    this.#stepStart = Math.min(this.#stepStart, other.#stepStart);
    this.#stepEnd = Math.max(this.#stepEnd, other.#stepEnd);
    for (const [label, count] of other.#classes) increase(this.#classes, label, count);
    for (const [id, count] of other.#samples) increase(this.#samples, id, count);
    this.#sequenceCount += other.#sequenceCount;
    this.#lengthSum += other.#lengthSum;
    this.#shortest = Math.min(this.#shortest, other.#shortest);
    this.#longest = Math.max(this.#longest, other.#longest);
  }

  summary(): ExposureSummary {
    const bySize = [...this.#classes].toSorted(([a, m], [b, n]) => n - m || compareClasses(a, b));
    const [majority] = bySize;
    const minority = bySize.at(-1);
    const labelled = bySize.reduce((sum, [, count]) => sum + count, 0);
    const hasSteps = this.#stepStart <= this.#stepEnd;
    const hasSequences = this.#sequenceCount > 0;
    const { repeated, mostSeen } = this.#repetition();
    return exposureSummaryRecord.wrap({
      batchCount: this.#batchCount,
      sampleCount: this.#sampleCount,
      stepStart: hasSteps ? this.#stepStart : null,
      stepEnd: hasSteps ? this.#stepEnd : null,
      classCounts: inClassOrder(bySize, (count) => count),
      classShares: inClassOrder(bySize, (count) => (labelled === 0 ? 0 : count / labelled)),
      majorityClass: majority?.[0] ?? null,
      minorityClass: minority?.[0] ?? null,
      imbalanceRatio:
        majority === undefined || minority === undefined || minority[1] === 0
          ? null
          : majority[1] / minority[1],
      uniqueSampleCount: this.#samples.size,
      repeatedSampleCount: repeated,
      maxSampleExposure: mostSeen[0]?.[1] ?? 0,
      mostSeenSampleIds: mostSeen.map(([id]) => id),
      sequenceCount: this.#sequenceCount,
      sequenceLengthMin: hasSequences ? this.#shortest : null,
      sequenceLengthMean: hasSequences ? this.#lengthSum / this.#sequenceCount : null,
      sequenceLengthMax: hasSequences ? this.#longest : null,
    });
  }

  /** Samples that were seen again, and the few that were seen most. There may be millions: they are not sorted. */
  #repetition(): { repeated: number; mostSeen: readonly (readonly [string, number])[] } {
    let repeated = 0;
    const mostSeen: (readonly [string, number])[] = [];
    for (const entry of this.#samples) {
      if (entry[1] > 1) repeated += 1;
      const last = mostSeen[MOST_SEEN - 1];
      if (last !== undefined && compareSeen(entry, last) > 0) continue;
      const at = mostSeen.findIndex((other) => compareSeen(entry, other) < 0);
      mostSeen.splice(at < 0 ? mostSeen.length : at, 0, entry);
      mostSeen.length = Math.min(mostSeen.length, MOST_SEEN);
    }
    return { repeated, mostSeen };
  }
}

/** Most seen first; of equal ones the first by name. */
function compareSeen([a, m]: readonly [string, number], [b, n]: readonly [string, number]): number {
  return n - m || (a < b ? -1 : 1);
}

function increase(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function inClassOrder(
  counts: readonly (readonly [string, number])[],
  value: (count: number) => number,
): JsonObject {
  return Object.fromEntries(
    counts
      .toSorted(([a], [b]) => compareClasses(a, b))
      .map(([label, count]) => [label, value(count)]),
  );
}
