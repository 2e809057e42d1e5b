/** What the index of a gallery says of a run: enough for a list with its filters, without the parts that only the page of the run shows. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { readCurves } from '../../read/curves.ts';
import type { RunReader } from '../../read/run-reader.ts';
import { runShape, type StoredRun } from '../../records/shapes/run.ts';
import { shapeToJson } from '../../schema/shape.ts';
import { RunNotFoundError } from '../../base/errors.ts';
import {
  GALLERY_VERSION,
  MAX_GALLERY_CURVE_POINTS,
  MAX_GALLERY_CURVES,
  MAX_GALLERY_RECORD_CHARS,
  type GalleryCurve,
  type GalleryRun,
} from './gallery-index.ts';

const MAX_NOTES_CHARS = 2000;
const CURVE_PARTS = 16;
/** Digits of the values of a small curve. */
const DIGITS = 5;
/** Parts of a record that are left out one after the other where it is too long. */
const DISPENSABLE = ['metadata', 'summary', 'metric_summaries', 'notes', 'config'] as const;

/**
 * The entry of a run in the index of a gallery.
 *
 * @param reader the run, as `openRun` gives it
 * @param file path of its `.quark` file, relative to the index
 * @param bytes size of that file
 * @throws {RunNotFoundError} when it was deleted meanwhile
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { galleryRun } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const { file, bytes, curves } = await galleryRun(reader, `runs/${reader.run.id}.quark`, 4096);
 * console.log(file.endsWith('.quark'), bytes, curves[0].key); // true 4096 train/loss
 * ```
 */
export async function galleryRun(
  reader: RunReader,
  file: string,
  bytes: number,
): Promise<GalleryRun> {
  const { run, store } = reader;
  const stored = await store.findRun(run.id);
  if (stored === undefined) throw new RunNotFoundError(run.id, store.uri);
  const { archivedAtMs: _, ...rest } = stored;
  return {
    file,
    bytes,
    run: { ...rest, revision: 1, document: shortDocument(stored) },
    curves: await smallCurves(reader),
  };
}

/**
 * The text of a `quark.json` that makes the folder around it a gallery.
 *
 * @param title what the gallery is called
 * @example
 * ```js
 * import { mkdir, writeFile } from 'node:fs/promises';
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { galleryRun, galleryText } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const entries = [await galleryRun(reader, `runs/${reader.run.id}.quark`, 4096)];
 * await mkdir('site');
 * await writeFile('site/quark.json', galleryText('Digits', entries));
 * console.log(JSON.parse(galleryText('Digits', entries)).gallery.title); // Digits
 * ```
 */
export function galleryText(title: string, runs: readonly GalleryRun[]): string {
  const listed = runs.map(({ run, ...entry }) =>
    Object.assign(entry, { run: shapeToJson(runShape, run) }),
  );
  return `${JSON.stringify({ gallery: { version: GALLERY_VERSION, title, runs: listed } })}\n`;
}

function shortDocument({ document }: StoredRun): string {
  const record = JSON.parse(document) as JsonObject;
  const { environment, notes } = record;
  const shown: Record<string, JsonValue> = { ...record, environment: hostOf(environment) };
  if (typeof notes === 'string') shown['notes'] = notes.slice(0, MAX_NOTES_CHARS);
  let text = JSON.stringify(shown);
  for (const name of DISPENSABLE) {
    if (text.length <= MAX_GALLERY_RECORD_CHARS) break;
    if (name === 'config') shown[name] = {};
    else delete shown[name];
    text = JSON.stringify(shown);
  }
  return text;
}

function hostOf(environment: JsonValue | undefined): JsonObject {
  const host =
    typeof environment === 'object' && environment !== null
      ? Reflect.get(environment, 'hostname')
      : undefined;
  return typeof host === 'string' ? { hostname: host } : {};
}

async function smallCurves(reader: RunReader): Promise<readonly GalleryCurve[]> {
  const keys = await reader.metricKeys();
  const losses = keys.filter((key) => key.toLowerCase().includes('loss'));
  const wanted = (losses.length > 0 ? losses : keys).slice(0, MAX_GALLERY_CURVES);
  if (wanted.length === 0) return [];
  const query = { runId: reader.run.id, metricKeys: wanted, buckets: CURVE_PARTS };
  const { curves } = await readCurves(reader.store, query);
  return curves.map(({ metricKey: key, steps, values }) => {
    const points = Array.from(values, (value, at) => [steps[at] ?? Number.NaN, value] as const)
      .filter(([step, value]) => Number.isFinite(step) && Number.isFinite(value))
      .slice(0, MAX_GALLERY_CURVE_POINTS);
    return {
      key,
      steps: points.map(([step]) => step),
      values: points.map(([, value]) => Number(value.toPrecision(DIGITS))),
    };
  });
}
