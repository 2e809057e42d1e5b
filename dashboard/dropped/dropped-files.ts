/** What was dropped on this page, and how far it is: the state behind the dock, and the source that the runs are read from. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { isQuarkError, type Store } from 'quark-sdk';
import type { ImportProblem, ImportProgress, UnknownFile } from 'quark-sdk/exchange';
import { importOf } from '../parts/run-name.ts';
import { nextTurn } from '../parts/turns.ts';
import { BROWSER_URI, chooseSource, offerSource, withdrawSource } from '../sources/sources.ts';
import { hrefOf, parseRoute } from '../route/route.ts';
import type { DropContents } from './entries.ts';
import type { ImportClient } from '../worker/import-client.ts';
import type { DroppedReport } from '../worker/protocol.ts';
import { t } from '../parts/t.ts';

/** What is done with the files: `collecting` is listing the files of a folder. */
export type DropPhase = 'idle' | 'collecting' | 'importing' | 'keeping';

/** Everything the dock shows. */
export type DropState = {
  readonly phase: DropPhase;
  readonly progress: ImportProgress | undefined;
  readonly fileCount: number;
  /** Runs that have begun to be there. */
  readonly runIds: readonly string[];
  readonly problems: readonly ImportProblem[];
  readonly unlistedProblemCount: number;
  readonly unknownFiles: readonly string[];
  readonly unknown: readonly UnknownFile[];
  /** Why the last import or keeping did not come to its end. */
  readonly error: unknown;
  readonly wasCancelled: boolean;
  /** How many runs were put into the browser's database. */
  readonly keptCount: number | undefined;
};

const NOTHING: DropState = {
  phase: 'idle',
  progress: undefined,
  fileCount: 0,
  runIds: [],
  problems: [],
  unlistedProblemCount: 0,
  unknownFiles: [],
  unknown: [],
  error: undefined,
  wasCancelled: false,
  keptCount: undefined,
};

/** Undefined while nothing was dropped. */
export const dropState: Signal<DropState | undefined> = signal(undefined);

/** Whether runs grow because they are being imported. */
export const isImporting: ReadonlySignal<boolean> = computed(
  () => dropState.value?.phase === 'importing',
);

type Session = { readonly client: ImportClient; readonly worker: Worker; readonly uri: string };
let session: Session | undefined;
let starting: Promise<Session> | undefined;
let sessionCount = 0;
/** How often everything was forgotten: what was begun before is of no use after it. */
let endedCount = 0;
let activeCount = 0;

/** Whether rows are being added to this store by an import. */
export function isGrowing(store: Store): boolean {
  return isImporting.peek() && store.uri === session?.uri;
}

/** The worker that has the runs of a store, if they were dropped. */
export function droppedClient(store: Store): ImportClient | undefined {
  return session?.uri === store.uri ? session.client : undefined;
}

/** Whether more rows of this run are to come from an import. */
export function isBeingImported(run: Parameters<typeof importOf>[0]): boolean {
  return isImporting.value && importOf(run)?.isComplete === false;
}

