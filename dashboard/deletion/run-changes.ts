/** Deletes, archives and restores runs, and knows what was done lately so that it can be undone. */
import { signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Store } from 'quark-sdk';
import { countText } from '../parts/format.ts';
import { countBy } from '../parts/maps.ts';
import { errorText } from '../parts/notices.tsx';
import { pollAllNow } from '../parts/polling.ts';

/** What can be done to a run. */
export type RunAct = 'delete' | 'archive' | 'restore';

/** A run that is to be changed. */
export type ChangeTarget = {
  readonly store: Pick<Store, 'deleteRun' | 'archiveRun' | 'restoreRun'>;
  readonly runId: string;
  /** What it is called on the page. */
  readonly name: string;
};

/** A change that was made. */
export type DoneChange = ChangeTarget & {
  readonly change: RunAct;
  /** The change that undoes it. */
  readonly undo: RunAct;
};

/** What is said of the latest changes. */
export type ChangeNotice = {
  /** In the order in which they were made; empty after they were undone. */
  readonly done: readonly DoneChange[];
  /** What has become of them, in words. */
  readonly text: string;
  /** Why a change was not made, in a sentence. */
  readonly failure: string | undefined;
};

/** How long a notice stays, in milliseconds, unless it is dismissed. */
export const NOTICE_MS = 30_000;

const DONE = { delete: 'deleted', archive: 'archived', restore: 'restored' } as const;

const latest: Signal<ChangeNotice | undefined> = signal(undefined);
const underWay: Signal<ReadonlySet<string>> = signal(new Set<string>());
let timer: ReturnType<typeof setTimeout> | undefined;

/** What is said of the latest changes; undefined when there is nothing to say. */
export const changeNotice: ReadonlySignal<ChangeNotice | undefined> = latest;

/** Ids of the runs that are being changed. */
export const changingRuns: ReadonlySignal<ReadonlySet<string>> = underWay;

/** The run that goes on, and that somebody wants to delete all the same: they are asked first. */
export const askedToDelete: Signal<ChangeTarget | undefined> = signal(undefined);

/**
 * Changes a run and says so, or why not: {@link changeNotice}. Never rejects.
 *
 * @param undo what undoes it; needed for `restore`, which brings runs back from two states. Default: `restore`
 */
export async function actOnRun(
  change: RunAct,
  target: ChangeTarget,
  undo: RunAct = 'restore',
): Promise<void> {
  const { runId } = target;
  if (underWay.peek().has(runId)) return;
  underWay.value = new Set([...underWay.peek(), runId]);
  try {
    await call(change, target);
    const done = [...(latest.peek()?.done ?? []), { ...target, change, undo }];
    say({ done, text: doneText(done), failure: undefined });
  } catch (error) {
    const failure = `${target.name} was not ${DONE[change]}. ${errorText(error)}`;
    const done = latest.peek()?.done ?? [];
    say({ done, text: doneText(done), failure });
  } finally {
    underWay.value = new Set([...underWay.peek()].filter((id) => id !== runId));
    pollAllNow();
  }
}

/** Deletes a run; of one that goes on, asks first. */
export function deleteOrAsk(target: ChangeTarget, isLive: boolean): void {
  if (isLive) askedToDelete.value = target;
  else void actOnRun('delete', target);
}

/** Undoes all changes of the notice, the last one first. What cannot be undone stays in the notice, with the reason. Never rejects. */
export async function undoChanges(): Promise<void> {
  const done = latest.peek()?.done ?? [];
  if (done.length === 0) return;
  // Nobody undoes them twice.
  say({ done: [], text: 'Undoing', failure: undefined });
  const failed: DoneChange[] = [];
  let failure: string | undefined;
  for (const one of done.toReversed()) {
    try {
      await call(one.undo, one);
    } catch (error) {
      failed.unshift(one);
      failure = `${one.name} was not ${DONE[one.undo]}. ${errorText(error)}`;
    }
  }
  const text = failed.length === 0 ? `Undone: ${undoneText(done)}` : doneText(failed);
  say({ done: [...failed, ...(latest.peek()?.done ?? [])], text, failure });
  pollAllNow();
}

/** Removes the notice. What was done stays as it is. */
export function dismissNotice(): void {
  clearTimeout(timer);
  latest.value = undefined;
}

/** Leaves the notice for as long as somebody is over it with the pointer. */
export function pauseNotice(): void {
  clearTimeout(timer);
}

/** The notice goes {@link NOTICE_MS} from now. */
export function resumeNotice(): void {
  clearTimeout(timer);
  if (latest.peek() !== undefined) timer = setTimeout(dismissNotice, NOTICE_MS);
}

/** `Deleted digits 3f2a`, `Deleted 3 runs`, `Deleted 2 runs, archived 1 run`. */
export function doneText(done: readonly DoneChange[]): string {
  const [only, another] = done;
  if (only === undefined) return '';
  if (another === undefined) return capital(`${DONE[only.change]} ${only.name}`);
  const counts = countBy(done, ({ change }) => change);
  return capital(
    [...counts].map(([change, count]) => `${DONE[change]} ${countText(count, 'run')}`).join(', '),
  );
}

function undoneText(done: readonly DoneChange[]): string {
  const [only] = done;
  return done.length === 1 && only !== undefined
    ? `${only.name} is as it was.`
    : `${countText(done.length, 'change')}.`;
}

function say(notice: ChangeNotice): void {
  latest.value = notice;
  resumeNotice();
}

async function call(change: RunAct, { store, runId }: ChangeTarget): Promise<void> {
  if (change === 'delete') await store.deleteRun(runId);
  else if (change === 'archive') await store.archiveRun(runId);
  else await store.restoreRun(runId);
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
