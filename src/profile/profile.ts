/** What a profile is: checkpoints in the order of time, readings that came later, and the scopes that follow from them. */
import { MEMORY_MEASURES, type MetricNote, type ProfileValues } from './measures.ts';

/**
 * How the peak of resident memory since the checkpoint before is known. `reset`: the kernel counted it from that checkpoint on.
 * `risen`: the highest mark of the process has risen since, so that it is the peak. `sampled`: the most that was seen, ten times a
 * second and at both ends; a shorter peak may have been higher.
 */
export const PEAK_SOURCES = ['reset', 'risen', 'sampled'] as const;
/** One of {@link PEAK_SOURCES}. */
export type PeakSource = (typeof PEAK_SOURCES)[number];

/** Which end of which scope a checkpoint is. */
export type ScopeMark = {
  readonly id: number;
  readonly name: string;
  readonly boundary: 'start' | 'end';
  /** The scope around it, or null. */
  readonly parentId: number | null;
  /** Whether Quark opened it by itself. */
  readonly isAutomatic: boolean;
  /** Whether its work threw; known at its end. */
  readonly hasFailed: boolean;
};

/** The state of a program at one moment. */
export type ProfileCheckpoint = {
  /** Counts up from 0. */
  readonly index: number;
  /** Such as `Start`, `Model Loading End`. */
  readonly name: string;
  /** Milliseconds since the profile began. */
  readonly atMs: number;
  /** The instant, in UTC epoch milliseconds. */
  readonly timeMs: number;
  /** What was measured at this moment, and what was read of GPUs and pages after it. */
  readonly values: ProfileValues;
  /** Of `rss_peak_bytes`; null where that is not known. */
  readonly peakSource: PeakSource | null;
  readonly scope: ScopeMark | null;
};

/** A GPU in a reading. */
export type GpuReading = {
  readonly index: number;
  readonly name: string | null;
  readonly usedBytes: number;
  readonly totalBytes: number | null;
};

/** What could only be read later than a checkpoint: it has a time of its own. */
export type ProfileReading = {
  readonly measure: 'gpu_bytes' | 'page_bytes';
  /** Milliseconds since the profile began. */
  readonly atMs: number;
  /** Indices of the checkpoints that it is the first reading after. */
  readonly checkpoints: readonly number[];
  /** Bytes, of all GPUs together. */
  readonly value: number;
  readonly gpus: readonly GpuReading[];
};

/** A span of a program. */
export type ProfileScope = {
  readonly id: number;
  readonly name: string;
  readonly parentId: number | null;
  /** 0 for a scope that is in no other. */
  readonly depth: number;
  /** Milliseconds since the profile began. */
  readonly startMs: number;
  /** Null for a scope that had not ended when the program did. */
  readonly endMs: number | null;
  readonly isAutomatic: boolean;
  readonly hasFailed: boolean;
  readonly start: ProfileValues;
  /** Null for a scope that had not ended. */
  readonly end: ProfileValues | null;
  /** The most of each memory measure inside, scopes in it included. */
  readonly peaks: ProfileValues;
};

/** A profile of a program. */
export type Profile = {
  readonly id: string;
  /** Null for a profile that is not part of a run. */
  readonly runId: string | null;
  readonly startedAtMs: number;
  /** Milliseconds since the profile began; null for a program that is running or crashed. */
  readonly endedMs: number | null;
  readonly checkpoints: readonly ProfileCheckpoint[];
  readonly readings: readonly ProfileReading[];
  readonly scopes: readonly ProfileScope[];
  /** `total_seconds`, peaks, totals, and the summary metrics of the user. */
  readonly summary: ProfileValues;
  /** Metrics of the user. */
  readonly metrics: readonly MetricNote[];
  /** Checkpoints beyond the limit, which are not in the profile. */
  readonly droppedCheckpoints: number;
};

/** What is recorded of a profile; the rest of a {@link Profile} follows from it. */
export type RecordedProfile = Omit<Profile, 'scopes' | 'summary'> & {
  /** As the program wrote it at its end; empty before. */
  readonly summary: ProfileValues;
};

