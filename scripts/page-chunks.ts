// Which modules of the page come together in one request. A chunk that a worker loads has modules of workers only: those of the page
// want a document.
import { build, type Rolldown, type UserConfig } from 'vite';
import { importedBy, type ModuleGraph } from './vite-plugins.ts';

/** What the bundler adds to modules, those of workers among them. */
const HELPERS = /^\0(?:vite\/preload-helper|rolldown\/runtime)/;
/** What reads and thins the samples of a run. */
const READING =
  /\/(?:src\/(?:base|codecs\/(?:arrow|packed)|kernel\/series\/draw|read|records|schema|segment)|dashboard\/series)\//;
const CHARTS = /\/(?:dashboard\/(?:charts|theme|workspace)|uplot)\//;
/** What the page of a run begins with. */
const RUN =
  /\/dashboard\/(?:run\/(?:facts|feed|header|metrics)\/|run\/run-|run\/tabs|parts\/markdown|changes|worker\/(?:start|import-client|offered))/;

/** Bytes of source. */
const MERGED_BYTES = 5_000;

type Cut = {
  readonly name: string;
  readonly has: (id: string) => boolean;
  /** Whether it has modules that workers load, or those that only the page loads. */
  readonly isOfWorkers: boolean;
  readonly minShareCount?: number;
  /** It is cut along who shares what, and chunks below so many bytes are merged. */
  readonly mergesBelow?: number;
};

/**
 * Chunks of the page: what the list of runs needs are two, what several views read runs with another, and so on. Cut along what others
 * share with it, each would be fifty.
 *
 * @param list the modules that the list of runs needs
 * @param started the modules that workers begin with, known once all are loaded
 */
export function pageChunks(list: ReadonlySet<string>, started: ReadonlySet<string>) {
  const cuts: readonly Cut[] = [
    { name: 'shared', has: (id) => list.has(id) || HELPERS.test(id), isOfWorkers: true },
    { name: 'list', has: (id) => list.has(id), isOfWorkers: false },
    { name: 'reading', has: (id) => READING.test(id), isOfWorkers: true, minShareCount: 3 },
    // Else those of the page below would take along what they import.
    {
      name: 'common',
      has: () => true,
      isOfWorkers: true,
      minShareCount: 2,
      mergesBelow: MERGED_BYTES,
    },
    { name: 'series', has: (id) => READING.test(id), isOfWorkers: false, minShareCount: 3 },
    { name: 'charts', has: (id) => CHARTS.test(id), isOfWorkers: false, minShareCount: 2 },
    { name: 'run', has: (id) => RUN.test(id), isOfWorkers: false },
  ];
  let workers: ReadonlySet<string> | undefined;
  const isOfWorker = (id: string, graph: ModuleGraph): boolean => {
    workers ??= importedBy([...started], graph, true);
    return workers.has(id) || HELPERS.test(id);
  };
  return cuts.map(({ name, has, isOfWorkers, minShareCount = 1, mergesBelow }, i) => ({
    debugName: name,
    // Those of a lower priority leave a module to this one, even where theirs import it.
    priority: cuts.length - i,
    minShareCount,
    ...(mergesBelow === undefined
      ? {}
      : { entriesAware: true, entriesAwareMergeThreshold: mergesBelow }),
    name: (id: string, graph: ModuleGraph): string | null =>
      has(id) && isOfWorker(id, graph) === isOfWorkers ? name : null,
  }));
}

/**
 * The modules that an entry of a build needs before it runs. Only a build knows: a module imports all that its text names, and most of it
 * is left out.
 *
 * @throws {Error} when the build has no such entry
 */
export async function modulesOf(name: string, config: UserConfig): Promise<ReadonlySet<string>> {
  const built = await build({
    ...config,
    configFile: false,
    logLevel: 'silent',
    build: { ...config.build, write: false, minify: false },
  });
  const [{ output }] = [built].flat() as [Rolldown.RolldownOutput];
  const chunks = output.flatMap((file) => (file.type === 'chunk' ? [file] : []));
  const found = new Set<string>();
  const visit = (file: string): void => {
    const chunk = chunks.find(({ fileName }) => fileName === file);
    for (const id of chunk?.moduleIds ?? []) found.add(id);
    chunk?.imports.forEach(visit);
  };
  const entry = chunks.find((chunk) => chunk.isEntry && chunk.name === name);
  if (entry === undefined) throw new Error(`The build has no entry ${name}.`);
  visit(entry.fileName);
  return found;
}
