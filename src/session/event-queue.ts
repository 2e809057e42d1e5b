/** The queue of a session's events: notices of the session itself, and messages that are recorded immediately. */
import { Mutex } from '../base/mutex.ts';
import { eventTable, type EventRecord } from '../records/event.ts';
import type { TerminalRunStatus } from '../records/literals.ts';
import { isEndEvent, reasonOfEvent } from '../records/run-ending.ts';
import type { RunRecord } from '../records/run.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { NewSegment } from '../store/store.ts';
import { createEvent } from './event-logger.ts';
import type { Notice, RunHandle } from './run-handle.ts';

/** Largest number of queued events. */
const MAX_WAITING = 100_000;
/** Events in one append. */
const MAX_APPEND = 64;

/** A queued event. Its batch number makes the append idempotent: a retry does not write it twice. */
export type NumberedEvent = {
  readonly event: EventRecord;
  readonly batchNumber: number;
  /** Where it is another one than that of the session. */
  readonly generation?: number | undefined;
  /** Once the store has given it one. */
  sequence: number | null;
};

/** See the top of this file. */
export class EventQueue {
  readonly #handle: RunHandle;
  readonly #writerId: string;
  readonly #order = new Mutex();
  #nextBatch = 0;
  #waiting: NumberedEvent[] = [];
  #lastWord: { readonly status: string; readonly numbered: NumberedEvent } | undefined;
  /** What was said last of why the run ends. */
  #lastSaid: EventRecord | undefined;
  #droppedRows = 0;
  #unreportedDrops = 0;

  constructor(handle: RunHandle, writerId: string) {
    this.#handle = handle;
    this.#writerId = writerId;
    handle.recording.count(this);
  }

  get status() {
    return { bufferedRows: this.#waiting.length, droppedRows: this.#droppedRows };
  }

  /** Gives an event its number. */
  number(event: EventRecord, generation?: number): NumberedEvent {
    if (isEndEvent(event.eventType)) this.#lastSaid = event;
    return { event, batchNumber: this.#nextBatch++, sequence: null, generation };
  }

  /** The event of the end: the same object in each attempt, so that it is written once. */
  lastWordOf(status: TerminalRunStatus): NumberedEvent {
    if (this.#lastWord?.status !== status) {
      const event = createEvent(this.#handle, 'run_ended', { status, payload: { status } });
      this.#lastWord = { status, numbered: this.number(event) };
    }
    return this.#lastWord.numbered;
  }

  /** Puts the event of the end behind the events that wait. */
  queueLastWord(status: TerminalRunStatus): void {
    const lastWord = this.lastWordOf(status);
    if (!this.#waiting.includes(lastWord)) this.#waiting.push(lastWord);
  }

  /** What the record of the run says of its end. */
  endOf(status: TerminalRunStatus): Pick<RunRecord, 'status' | 'endedAt' | 'statusReason'> {
    const { timestamp: endedAt } = this.lastWordOf(status).event;
    const said = this.#lastSaid;
    return {
      status,
      endedAt,
      statusReason: said === undefined ? null : reasonOfEvent(status, said),
    };
  }

  /** Puts what was noticed behind the events that wait; under a later generation than that of the session, if one is given. */
  notify({ eventType, ...options }: Notice, generation?: number): void {
    this.add(createEvent(this.#handle, eventType, options), generation);
  }

  /** Queues an event; at the limit it is dropped and counted. */
  add(event: EventRecord, generation?: number): NumberedEvent {
    const numbered = this.number(event, generation);
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(numbered);
    } else {
      this.#droppedRows++;
      this.#unreportedDrops++;
    }
    return numbered;
  }

  /** Appends one event ahead of the queue, and returns it with its sequence number. */
  async append(numbered: NumberedEvent): Promise<EventRecord> {
    await this.#order.run(() => this.#append([numbered]));
    return eventTable.wrap({ ...numbered.event, sequence: numbered.sequence });
  }

  /** Appends the queued events in order. Events that the store refuses stay in the queue. */
  async flush(): Promise<void> {
    const { recording } = this.#handle;
    try {
      await this.#order.run(async () => {
        while (this.#waiting.length > 0) {
          const sending = this.#waiting.slice(0, MAX_APPEND);
          await this.#append(sending);
          this.#written(sending);
        }
      });
    } catch (error) {
      recording.failed(eventTable.table, error);
      throw error;
    }
    recording.worked(eventTable.table);
  }

  /**
   * The synchronous form, for stores that have one, at the end of a process. With `lastWord`, a page that ends leaves that event, too.
   */
  flushNow(lastWord: NumberedEvent | null = null): void {
    const { store } = this.#handle;
    const sending = this.#waiting;
    const leaving = lastWord === null ? sending : [...sending, lastWord];
    if (leaving.length === 0) return;
    // They stay queued: a page that continues writes them as usual.
    store.spill?.leave(leaving.map((one) => this.#segmentOf(one)));
    if (sending.length === 0) return;
    const segments = sending.map((one) => this.#segmentOf(one));
    if (store.appendSegmentsNow === undefined) return;
    try {
      store.appendSegmentsNow(segments);
      this.#written(sending);
    } catch {
      // The process is ending and the store refuses: there is nothing left to try.
    }
  }

  #written(sent: readonly NumberedEvent[]): void {
    const gone = new Set(sent);
    this.#waiting = this.#waiting.filter((one) => !gone.has(one));
    if (this.#unreportedDrops === 0) return;
    const payload = {
      table: eventTable.table,
      count: this.#unreportedDrops,
      max_buffered_rows: MAX_WAITING,
    };
    this.#unreportedDrops = 0;
    this.notify({
      eventType: 'records_dropped',
      severity: 'error',
      step: null,
      epoch: null,
      payload,
    });
  }

  async #append(events: readonly NumberedEvent[]): Promise<void> {
    const segments = events.map((one) => this.#segmentOf(one));
    const { store } = this.#handle;
    const placed = await store.appendSegments(segments);
    store.spill?.forget(segments);
    this.#handle.appended(eventTable.table, placed);
    for (const [i, one] of events.entries()) {
      const manifest = placed[i];
      // Else it was written by an earlier attempt and has been merged since.
      if (manifest?.writerId === this.#writerId && manifest.batchNumber === one.batchNumber)
        one.sequence = manifest.firstSequence;
    }
  }

  #segmentOf({ batchNumber, event, generation }: NumberedEvent): NewSegment {
    const { table } = eventTable;
    const identity = { runId: this.#handle.runId, table, writerId: this.#writerId, batchNumber };
    const segment = createSegment(eventTable, identity, batchOfRows(eventTable, [event]));
    if (generation === undefined) return segment;
    return { bytes: segment.bytes, manifest: { ...segment.manifest, generation } };
  }
}
