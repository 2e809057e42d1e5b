/** Imports files into a store in memory and gives back what is in it, for tests of formats. */
import { createMemoryStore, openRun, type RunReader } from 'quark-sdk';
import {
  importRuns,
  type ImportOptions,
  type ImportReport,
} from '../../src/exchange/import/import-runs.ts';
import { bytesInput, type InputFile } from '../../src/codecs/input.ts';

/** A sample as tests compare it: step, epoch, value. */
export type Sample = readonly [step: number | null, epoch: number | null, value: number];

/** A run of an import. */
export type ImportedForTest = {
  readonly name: string;
  readonly reader: RunReader;
  /** Samples by metric key, in the order in which they were written. */
  readonly metrics: Readonly<Record<string, readonly Sample[]>>;
  /** Instants of the samples by metric key. */
  readonly times: Readonly<Record<string, readonly number[]>>;
  /** Key by the name in the other tool. */
  readonly keys: Readonly<Record<string, string>>;
};

export async function importText(
  files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>,
  options: ImportOptions = {},
): Promise<{ readonly report: ImportReport; readonly runs: readonly ImportedForTest[] }> {
  return importFiles(
    Object.entries(files).map(([path, content]) => bytesInput(path, content)),
    options,
  );
}

export async function importFiles(
  files: readonly InputFile[],
  options: ImportOptions = {},
): Promise<{ readonly report: ImportReport; readonly runs: readonly ImportedForTest[] }> {
  const store = createMemoryStore();
  const report = await importRuns(files, store, options);
  const runs: ImportedForTest[] = [];
  for (const { runId, name, metrics: names } of report.runs) {
    const reader = await openRun(store, runId);
    const metrics: Record<string, Sample[]> = {};
    const times: Record<string, number[]> = {};
    const columns = await reader.readMetricColumns();
    for (let i = 0; i < columns.rowCount; i++) {
      const key = columns.keys[columns.keyIndex[i] ?? 0] ?? '';
      const orNull = (value: number | undefined): number | null =>
        value === undefined || Number.isNaN(value) ? null : value;
      (metrics[key] ??= []).push([
        orNull(columns.steps[i]),
        orNull(columns.epochs[i]),
        columns.values[i] ?? Number.NaN,
      ]);
      (times[key] ??= []).push(columns.timesMs[i] ?? Number.NaN);
    }
    const keys = Object.fromEntries(
      Object.entries(names).map(([key, original]) => [original, key]),
    );
    runs.push({ name, reader, metrics, times, keys });
  }
  return { report, runs };
}
