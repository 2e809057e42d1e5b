/** Parts of W&B's records: what describes a run, times, texts, numbers, histograms. */
import type { JsonObject } from '../../../base/json.ts';
import { binsOf, type Interval } from './histogram-bins.ts';
import type { ImportLimits } from '../../../codecs/limits.ts';
import { ProtoReader } from '../../../codecs/protobuf/reader.ts';

/** What tells a run before its rows. */
export type WandbRun = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly startedAtMs: number | null;
  readonly tags: readonly string[];
};

/** Field of Record that has the run. */
export const RUN = 17;

const MAX_TEXT_CHARS = 10_000;

/** What RunRecord says, when the record at `[start, end)` is one. */
export function readRun(
  bytes: Uint8Array<ArrayBuffer>,
  view: DataView,
  start: number,
  end: number,
): WandbRun | undefined {
  const record = new ProtoReader().open(bytes, view, start, end);
  while (record.next()) {
    if (record.field !== RUN) continue;
    const run = new ProtoReader().enter(record);
    const found = { id: '', name: '', project: '', startedAtMs: null as number | null, tags: [] };
    while (run.next()) {
      if (run.field === 1) found.id = run.text(1024);
      else if (run.field === 3) found.project = run.text(1024);
      else if (run.field === 8) found.name = run.text(1024);
      else if (run.field === 17) found.startedAtMs = wandbTimeOf(run);
    }
    return run.isBroken ? undefined : found;
  }
  return undefined;
}

/** google.protobuf.Timestamp. */
export function wandbTimeOf(field: ProtoReader): number {
  const message = new ProtoReader().enter(field);
  let timeMs = 0;
  while (message.next()) {
    if (message.field === 1) timeMs += message.integer * 1000;
    else if (message.field === 2) timeMs += message.integer / 1e6;
  }
  return timeMs;
}

export function wandbTextsOf(
  field: ProtoReader,
  names: ReadonlyMap<number, string>,
): Readonly<Record<string, string>> {
  const message = new ProtoReader().enter(field);
  const texts: Record<string, string> = {};
  while (message.next()) {
    const name = names.get(message.field);
    if (name !== undefined) texts[name] = message.text(MAX_TEXT_CHARS);
  }
  return texts;
}

const WORDS = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
]);

/** W&B writes numbers that JSON has not as text, and booleans are numbers of 0 and 1. */
export function wandbNumberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'string') return WORDS.get(value);
  return typeof value === 'boolean' ? Number(value) : undefined;
}

/** `bins` and `values`, or bins of one width packed as where they begin and how wide they are. */
export function wandbHistogramOf(value: object, limits: ImportLimits): JsonObject | null {
  const counts: unknown = Reflect.get(value, 'values');
  if (!Array.isArray(counts) || counts.length > limits.maxTensorValues) return null;
  const bins: unknown = Reflect.get(value, 'bins');
  const packed: unknown = Reflect.get(value, 'packedBins');
  let edgeAt: (i: number) => number;
  if (Array.isArray(bins) && bins.length === counts.length + 1) edgeAt = (i) => Number(bins[i]);
  else if (typeof packed === 'object' && packed !== null) {
    const min = Number(Reflect.get(packed, 'min'));
    const size = Number(Reflect.get(packed, 'size'));
    edgeAt = (i) => min + size * i;
  } else return null;
  const intervals = counts.map((count, i): Interval => [edgeAt(i), edgeAt(i + 1), Number(count)]);
  return binsOf(intervals);
}
