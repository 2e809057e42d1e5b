/**
 * Files of the Monitor of Stable-Baselines and OpenAI baselines: a line of JSON behind `#`, then a row for each episode with its reward,
 * length and end. Those of one folder are the environments of one run. An episode stands at the environment step at which it ended.
 */
import { groupByFolder, type InputFile } from '../../../codecs/input.ts';
import { parseLenientJson } from '../../../codecs/json/lenient-json.ts';
import { readLines } from '../../../codecs/lines.ts';
import { metricNumber, numberFromText } from '../../../codecs/number-text.ts';
import type { ImportContext, Importer } from '../sink/importer.ts';
import { reportProblem } from '../sink/problems.ts';
import { runNameOf } from '../sink/run-names.ts';
import { isRowObject, type RowObject } from '../tables/object-rows.ts';

const FIRST_LINE = /^#\s{0,4}(\{.{0,10000}"t_start".{0,10000}\})\s*$/;
const NAMES: Readonly<Record<string, string>> = {
  r: 'rollout/ep_reward',
  l: 'rollout/ep_length',
  t: 'time/time_elapsed',
};
/** Episodes of one run, which are put in order in memory. */
const MAX_EPISODES = 2_000_000;

type Episode = {
  /** UTC epoch milliseconds; seconds since the start of the run where the file does not say when that was. */
  readonly endMs: number;
  readonly values: readonly (readonly [name: string, value: number])[];
  readonly length: number;
};

/** Monitor files. */
export const monitor: Importer = {
  format: 'monitor',
  title: 'Monitor of Stable-Baselines and OpenAI baselines (monitor.csv)',
  detect({ text }) {
    const [first = '', second = ''] = text.split(/\r?\n/, 2);
    return FIRST_LINE.test(first) && /^r,l,t(?:,|$)/.test(second) ? 0.95 : 0;
  },
  group: groupByFolder,
  async read(files, context) {
    const [first] = files;
    if (first === undefined) return;
    const episodes: Episode[] = [];
    const headers: RowObject[] = [];
    for (const file of files) headers.push(await readEpisodes(file, context, episodes));
    const header = headers[0] ?? {};
    episodes.sort((a, b) => a.endMs - b.endMs);
    const started = metricNumber(header['t_start']) ?? 0;
    const sink = await context.run({
      identity:
        files.length === 1 ? first.path : first.path.slice(0, first.path.lastIndexOf('/') + 1),
      name: runNameOf(first.path),
      startedAtMs: started > 0 ? started * 1000 : undefined,
    });
    sink.config(header);
    let step = 0;
    for (const { endMs, length, values } of episodes) {
      step += length;
      for (const [name, value] of values)
        sink.push(sink.metric(name), value, step, Number.NaN, started > 0 ? endMs : Number.NaN);
      if (sink.isFull) await sink.flush();
    }
    if (episodes.length === 0) reportProblem(context, first, null, 'There are no episodes in it.');
  },
};

/** Adds the episodes of a file, and gives back what its first line says. */
async function readEpisodes(
  file: InputFile,
  context: ImportContext,
  episodes: Episode[],
): Promise<RowObject> {
  let header: RowObject | undefined;
  let started = 0;
  let names: readonly string[] = [];
  for await (const { number, text } of readLines(file.stream(), context.limits)) {
    if (text.trim() === '') continue;
    const written = FIRST_LINE.exec(text)?.[1];
    if (written !== undefined) {
      const said = headerIn(written, context.limits.maxDepth);
      started = metricNumber(said['t_start']) ?? 0;
      header ??= said;
      continue;
    }
    const cells = text.split(',', context.limits.maxColumns);
    if (cells[0] === 'r') {
      names = cells;
      continue;
    }
    if (episodes.length >= MAX_EPISODES) {
      const reason = `A run may have ${MAX_EPISODES} episodes: the rest is left out.`;
      reportProblem(context, file, `line ${number}`, reason);
      break;
    }
    const episode = episodeIn(cells, names, started);
    if (episode !== undefined) episodes.push(episode);
    else reportProblem(context, file, `line ${number}`, 'It is no row of an episode: left out.');
  }
  return header ?? {};
}

function episodeIn(
  cells: readonly string[],
  names: readonly string[],
  started: number,
): Episode | undefined {
  const of = (name: string): number => {
    const value = numberFromText(cells[names.indexOf(name)] ?? '');
    return typeof value === 'number' ? value : Number.NaN;
  };
  const length = of('l');
  if (cells.length !== names.length || !Number.isSafeInteger(length) || length < 0)
    return undefined;
  const values = names.flatMap((name, i) => {
    const value = numberFromText(cells[i] ?? '');
    return typeof value === 'number' ? [[NAMES[name] ?? `rollout/${name}`, value] as const] : [];
  });
  const seconds = of('t');
  return { endMs: (started + (seconds === seconds ? seconds : 0)) * 1000, values, length };
}

function headerIn(text: string, maxDepth: number): RowObject {
  try {
    const value = parseLenientJson(text, maxDepth);
    return isRowObject(value) ? value : {};
  } catch {
    return {};
  }
}
