/** Asks a worker to analyse a run: the one that imported it, or one of its own that opens the store once more. */
import type { Store } from 'quark-sdk';
import type { RunReport } from 'quark-sdk/analysis';
import type { MediaContent, TableCell, TableContent } from 'quark-sdk/media';
import { nextMessage } from '../parts/turns.ts';
import type { ReadSeries } from '../series/series-reader.ts';
import type { ConsoleAnswer } from '../worker/console-columns.ts';
import type { MediaRecord, RunAddress } from '../worker/protocol.ts';
import type { BatchFindings, RunAnalysis, RunFindings } from '../worker/run-analysis.ts';
import { configOfPage } from '../sources/sources.ts';
import { accessTo } from '../sources/server-access.ts';
import { droppedClient } from './dropped-files.ts';
import type { ImportClient } from '../worker/import-client.ts';
import { offeredClient } from '../worker/offered-clients.ts';
import { startWorker } from '../worker/start-worker.ts';
import { t } from '../parts/t.ts';

let own: ImportClient | undefined;

/** Analyses a run of this store. The page stays free meanwhile. */
export function analyzeInWorker(store: Store, runId: string): Promise<RunAnalysis> {
  const { client, run } = workerOf(store, runId);
  return client.analyze(run, configOfPage());
}

/** The stored alerts and phases of a run of this store. */
export function findingsInWorker(store: Store, runId: string): Promise<RunFindings> {
  const { client, run } = workerOf(store, runId);
  return client.findings(run);
}

/** Finds in the batches of a run what the hard ones have in common. */
export function findBatchesInWorker(store: Store, runId: string): Promise<BatchFindings> {
  const { client, run } = workerOf(store, runId);
  return client.findBatches(run);
}

/** Rows that are read at a time: of some metrics all of them, of a whole run so many that the page can show them on the way. */
const ROWS_OF_SOME = 4_000_000;
const ROWS_OF_ALL = 260_000;

/** Reads samples of the runs of a store, so that the page only takes the columns. */
export function samplesInWorker(store: Store): ReadSeries {
  return (query) => {
    const { client, run } = workerOf(store, query.runId);
    const rows = query.metricKeys === undefined ? ROWS_OF_ALL : ROWS_OF_SOME;
    return client.readSamples(run, query, rows);
  };
}

/** The report of a run. */
export function reportInWorker(store: Store, runId: string): Promise<RunReport> {
  const { client, run } = workerOf(store, runId);
  return client.report(run, configOfPage());
}

/** What the program of a run printed: the last `limit` lines of this instant or later. */
export function readConsoleInWorker(
  store: Store,
  runId: string,
  limit: number,
  fromMs: number,
): Promise<ConsoleAnswer> {
  const { client, run } = workerOf(store, runId);
  return client.readConsole(run, limit, fromMs);
}

/** Rows of a table in one message: one takes a few milliseconds to arrive. */
const ROWS_A_PART = 4000;

/** A table of a run, decoded in the worker; its rows come in turns. */
export async function loadTableInWorker(
  store: Store,
  runId: string,
  record: MediaRecord,
): Promise<TableContent> {
  const { client, run } = workerOf(store, runId);
  const rows: (readonly TableCell[])[] = [];
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- a part at a time, so that the page is free between two of them
    const part = await client.readTablePart(run, record, rows.length, ROWS_A_PART);
    for (const row of part.rows) rows.push(row);
    if (rows.length >= part.rowCount || part.rows.length === 0)
      return { columns: part.columns, rows };
    // oxlint-disable-next-line no-await-in-loop -- as above
    await nextMessage();
  }
}

/** Sound of a run, decoded in the worker. */
export function loadSoundInWorker(
  store: Store,
  runId: string,
  record: MediaRecord,
): Promise<MediaContent['audio']> {
  const { client, run } = workerOf(store, runId);
  return client.readSound(run, record);
}

function workerOf(
  store: Store,
  runId: string,
): { readonly client: ImportClient; readonly run: RunAddress } {
  const holder = droppedClient(store) ?? offeredClient(store);
  if (holder !== undefined) return { client: holder, run: { uri: undefined, access: {}, runId } };
  own ??= startWorker('analysis:', t('The code that analyses runs cannot be loaded.'), () => {
    own = undefined;
  }).client;
  const access = accessTo(store.uri.replace(/\/$/, ''));
  return { client: own, run: { uri: store.uri, access, runId } };
}
