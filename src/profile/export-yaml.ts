/** A profile as the YAML of AMD Quark's profiler, for programs that read that. */
import { PROFILE_MEASURES, type ProfileValues } from './measures.ts';
import type { Profile } from './profile.ts';

const MEBIBYTE = 1024 * 1024;

/** Keys of a checkpoint behind its step and times, in their order: bytes are written as MiB with two decimals. */
const CHECKPOINT_KEYS = [
  ['cpu_memory_mb', 'rss_bytes', 'Current RSS memory in megabytes'],
  ['gpu_memory_mb', 'gpu_bytes', 'Current GPU memory usage in megabytes'],
  [
    'disk_read_mb',
    'disk_read_bytes',
    'Cumulative disk bytes read (MB) since the start of profiling',
  ],
  [
    'disk_write_mb',
    'disk_write_bytes',
    'Cumulative disk bytes written (MB) since the start of profiling',
  ],
] as const;
const SUMMARY_KEYS = [
  ['peak_memory_mb', 'rss_peak_bytes', 'Peak CPU memory (RSS) during profiling session'],
  // The documentation says gpu_peak_memory_mb, the program writes this.
  ['peak_gpu_memory_mb', 'gpu_peak_bytes', 'Peak GPU memory during profiling session'],
  [
    'total_disk_read_mb',
    'disk_read_bytes',
    'Total disk bytes read (MB) during the entire profiling session',
  ],
  [
    'total_disk_write_mb',
    'disk_write_bytes',
    'Total disk bytes written (MB) during the entire profiling session',
  ],
] as const;

/**
 * The profile as AMD Quark's profiler writes one, with metrics of one's own behind the keys that it has. MB are MiB, as there. A profile
 * without an end has no summary.
 *
 * @example
 * ```js
 * import { Profiler, profileYaml } from 'quark-sdk/profiler';
 *
 * const profileOf = (length) => {
 *   const profiler = new Profiler(); // without a session: in memory only
 *   profiler.scope('Loading', () => new Float32Array(length).fill(1));
 *   return profiler.close();
 * };
 * console.log(profileYaml(await profileOf(1000)).split('\n')[0]); // # Quark Profiling Results
 * ```
 */
export function profileYaml(profile: Profile): string {
  const own = profile.metrics.filter(({ name }) => !Object.hasOwn(PROFILE_MEASURES, name));
  const ofKind = (kind: 'checkpoint' | 'summary') => own.filter((metric) => metric.kind === kind);
  const lines = [
    '# Quark Profiling Results',
    '# Checkpoints are written in real-time as they occur',
    '',
    profile.checkpoints.length === 0 ? 'memory_usage: []' : 'memory_usage:',
  ];
  for (const { atMs, name, timeMs, values } of profile.checkpoints) {
    lines.push(
      `- step: ${JSON.stringify(name)}`,
      `  timestamp: ${decimal(seconds(timeMs))}`,
      `  relative_time_secs: ${decimal(seconds(atMs))}`,
    );
    const written = withChildren(values);
    for (const [key, measure] of CHECKPOINT_KEYS)
      lines.push(...entry('  ', key, mebibytes(written[measure])));
    for (const { name: key } of ofKind('checkpoint')) lines.push(...entry('  ', key, values[key]));
  }
  if (profile.endedMs !== null) {
    const { summary } = profile;
    lines.push('', '# Summary Metrics');
    lines.push(`total_quantization_time_seconds: ${(profile.endedMs / 1000).toFixed(4)}`);
    for (const [key, measure] of SUMMARY_KEYS)
      lines.push(...entry('', key, mebibytes(summary[measure])));
    for (const { name: key } of ofKind('summary')) lines.push(...entry('', key, summary[key]));
  }
  lines.push('', ...definitions(ofKind('checkpoint'), ofKind('summary')), '');
  return lines.join('\n');
}

/** There the memory of a checkpoint is that of the process and its children. */
function withChildren(values: ProfileValues): ProfileValues {
  const { children_rss_bytes: children = 0, rss_bytes: rss } = values;
  return rss === undefined ? values : { ...values, rss_bytes: rss + children };
}

type Note = { readonly name: string; readonly definition: string; readonly unit: string };

function definitions(checkpoint: readonly Note[], summary: readonly Note[]): string[] {
  const line = (name: string, text: string): string =>
    `# - ${name}: ${text.replaceAll(/\s+/g, ' ')}`;
  const own = (notes: readonly Note[]): string[] =>
    notes.map(({ definition, name, unit }) => line(name, `${definition} (${unit})`.trim()));
  return [
    '# Metric Definitions:',
    '#',
    '# Checkpoint Metrics (per record):',
    line('step', 'Name of the profiling checkpoint'),
    line('timestamp', 'Unix timestamp (seconds since epoch)'),
    line('relative_time_secs', 'Time elapsed since profiling started'),
    ...CHECKPOINT_KEYS.map(([key, , text]) => line(key, text)),
    ...own(checkpoint),
    '#',
    '# Summary Metrics (overall):',
    line('total_quantization_time_seconds', 'Total elapsed time from start to end'),
    ...SUMMARY_KEYS.map(([key, , text]) => line(key, text)),
    ...own(summary),
  ];
}

function entry(indent: string, key: string, value: number | undefined): string[] {
  return value === undefined ? [] : [`${indent}${key}: ${decimal(value)}`];
}

/** With microseconds, which clocks of programs have, and without the noise of a division. */
function seconds(ms: number): number {
  return Math.round(ms * 1000) / 1e6;
}

function mebibytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : Math.round((bytes / MEBIBYTE) * 100) / 100;
}

/** A number that readers of YAML take for a float, whole ones too; small ones without an exponent, which some take for text. */
function decimal(value: number): string {
  const text = String(value);
  if (/[eE]/.test(text)) return value.toFixed(20).replace(/(\.\d+?)0+$/, '$1');
  return Number.isInteger(value) ? `${text}.0` : text;
}
