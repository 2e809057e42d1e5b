/** Checkpoints of AMD Quark's profiler as those of a profile: MiB as bytes, and the scopes that their names stand for. */
import type { ProfileValues } from './measures.ts';
import type { ProfileCheckpoint, ScopeMark } from './profile.ts';

/** A checkpoint as it was written, with its numbers under their keys. */
export type ForeignCheckpoint = {
  readonly name: string;
  readonly timeMs: number;
  readonly values: Readonly<Record<string, number>>;
};

const MEBIBYTE = 1024 * 1024;
const CHECKPOINT_KEYS: Readonly<Record<string, string>> = {
  cpu_memory_mb: 'rss_bytes',
  gpu_memory_mb: 'gpu_bytes',
  disk_read_mb: 'disk_read_bytes',
  disk_write_mb: 'disk_write_bytes',
};
const SUMMARY_KEYS: Readonly<Record<string, string>> = {
  peak_memory_mb: 'rss_peak_bytes',
  peak_gpu_memory_mb: 'gpu_peak_bytes',
  gpu_peak_memory_mb: 'gpu_peak_bytes',
  total_disk_read_mb: 'disk_read_bytes',
  total_disk_write_mb: 'disk_write_bytes',
};

/** The checkpoints, with a scope for each pair of `X Start` and `X End`. */
export function checkpointsOfForeign(
  foreign: readonly ForeignCheckpoint[],
): readonly ProfileCheckpoint[] {
  const open: Omit<ScopeMark, 'boundary'>[] = [];
  let nextScope = 0;
  const startMs = foreign[0]?.timeMs ?? 0;
  return foreign.map(({ name, timeMs, values }, index) => {
    const { relative_time_secs: seconds, ...measured } = values;
    const [, step, boundary] = /^(.+) (Start|End)$/s.exec(name) ?? [];
    let scope: ScopeMark | null = null;
    if (step !== undefined && boundary === 'Start') {
      const parentId = open.at(-1)?.id ?? null;
      const mark = { id: nextScope++, name: step, parentId, isAutomatic: false, hasFailed: false };
      open.push(mark);
      scope = { ...mark, boundary: 'start' };
    } else if (step !== undefined) {
      const at = open.findLastIndex((one) => one.name === step);
      const [mark] = at < 0 ? [] : open.splice(at, 1);
      if (mark !== undefined) scope = { ...mark, boundary: 'end' };
    }
    return {
      index,
      name,
      atMs: seconds === undefined ? Math.max(0, timeMs - startMs) : 1000 * seconds,
      timeMs,
      values: inBytes(measured, CHECKPOINT_KEYS),
      peakSource: null,
      scope,
    };
  });
}

/** The summary, and how long the profile took where it says so. */
export function summaryOfForeign(values: Readonly<Record<string, number>>): {
  readonly endedMs: number | null;
  readonly summary: ProfileValues;
} {
  const { total_quantization_time_seconds: seconds, ...rest } = values;
  return {
    endedMs: seconds === undefined ? null : 1000 * seconds,
    summary: {
      ...(seconds === undefined ? {} : { total_seconds: seconds }),
      ...inBytes(rest, SUMMARY_KEYS),
    },
  };
}

function inBytes(
  values: Readonly<Record<string, number>>,
  keys: Readonly<Record<string, string>>,
): ProfileValues {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const measure = keys[key];
      return measure === undefined ? [key, value] : [measure, Math.round(value * MEBIBYTE)];
    }),
  );
}
