/** The JSON file of Track: a list of projects with their trials, each of which becomes a run. */
import { fileName, type InputFile } from '../../../codecs/input.ts';
import type { ImportContext, Importer, RunSink } from '../sink/importer.ts';
import { readJsonFile } from '../../../codecs/json/lenient-json.ts';
import { metricNumber } from '../../../codecs/number-text.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

const MAX_ERRORS = 1000;
/** By name, which counts where it and the number disagree. */
const STATUSES: Readonly<Record<string, 'completed' | 'failed' | 'interrupted'>> = {
  completed: 'completed',
  finishedgroup: 'completed',
  exception: 'failed',
  broken: 'failed',
  errorgroup: 'failed',
  interrupted: 'interrupted',
  suspended: 'interrupted',
  running: 'interrupted',
  runninggroup: 'interrupted',
  createdgroup: 'interrupted',
};

/** Track. */
export const track: Importer = {
  format: 'track',
  title: 'Track (its JSON file, and the report that it prints)',
  detect({ text }) {
    if (isReport(text)) return 0.95;
    if (!/^\s*\[/.test(text)) return 0;
    return /"dtype"\s*:\s*"project"/.test(text) && text.includes('"trials"') ? 1 : 0;
  },
  async read(files, context) {
    for (const file of files) await readProjects(file, context);
  },
};

/** One trial without its project: what `client.report()` prints. */
function isReport(text: string): boolean {
  return (
    /^\s*\{/.test(text) &&
    ['revision', 'parameters', 'metrics', 'chronos', 'status'].every((key) =>
      new RegExp(`"${key}"\\s*:`).test(text),
    )
  );
}

async function readProjects(file: InputFile, context: ImportContext): Promise<void> {
  const projects = await readJsonFile(file, context.limits);
  if (isRowObject(projects)) {
    const project = { name: null, uid: null };
    await readTrial({ file, place: '$', project, groups: new Map(), context }, projects);
    return;
  }
  for (const [i, project] of (Array.isArray(projects) ? projects : []).entries()) {
    const trials: unknown = isRowObject(project) ? project['trials'] : undefined;
    if (!isRowObject(project) || !Array.isArray(trials)) {
      const reason = 'It is no project with a list of trials.';
      context.problem({ file: file.path, place: `[${i}]`, reason });
      continue;
    }
    const groups = groupNames(project['groups']);
    for (const [j, trial] of trials.entries()) {
      const place = `[${i}].trials[${j}]`;
      if (isRowObject(trial)) await readTrial({ file, place, project, groups, context }, trial);
      else context.problem({ file: file.path, place, reason: 'It is no trial.' });
    }
  }
}

/** Where a trial stands: its file, its project and the groups of that project. */
type TrialContext = {
  readonly file: InputFile;
  readonly place: string;
  readonly project: RowObject;
  readonly groups: ReadonlyMap<unknown, string>;
  readonly context: ImportContext;
};

async function readTrial(
  { context, file, groups, place, project }: TrialContext,
  trial: RowObject,
): Promise<void> {
  const uid = textOf(trial['uid']) ?? place;
  const group = groups.get(trial['group_id']);
  const metadata = isRowObject(trial['metadata']) ? trial['metadata'] : {};
  const tags = isRowObject(trial['tags']) ? trial['tags'] : {};
  const sink = await context.run({
    identity: `${fileName(file.path)}\n${uid}`,
    name: textOf(trial['name']) ?? uid,
    project: textOf(project['name']) ?? textOf(project['uid']),
    tags: [
      'track',
      ...(group === undefined ? [] : [group]),
      ...Object.entries(tags).map(([key, value]) =>
        value === null || value === true ? key : `${key}=${textOf(value) ?? JSON.stringify(value)}`,
      ),
    ],
  });
  if (isRowObject(trial['parameters'])) sink.config(trial['parameters']);
  const { uid: _, hash, revision, version, description, group_id: groupId } = trial;
  sink.environment({
    track: { uid, hash, revision, version, description, group_id: groupId, metadata },
  });
  sink.status(statusOf(isRowObject(trial['status']) ? trial['status'] : {}));
  for (const error of Array.isArray(trial['errors']) ? trial['errors'].slice(0, MAX_ERRORS) : []) {
    const payload = { error: (textOf(error) ?? JSON.stringify(error)).slice(0, 10_000) };
    sink.event({ eventType: 'run_failed', severity: 'error', payload });
  }
  const metrics = isRowObject(trial['metrics']) ? trial['metrics'] : {};
  for (const [name, series] of Object.entries(metrics)) {
    const left = await readSeries(name, series, sink);
    if (left === 0) continue;
    const reason = `${left} values are no numbers: left out.`;
    context.problem({ file: file.path, place: `${place}.metrics.${name.slice(0, 100)}`, reason });
  }
  readChronos(isRowObject(trial['chronos']) ? trial['chronos'] : {}, sink);
}

function statusOf({ name, value }: RowObject): 'completed' | 'failed' | 'interrupted' {
  const known = STATUSES[String(name).toLowerCase()];
  if (known !== undefined) return known;
  // Names of the user: hundreds say what kind of status it is.
  const kind = typeof value === 'number' ? Math.floor(value / 100) : 0;
  if (kind === 3) return 'completed';
  return kind === 2 ? 'failed' : 'interrupted';
}

/** With steps it is an object, without a list; a list that steps were logged to later has pairs in it. How many values are left out. */
async function readSeries(name: string, series: unknown, sink: RunSink): Promise<number> {
  const metric = sink.metric(name);
  let left = 0;
  const add = (step: number, written: unknown): void => {
    const value = metricNumber(written);
    if (value === undefined) left++;
    else sink.push(metric, value, step, Number.NaN, Number.NaN);
  };
  if (Array.isArray(series)) {
    for (const item of series) {
      if (Array.isArray(item) && item.length === 2)
        add(metricNumber(item[0]) ?? Number.NaN, item[1]);
      else add(Number.NaN, item);
      if (sink.isFull) await sink.flush();
    }
  } else if (isRowObject(series)) {
    for (const [step, value] of Object.entries(series)) {
      add(metricNumber(step) ?? Number.NaN, value);
      if (sink.isFull) await sink.flush();
    }
  } else add(Number.NaN, series);
  return left;
}

/** Times that were taken: a number, or the sums of a stream of them, from which mean and deviation follow. */
function readChronos(chronos: RowObject, sink: RunSink): void {
  const push = (name: string, value: number | undefined): void => {
    if (value !== undefined)
      sink.push(sink.metric(`chronos/${name}`), value, Number.NaN, Number.NaN, Number.NaN);
  };
  for (const [name, chrono] of Object.entries(chronos)) {
    push(name, metricNumber(chrono));
    if (!isRowObject(chrono)) continue;
    const field = (key: string): number => metricNumber(chrono[key]) ?? Number.NaN;
    if (chrono['dtype'] !== 'statstream') {
      for (const [key, value] of shortChrono(chrono, field)) push(`${name}/${key}`, value);
      continue;
    }
    // Sums are of values less the first one; the first `drop_obs` values count for the extremes only.
    if (!(field('current_count') > 0)) continue;
    const count = Math.max(field('current_count') - field('drop_obs'), 1);
    const mean = field('sum') / count;
    push(`${name}/count`, count);
    push(`${name}/avg`, field('first_obs') + mean);
    push(`${name}/sd`, Math.sqrt(Math.max(0, field('sum_sqr') / count - mean * mean)));
    push(`${name}/min`, field('min'));
    push(`${name}/max`, field('max'));
    push(`${name}/total`, field('sum') + field('first_obs') * count);
  }
}

/**
 * The short form of a chrono has mean, deviation and extremes. Its `count` is the number of measurements where it says its unit, else
 * their sum: Track writes the total under that name.
 */
function shortChrono(
  chrono: RowObject,
  field: (key: string) => number,
): readonly (readonly [key: string, value: number])[] {
  const mean = field('avg');
  if (!Number.isFinite(mean)) return [];
  const hasUnit = typeof chrono['unit'] === 'string';
  const total = hasUnit ? field('count') * mean : field('count');
  const count = hasUnit ? field('count') : Math.round(total / mean);
  const values = { count, avg: mean, sd: field('sd'), min: field('min'), max: field('max'), total };
  // Of nothing measured, Track has an infinite minimum.
  return Object.entries(values).filter(([, value]) => Number.isFinite(value));
}

function groupNames(groups: unknown): Map<unknown, string> {
  const names = new Map<unknown, string>();
  for (const group of Array.isArray(groups) ? groups : []) {
    const name = isRowObject(group) ? textOf(group['name']) : undefined;
    if (isRowObject(group) && name !== undefined) names.set(group['uid'], name);
  }
  return names;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
