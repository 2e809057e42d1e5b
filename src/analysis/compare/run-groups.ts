/** Runs in groups: of the same configuration but for seeds, of one setting, of the same tags, groups or type of job. */
import { invalidInput } from '../../base/errors.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { configWithoutSeeds, flatSettings, isSeedPath } from './config-diff.ts';

/** Groupings that need no name of a setting. */
export const RUN_GROUPINGS = ['config', 'group', 'tag', 'job_type'] as const;

/**
 * What makes runs a group: `config` (the same configuration but for seeds), `group` and `tag` (the same set of them), `job_type`, or
 * `config.` and the path of a setting, as in `config.optimizer.lr`.
 */
export type RunGrouping = (typeof RUN_GROUPINGS)[number] | `config.${string}`;

/** What grouping has to know of a run; a `RunRecord` has all of it. */
export type GroupableRun = {
  readonly id: string;
  readonly config: JsonObject;
  readonly tags?: readonly string[];
  readonly groups?: readonly string[];
  readonly jobType?: string | null;
};

/** Runs that belong together. */
export type RunGroup = {
  /** What sets the group apart, such as `lr=0.1`; `all runs` where one group of a configuration has all of them. */
  readonly name: string;
  /** Settings by which the groups differ; empty where runs are grouped by something else. */
  readonly settings: Readonly<Record<string, JsonValue>>;
  readonly runIds: readonly string[];
};

/** @throws {QuarkError} `invalid_input` */
export function checkGrouping(field: string, by: unknown): RunGrouping {
  const known = RUN_GROUPINGS.find((one) => one === by);
  if (known !== undefined) return known;
  if (typeof by === 'string' && by.startsWith('config.') && by.length > 'config.'.length)
    return `config.${by.slice('config.'.length)}`;
  throw invalidInput(field, by, `one of ${RUN_GROUPINGS.join(', ')}, or config.PATH of a setting`);
}

/**
 * Puts each run into one group. Groups are in the order of their first runs.
 *
 * @param by what makes runs a group. Default `config`.
 * @throws {QuarkError} `invalid_input` naming `by`
 * @example
 * ```js
 * import { groupRuns } from 'quark-sdk/analysis';
 *
 * const runs = [
 *   { id: 'a', config: { lr: 0.1, seed: 1 } },
 *   { id: 'b', config: { lr: 0.1, seed: 2 } },
 *   { id: 'c', config: { lr: 0.01, seed: 1 } },
 * ];
 * for (const { name, runIds } of groupRuns(runs, 'config.lr')) console.log(name, runIds); // lr=0.1 [ 'a', 'b' ], then lr=0.01 [ 'c' ]
 * ```
 */
export function groupRuns(
  runs: readonly GroupableRun[],
  by: RunGrouping = 'config',
): readonly RunGroup[] {
  const grouping = checkGrouping('by', by);
  const members = new Map<string, GroupableRun[]>();
  for (const run of runs) {
    const key = keyOf(run, grouping);
    const group = members.get(key);
    if (group === undefined) members.set(key, [run]);
    else group.push(run);
  }
  const all = [...members.values()];
  if (grouping === 'config') return namedByConfig(all);
  return all.map((own) => {
    const [first] = own;
    const runIds = own.map(({ id }) => id);
    if (first === undefined) return { name: '', settings: {}, runIds };
    if (!grouping.startsWith('config.'))
      return { name: labelOf(first, grouping), settings: {}, runIds };
    const path = grouping.slice('config.'.length);
    const value = flatSettings(first.config).get(path);
    return {
      name: value === undefined ? `without ${path}` : `${path}=${JSON.stringify(value)}`,
      settings: value === undefined ? {} : { [path]: value },
      runIds,
    };
  });
}

function keyOf(run: GroupableRun, by: RunGrouping): string {
  if (by === 'config') return configWithoutSeeds(run.config);
  if (by.startsWith('config.'))
    return JSON.stringify(flatSettings(run.config).get(by.slice('config.'.length))) ?? '';
  return JSON.stringify(labelsOf(run, by));
}

function labelsOf({ groups, jobType, tags }: GroupableRun, by: RunGrouping): readonly string[] {
  if (by === 'job_type') return jobType === null || jobType === undefined ? [] : [jobType];
  return ((by === 'tag' ? tags : groups) ?? []).toSorted();
}

const NO_LABEL: Readonly<Record<string, string>> = {
  group: 'in no group',
  tag: 'without tags',
  job_type: 'without a type',
};

function labelOf(run: GroupableRun, by: RunGrouping): string {
  return labelsOf(run, by).join(', ') || (NO_LABEL[by] ?? '');
}

/** Groups of configurations are named by the settings in which they differ. */
function namedByConfig(members: readonly (readonly GroupableRun[])[]): readonly RunGroup[] {
  const configs = members.map(([first]) =>
    first === undefined ? new Map<string, JsonValue>() : flatSettings(first.config),
  );
  const paths = [...new Set(configs.flatMap((config) => [...config.keys()]))].filter((path) => {
    const texts = new Set(configs.map((config) => JSON.stringify(config.get(path))));
    return !isSeedPath(path) && texts.size > 1;
  });
  return members.map((runs, i) => {
    const own = paths.flatMap((path) => {
      const value = configs[i]?.get(path);
      return value === undefined ? [] : [[path, value] as const];
    });
    return {
      name:
        members.length === 1
          ? 'all runs'
          : own.map(([path, value]) => `${path}=${JSON.stringify(value)}`).join(' ') ||
            `group ${i + 1}`,
      settings: Object.fromEntries(own),
      runIds: runs.map(({ id }) => id),
    };
  });
}