/** Imports what `collect` finds. The runs are a source of the page from now on. */
export async function dropFiles(collect: () => Promise<DropContents>): Promise<void> {
  activeCount += 1;
  change({ phase: 'collecting', wasCancelled: false, error: undefined, keptCount: undefined });
  const mark = endedCount;
  const isCurrent = (): boolean => endedCount === mark;
  try {
    const [{ client, uri }, { files, problems }] = await Promise.all([startedSession(), collect()]);
    if (!isCurrent()) return;
    change({ problems: [...(dropState.peek()?.problems ?? []), ...problems] });
    if (files.length === 0) return;
    offerSource(
      {
        id: 'files',
        label: t('Files'),
        hint: t('Runs of the files that were dropped on this page'),
        uri,
      },
      client.store,
    );
    chooseSource('files');
    location.hash = hrefOf({ kind: 'runs' });
    change({ phase: 'importing', fileCount: (dropState.peek()?.fileCount ?? 0) + files.length });
    let runCount = 0;
    const report = await client.import(
      files,
      {
        onProgress: (progress) => isCurrent() && change({ progress }),
        onRun: (runId) => {
          if (!isCurrent()) return;
          change({ runIds: [...(dropState.peek()?.runIds ?? []), runId] });
          runCount += 1;
          // One file is mostly one run: its curves at once, unless somebody went elsewhere.
          if (runCount === 1 && files.length === 1 && isOnList())
            location.hash = hrefOf({ kind: 'run', runId });
        },
      },
      nextTurn,
    );
    if (isCurrent()) add(report);
  } catch (error) {
    if (!isCurrent()) return;
    if (isQuarkError(error, 'aborted')) change({ wasCancelled: true });
    else change({ error });
  } finally {
    if (isCurrent()) {
      activeCount -= 1;
      if (activeCount === 0) change({ phase: 'idle', progress: undefined });
      if (session !== undefined && (dropState.peek()?.runIds.length ?? 0) === 0)
        withdrawSource(session.uri);
    }
  }
}

/** Ends the import under way. What is there already stays. */
export async function cancelImport(): Promise<void> {
  await session?.client.cancel();
}

/** Puts the runs into this browser's database and lets the copies in memory go. */
export async function keepDropped(): Promise<void> {
  const state = dropState.peek();
  if (session === undefined || state === undefined || state.phase !== 'idle') return;
  const { client } = session;
  change({ phase: 'keeping', progress: undefined, error: undefined, wasCancelled: false });
  try {
    const report = await client.keep(BROWSER_URI, {
      onProgress: (progress) => change({ progress }),
    });
    const kept = new Set(report.runs.map(({ runId }) => runId));
    const changed = state.runIds.filter((runId) => !kept.has(runId));
    chooseSource('browser');
    if (changed.length === 0) endSession();
    else
      change({
        problems: [
          ...state.problems,
          ...changed.map((runId) => ({
            file: runId,
            place: null,
            reason: t('This run was not kept as it is shown: its files have changed since.'),
          })),
        ],
      });
    change({ keptCount: kept.size });
  } catch (error) {
    if (isQuarkError(error, 'aborted')) change({ wasCancelled: true });
    else change({ error });
  } finally {
    if (dropState.peek() !== undefined) change({ phase: 'idle', progress: undefined });
  }
}

/** Forgets everything that was dropped. */
export function forgetDropped(): void {
  const wasShown = session !== undefined && !isOnList();
  endSession();
  dropState.value = undefined;
  if (wasShown) location.hash = hrefOf({ kind: 'runs' });
}

/** The worker of this session. Its code is loaded with the first files: a page without any goes without it. */
function startedSession(): Promise<Session> {
  starting ??= startSession().catch((error: unknown) => {
    starting = undefined;
    throw error;
  });
  return starting;
}

async function startSession(): Promise<Session> {
  const { startWorker } = await import('../worker/start-worker.ts');
  sessionCount += 1;
  const uri = `files:${sessionCount}`;
  session = { ...startWorker(uri, t('The code that reads files cannot be loaded.')), uri };
  return session;
}

function endSession(): void {
  endedCount += 1;
  activeCount = 0;
  if (session === undefined) return;
  session.worker.terminate();
  withdrawSource(session.uri);
  session = undefined;
  starting = undefined;
}

function isOnList(): boolean {
  return parseRoute(location.hash).kind === 'runs';
}

function change(part: Partial<DropState>): void {
  dropState.value = { ...(dropState.peek() ?? NOTHING), ...part };
}

function add(report: DroppedReport): void {
  const known = dropState.peek() ?? NOTHING;
  change({
    // Runs that were there before are told of in the report alone.
    runIds: [...new Set([...known.runIds, ...report.runs.map(({ runId }) => runId)])],
    problems: [...known.problems, ...report.problems],
    unlistedProblemCount: known.unlistedProblemCount + report.unlistedProblemCount,
    unknownFiles: [...known.unknownFiles, ...report.unknownFiles],
    unknown: [...known.unknown, ...report.unknown],
  });
}
