/** The store of a gallery: its list comes from the index, and a run is fetched and read in a worker when somebody opens it. */
import { createMemoryStore, SessionStoreError, type Store } from 'quark-sdk';
import { readGallery, type Gallery, type GalleryRun } from 'quark-sdk/exchange';
import { lossKey } from '../charts/group.ts';
import { getOrMake } from '../parts/maps.ts';
import { t } from '../parts/t.ts';
import { runTask } from '../parts/tasks.ts';
import { nextTurn, TurnBreak } from '../parts/turns.ts';
import { offerSeries, seriesReader } from '../series/series-reader.ts';
import { offerSmallCurves, type ReadSmallCurves } from '../series/small-curves.ts';
import type { ImportClient } from '../worker/import-client.ts';
import { offerClient } from '../worker/offered-clients.ts';
import { startWorker } from '../worker/start-worker.ts';

/**
 * Opens the gallery of an index; `problems` says which of its entries were left out.
 *
 * @param index what `quark.json` has under `gallery`, unchecked
 * @param at the address of `quark.json`: files are looked for below its folder
 * @throws {QuarkError} `invalid_input` when it is no index
 */
export async function openGallery(
  index: unknown,
  at: URL,
): Promise<{ readonly store: Store; readonly problems: readonly string[] }> {
  const gallery = readGallery(index);
  const uri = `gallery:${at.href}`;
  const { client } = startWorker(uri, t('The code that reads files cannot be loaded.'));
  return { store: await galleryStore(gallery, at, client), problems: gallery.problems };
}

/** Fetches a file. */
type GetFile = (file: URL, init: RequestInit) => Promise<Response>;

/** The store of a gallery over a worker that reads its files. `get` fetches a file. */
export async function galleryStore(
  gallery: Gallery,
  at: URL,
  client: ImportClient,
  get: GetFile = (file, init) => fetch(file, init),
): Promise<Store> {
  const files = new GalleryFiles(gallery.runs, at, client, get);
  const index = await indexStore(gallery.runs);
  const fetched = client.store;
  const { askRuns } = index;
  const store: Store = {
    ...fetched,
    listProjects: () => index.listProjects(),
    listRuns: (filter) => index.listRuns(filter),
    listLeases: async () => [],
    ...(askRuns !== undefined && { askRuns: (question) => askRuns(question) }),
    findRun: async (runId) => {
      if (!files.has(runId)) return undefined;
      await files.ready(runId);
      return fetched.findRun(runId);
    },
    listSegments: async (filter) => {
      if (!files.has(filter.runId)) return [];
      await files.ready(filter.runId);
      return fetched.listSegments(filter);
    },
  };
  const readFetched = seriesReader(fetched);
  offerSeries(store, async (query) => {
    await files.ready(query.runId);
    return readFetched(query);
  });
  offerSmallCurves(store, smallCurvesOf(gallery.runs));
  offerClient(store, client);
  return store;
}

/** The files of a gallery, each fetched once and handed to the worker. */
class GalleryFiles {
  readonly #runs: ReadonlyMap<string, GalleryRun>;
  readonly #at: URL;
  readonly #client: ImportClient;
  readonly #get: GetFile;
  readonly #reading = new Map<string, Promise<void>>();
  /** An import takes all files that wait: one goes over after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(runs: readonly GalleryRun[], at: URL, client: ImportClient, get: GetFile) {
    this.#runs = new Map(runs.map((one) => [one.run.id, one]));
    this.#at = at;
    this.#client = client;
    this.#get = get;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** Resolves when the worker has the run. A failure is not remembered. @throws {SessionStoreError} `failed` */
  ready(runId: string): Promise<void> {
    const one = this.#runs.get(runId);
    if (one === undefined) return Promise.resolve();
    return getOrMake(this.#reading, runId, () => {
      const name = one.run.id;
      const reading = runTask(t('Reading run {name}', { name }), () => this.#read(one));
      reading.catch(() => this.#reading.delete(runId));
      return reading;
    });
  }

  async #read({ file, run }: GalleryRun): Promise<void> {
    // Another host that a redirect leads to is not asked.
    const answer = await this.#get(new URL(file, this.#at), { mode: 'same-origin' });
    if (!answer.ok)
      throw failed(
        t('{file} cannot be fetched: status {status}.', { file, status: String(answer.status) }),
      );
    const content = new File([await answer.blob()], file);
    const mine = this.#last.then(() =>
      this.#client.import([{ file: content, path: file }], {}, nextTurn),
    );
    this.#last = mine.catch(() => undefined);
    const { problems, runs } = await mine;
    if (runs.some(({ runId }) => runId === run.id)) return;
    throw failed(
      problems[0]?.reason ?? t('{file} does not have the run that the list names.', { file }),
    );
  }
}

function failed(message: string): SessionStoreError {
  return new SessionStoreError('failed', message);
}

/** The list, as a store that answers questions about it. */
async function indexStore(runs: readonly GalleryRun[]): Promise<Store> {
  const store = createMemoryStore();
  const turn = new TurnBreak();
  for (const [at, { run }] of runs.entries()) {
    const { revision: _, ...listed } = run;
    const { projectName: name, startedAtMs: createdAtMs } = run;
    // Two projects of an index may say that they have one id.
    const project = await store.ensureProject({ id: `project-${at}`, name, createdAtMs });
    await store.createRun({ ...listed, projectId: project.id });
    await turn.pause();
  }
  return store;
}

function smallCurvesOf(runs: readonly GalleryRun[]): ReadSmallCurves {
  const byId = new Map(runs.map(({ run, curves }) => [run.id, curves]));
  return async (runIds, metric) =>
    new Map(
      runIds.flatMap((runId) => {
        const curves = byId.get(runId) ?? [];
        const key = metric === '' ? lossKey(curves.map((one) => one.key)) : metric;
        const found = curves.find((one) => one.key === key);
        return found === undefined ? [] : [[runId, found] as const];
      }),
    );
}
