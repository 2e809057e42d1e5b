/**
 * The index of a gallery: what a page lists of runs that lie beside it as `.quark` files, before it fetches any of them. It is read from
 * any web server, so each entry is checked: a file is a relative path below the index, and a run is one that a store could list.
 */
import { invalidInput, isQuarkError, messageOf } from '../../base/errors.ts';
import { runShape, type StoredRun } from '../../records/shapes/run.ts';
import { checkShape, shapeFromJson } from '../../schema/shape.ts';

/** Most runs of a gallery. */
export const MAX_GALLERY_RUNS = 10_000;
/** Longest run record of an index, as JSON. */
export const MAX_GALLERY_RECORD_CHARS: number = 64 * 1024;
/** Points of a curve of an index, and curves of a run. */
export const MAX_GALLERY_CURVE_POINTS = 80;
export const MAX_GALLERY_CURVES = 4;
/** Version of the form. */
export const GALLERY_VERSION = 1;
const MAX_PATH_CHARS = 300;
const MAX_TITLE_CHARS = 200;
const MAX_PROBLEMS = 20;

/** No part of such a path leads up, names a server or has an escape in it. */
const FILE = /^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*){0,7}\.quark$/;

/** A curve of a list: a few points of a metric. */
export type GalleryCurve = {
  readonly key: string;
  readonly steps: readonly number[];
  readonly values: readonly number[];
};

/** A run of a gallery. */
export type GalleryRun = {
  /** Path of its `.quark` file, relative to the index. */
  readonly file: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** The run as a store lists it; its environment and long texts may be missing. */
  readonly run: StoredRun;
  /** Curves of its first losses, for lists. */
  readonly curves: readonly GalleryCurve[];
};

/** The runs of a gallery. */
export type Gallery = {
  readonly title: string;
  readonly runs: readonly GalleryRun[];
  /** What is wrong with entries that were left out, as sentences; of many, the first 20. */
  readonly problems: readonly string[];
};

/**
 * Reads the `gallery` of a `quark.json`. Entries that are wrong are left out, and said.
 *
 * @param value the parsed JSON: an object with `version`, `title` and `runs`
 * @throws {QuarkError} `invalid_input` when it is no index, of a later version, or of more than {@link MAX_GALLERY_RUNS} runs
 * @example
 * ```js
 * import { createMemoryStore, MetricsLogger, openRun, TrainingSession } from 'quark-sdk';
 * import { galleryRun, galleryText, readGallery } from 'quark-sdk/exchange';
 *
 * const store = createMemoryStore();
 * const runId = await TrainingSession.run({ project: 'digits', storage: store }, (session) => {
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1, 2], [0.9, 0.5, 0.4]);
 *   return session.runId;
 * });
 * const reader = await openRun(store, runId);
 * const text = galleryText('Digits', [await galleryRun(reader, 'runs/first.quark', 4096)]);
 * const { gallery } = JSON.parse(text); // in a page: await (await fetch('quark.json')).json()
 * const { title, runs, problems } = readGallery(gallery);
 * console.log(title, runs[0].file, problems); // Digits runs/first.quark []
 * ```
 */
export function readGallery(value: unknown): Gallery {
  if (!isObject(value)) throw invalidInput('gallery', value, 'an object');
  const { runs, title, version } = value;
  if (version !== GALLERY_VERSION)
    throw invalidInput('gallery.version', version, `${GALLERY_VERSION}, which this Quark reads`);
  if (!Array.isArray(runs) || runs.length > MAX_GALLERY_RUNS)
    throw invalidInput('gallery.runs', runs, `a list of at most ${MAX_GALLERY_RUNS} runs`);
  const problems: string[] = [];
  const byId = new Map<string, GalleryRun>();
  for (const [at, one] of runs.entries()) {
    const field = `gallery.runs[${at}]`;
    try {
      const read = entryOf(field, one);
      if (byId.has(read.run.id)) throw invalidInput(`${field}.run.id`, read.run.id, 'a run once');
      byId.set(read.run.id, read);
    } catch (error) {
      if (!isQuarkError(error, 'invalid_input')) throw error;
      if (problems.length < MAX_PROBLEMS) problems.push(messageOf(error));
    }
  }
  return {
    title: typeof title === 'string' ? title.slice(0, MAX_TITLE_CHARS) : '',
    runs: [...byId.values()],
    problems,
  };
}

function entryOf(field: string, value: unknown): GalleryRun {
  if (!isObject(value)) throw invalidInput(field, value, 'an object');
  const { bytes, curves, file, run } = value;
  if (typeof file !== 'string' || file.length > MAX_PATH_CHARS || !FILE.test(file))
    throw invalidInput(
      `${field}.file`,
      file,
      'a relative path to a .quark file, of letters, digits, ".", "_" and "-"',
    );
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0)
    throw invalidInput(`${field}.bytes`, bytes, 'a size in bytes');
  const stored = shapeFromJson(runShape, run, (path, wrong, rule) =>
    invalidInput(path === '' ? `${field}.run` : `${field}.run.${path}`, wrong, rule),
  );
  checkShape(runShape, stored, `${field}.run.`);
  if (stored.document.length > MAX_GALLERY_RECORD_CHARS)
    throw invalidInput(
      `${field}.run.document`,
      stored.document.length,
      `at most ${MAX_GALLERY_RECORD_CHARS} characters`,
    );
  return { file, bytes, run: stored, curves: curvesOf(curves) };
}

/** Curves are for the eye: what is none is left out. */
function curvesOf(value: unknown): readonly GalleryCurve[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_GALLERY_CURVES).flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const { key, steps, values } = one;
    if (typeof key !== 'string' || !isNumbers(steps) || !isNumbers(values)) return [];
    return steps.length === values.length ? [{ key, steps, values }] : [];
  });
}

function isNumbers(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_GALLERY_CURVE_POINTS &&
    value.every((one) => typeof one === 'number')
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