/** Gives the checkpoints what was read after them, finds the scopes, and fills in the summary. */
export function completeProfile(recorded: RecordedProfile): Profile {
  const later = new Map<number, Record<string, number>>();
  for (const { checkpoints, measure, value } of recorded.readings)
    for (const index of checkpoints) later.set(index, { ...later.get(index), [measure]: value });
  const checkpoints = recorded.checkpoints.map((one) => {
    const values = later.get(one.index);
    return values === undefined ? one : { ...one, values: { ...one.values, ...values } };
  });
  const scopes = scopesOf(checkpoints, recorded.readings);
  const complete = { ...recorded, checkpoints, scopes };
  return { ...complete, summary: { ...summaryOf(complete), ...recorded.summary } };
}

type OpenScope = {
  readonly mark: ScopeMark;
  readonly start: ProfileCheckpoint;
  readonly peaks: Record<string, number>;
};

function scopesOf(
  checkpoints: readonly ProfileCheckpoint[],
  readings: readonly ProfileReading[],
): ProfileScope[] {
  const open = new Map<number, OpenScope>();
  const depths = new Map<number, number>();
  const scopes: ProfileScope[] = [];
  const close = ({ mark, peaks, start }: OpenScope, end: ProfileCheckpoint | null): void => {
    const endMs = end?.atMs ?? Infinity;
    for (const { atMs, measure, value } of readings)
      if (atMs >= start.atMs && atMs <= endMs) raise(peaks, measure, value);
    scopes.push({
      id: mark.id,
      name: mark.name,
      parentId: mark.parentId,
      depth: depths.get(mark.id) ?? 0,
      startMs: start.atMs,
      endMs: end?.atMs ?? null,
      isAutomatic: mark.isAutomatic,
      hasFailed: end?.scope?.hasFailed ?? false,
      start: start.values,
      end: end?.values ?? null,
      peaks,
    });
  };
  for (const one of checkpoints) {
    const { scope, values } = one;
    for (const { peaks } of open.values()) raiseAll(peaks, values);
    if (scope === null) continue;
    const known = open.get(scope.id);
    if (scope.boundary === 'start') {
      depths.set(scope.id, scope.parentId === null ? 0 : (depths.get(scope.parentId) ?? -1) + 1);
      const peaks: Record<string, number> = {};
      // Its peak is one of the time before.
      raiseAll(peaks, { ...values, rss_peak_bytes: Number.NaN });
      open.set(scope.id, { mark: scope, start: one, peaks });
    } else if (known !== undefined) {
      open.delete(scope.id);
      close(known, one);
    }
  }
  for (const left of open.values()) close(left, null);
  return scopes.toSorted((a, b) => a.startMs - b.startMs || a.id - b.id);
}

function raiseAll(peaks: Record<string, number>, values: ProfileValues): void {
  for (const measure of MEMORY_MEASURES) raise(peaks, measure, values[measure]);
  raise(peaks, 'rss_bytes', values['rss_peak_bytes']);
}

function raise(peaks: Record<string, number>, measure: string, value: number | undefined): void {
  if (value !== undefined && value > (peaks[measure] ?? -Infinity)) peaks[measure] = value;
}

/** What the checkpoints say about the whole. */
function summaryOf({
  checkpoints,
  endedMs,
  readings,
}: Pick<Profile, 'checkpoints' | 'endedMs' | 'readings'>): ProfileValues {
  const last = checkpoints.at(-1);
  if (last === undefined) return {};
  const summary: Record<string, number> = { total_seconds: (endedMs ?? last.atMs) / 1000 };
  const peaks: Record<string, number> = {};
  for (const { values } of checkpoints) raiseAll(peaks, values);
  for (const { measure, value } of readings) raise(peaks, measure, value);
  for (const [measure, value] of Object.entries(peaks))
    summary[measure.replace(/(_bytes|_count)$/, '_peak$1')] = value;
  for (const measure of ['disk_read_bytes', 'disk_write_bytes', 'network_bytes'] as const) {
    const value = last.values[measure];
    if (value !== undefined) summary[measure] = value;
  }
  return summary;
}
