/** What writers know of the session they write for, and how they get at it. */
import type { Clock } from '../base/clock.ts';
import {
  invalidInput,
  InvalidRunStateError,
  isQuarkError,
  isStoreError,
  messageOf,
  type SessionStoreError,
} from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { EventSeverity, RunStatus } from '../records/literals.ts';
import type { MetricSummaries } from '../records/metric-summaries.ts';
import type { TableDefinition } from '../schema/table.ts';
import type { SegmentManifest, Store } from '../store/store.ts';
import type { RecordingHealth } from './storing/recording-health.ts';
import { continuation } from './run-state.ts';
import type { RunEdit } from './session-run.ts';
import type { RowBuffer, TableWriter, WriterExtras, WriterOptions } from './writer-options.ts';

/** An event a writer wants recorded about itself. */
export type Notice = {
  readonly eventType: string;
  readonly severity: EventSeverity;
  readonly step: number | null;
  readonly epoch: number | null;
  readonly payload: JsonObject;
};

/** A writer as its session sees it. */
export interface OpenWriter {
  /** Whether it reads what the others write: it is drained and closed after them. */
  readonly isLast?: boolean;
  /** Makes durable what is buffered. */
  drain(): Promise<void>;
  /** The same without waiting, where the store can; for the last moment of a process. */
  drainNow(): void;
  close(): Promise<void>;
}

/** Called with a table and the segments that were appended to it. */
export type AppendListener = (table: string, segments: readonly SegmentManifest[]) => void;

/** Called with the status in which a session leaves its run. */
export type OverListener = (status: RunStatus) => Promise<void>;

/** The inside of a session. */
export interface RunHandle {
  readonly runId: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly strictMode: boolean;
  /** Whether the session joined a run that another one started. */
  readonly isGuest: boolean;
  /** The step of samples that are logged without a position; undefined until `setStep` is called. */
  readonly step: number | undefined;
  /** Aborted when the process is asked to stop, or the page is closed. */
  readonly signal: AbortSignal;
  /** Why nothing more is recorded: another session has taken the run over; undefined while the session has it. */
  readonly fenced: SessionStoreError | undefined;
  /** Writers report failures and successes here. */
  readonly recording: RecordingHealth;
  /** @throws {InvalidRunStateError} when the run has ended */
  checkOpen(): void;
  /** Changes the record of the run; without strict mode, a change that cannot be stored now is queued. Changes are idempotent. */
  change(change: RunEdit): Promise<unknown>;
  /** Opens a writer of rows that somebody puts into a buffer. @throws {QuarkError} `invalid_input` naming the option */
  openWriter(
    table: TableDefinition,
    buffer: RowBuffer,
    options: WriterOptions,
    extras?: WriterExtras,
  ): TableWriter;
  /** Adds a writer to those that are flushed and closed with the session; returns the undo. */
  attach(writer: OpenWriter): () => void;
  /** Makes durable what all writers have buffered. @throws {SessionStoreError} in strict mode */
  flush(): Promise<void>;
  /** Records an event about the recording itself. Never throws. */
  notify(notice: Notice): void;
  /** Calls back whenever segments of the run were appended by this session; returns the undo. */
  onAppended(listener: AppendListener): () => void;
  /** Calls back once when the session has ended its run, with how, or leaves it; the store is open until that has settled. */
  onOver(listener: OverListener): void;
  /** Asks the training to stop: aborts {@link signal} and records why. The run goes on until it is ended. */
  requestStop(reason: string): void;
  /** The record of the run is to have these summaries of metrics, as they are when it is written. */
  summarize(source: Pick<MetricSummaries, 'rowCount' | 'toJson'>): void;
  /** Called with appended segments, as the store has them: the lease is renewed and merging considered. */
  appended(table: string, segments: readonly SegmentManifest[]): void;
}

/** Those who are told what a session appends, and when it is over. */
export class SessionListeners {
  readonly #appended = new Set<AppendListener>();
  readonly #over: OverListener[] = [];

  readonly onAppended: RunHandle['onAppended'] = (listener) => {
    this.#appended.add(listener);
    return () => this.#appended.delete(listener);
  };

  readonly onOver: RunHandle['onOver'] = (listener) => {
    this.#over.push(listener);
  };

  readonly appended: AppendListener = (table, segments) => {
    for (const listener of this.#appended) listener(table, segments);
  };

  async tellOver(status: RunStatus): Promise<void> {
    await Promise.allSettled(this.#over.splice(0).map((listener) => listener(status)));
  }
}

const handles = new WeakMap<object, RunHandle>();

/** Remembers the inside of a session or context. */
export function setHandle(owner: object, handle: RunHandle): void {
  handles.set(owner, handle);
}

/**
 * The inside of a session or of a context made by one.
 *
 * @throws {QuarkError} `invalid_input`
 */
export function handleOf(owner: unknown): RunHandle {
  const handle = typeof owner === 'object' && owner !== null ? handles.get(owner) : undefined;
  if (handle === undefined)
    throw invalidInput(
      'session',
      owner,
      `a TrainingSession or a RunContext that a session returned${owner instanceof Promise ? ' (await the promise first)' : ''}`,
    );
  return handle;
}

/**
 * Does work that writes for the caller. Its failure throws in strict mode only; otherwise it is in the status of the session, and
 * the write is retried.
 */
export async function writeFor(
  { recording, strictMode }: Pick<RunHandle, 'recording' | 'strictMode'>,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (strictMode || !isRecordingFailure(error)) throw error;
    recording.note(error);
  }
}

/**
 * Whether an error is one of the storage, or of a platform without one (`unsupported`). Others are of what was asked for: wrong input, a
 * run that is over, a probe.
 */
export function isRecordingFailure(error: unknown): boolean {
  return (
    !isQuarkError(error) ||
    isStoreError(error) ||
    isQuarkError(error, 'run_not_found') ||
    isQuarkError(error, 'unsupported')
  );
}

/** Throws the first error of several concurrent operations. */
export function throwFirst(results: readonly PromiseSettledResult<unknown>[]): void {
  for (const result of results) {
    if (result.status === 'rejected')
      throw result.reason instanceof Error ? result.reason : new Error(messageOf(result.reason));
  }
}

/** The error of using a run that has ended. */
export function runEnded(runId: string, status: string): InvalidRunStateError {
  if (status === 'closed')
    return new InvalidRunStateError(
      `The session of run ${runId} is closed, and the run has not ended: nothing can be written by this session. End a run with endRun() before close(); resumeRun() opens this one again.`,
      { runId, status },
    );
  if (status === 'ending' || status === 'closing')
    return new InvalidRunStateError(
      `Run ${runId} is ${status}: ${status === 'ending' ? 'endRun()' : 'close()'} of its session was called and has not resolved yet. Nothing more can be written to it by this session; await that call.`,
      { runId, status },
    );
  return new InvalidRunStateError(
    `Run ${runId} has ended as "${status}"; nothing can be written to it. ${continuation(status)}`,
    { runId, status },
  );
}
