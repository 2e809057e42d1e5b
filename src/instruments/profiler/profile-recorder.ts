/** Writes a profile into its run as it grows. */
import type { JsonObject } from '../../base/json.ts';
import type { MetricNote } from '../../profile/measures.ts';
import type { Profile, ProfileCheckpoint, ProfileReading } from '../../profile/profile.ts';
import {
  checkpointPayload,
  endedPayload,
  PROFILE_EVENTS,
  readingPayload,
  startedPayload,
} from '../../profile/profile-records.ts';
import { eventTable } from '../../records/event.ts';
import { createEvent } from '../../session/event-logger.ts';
import { RecordWriter } from '../../session/record-writer.ts';
import type { RunHandle } from '../../session/run-handle.ts';

/** The events of one profile. What a run that has ended does not take is in memory only. */
export class ProfileRecorder {
  readonly #handle: RunHandle;
  readonly #profile: string;
  readonly #writer: RecordWriter<typeof eventTable.columns>;
  readonly #finish: () => Promise<void>;
  readonly #detach: () => void;
  #closing: Promise<void> | undefined;

  /** @param finish adds what is left, before the writer is closed */
  constructor(handle: RunHandle, profile: string, finish: () => Promise<void>) {
    this.#handle = handle;
    this.#profile = profile;
    this.#finish = finish;
    this.#writer = new RecordWriter(handle, eventTable, {});
    this.#detach = handle.attach({
      drain: () => this.#writer.drain(),
      drainNow: () => this.#writer.drainNow(),
      close: () => this.close(),
    });
  }

  started(metrics: readonly MetricNote[]): void {
    this.#write(PROFILE_EVENTS.started, startedPayload(this.#profile, metrics));
  }

  add(checkpoint: ProfileCheckpoint): void {
    const payload = checkpointPayload(this.#profile, checkpoint);
    this.#write(PROFILE_EVENTS.checkpoint, payload, checkpoint.timeMs);
  }

  read(reading: ProfileReading): void {
    this.#write(PROFILE_EVENTS.reading, readingPayload(this.#profile, reading));
  }

  ended(end: Pick<Profile, 'droppedCheckpoints' | 'endedMs' | 'summary'>): void {
    this.#write(PROFILE_EVENTS.ended, endedPayload(this.#profile, end));
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing.catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    });
  }

  async #end(): Promise<void> {
    await this.#finish();
    await this.#writer.close();
    this.#detach();
  }

  #write(type: string, payload: JsonObject, timestamp?: number): void {
    const options = {
      severity: 'debug',
      payload,
      ...(timestamp === undefined ? {} : { timestamp }),
    } as const;
    try {
      this.#writer.add(createEvent(this.#handle, type, options));
    } catch {
      // Closed, or strict and failing: the session says so, and the program goes on.
    }
  }
}
