/**
 * What an outbox remembers of a service, so that it finds what the service has lost: notes beside those of `sync-notes.ts`, and the event
 * about it.
 */
import { eventTable } from '../records/event.ts';
import { batchOfRows } from '../segment/batch-ops.ts';
import { createSegment } from '../segment/manifest.ts';
import type { BatchRange, NewSegment, StoreIdentity, StoreNotes } from '../store/store.ts';

/** A table as the service had it when it was last compared. */
export type NotedTable = {
  /** How often it had been emptied there, and how often here when that was sent. */
  readonly replaceCount: number;
  readonly localCount: number;
  readonly rowCount: number;
  readonly batches: readonly BatchRange[];
  /** Acknowledged batches that somebody else has emptied the table of since: nobody misses them. */
  readonly emptied: readonly BatchRange[];
};

/** The tables of a run as the service had them, by name. */
export type NotedRun = { readonly tables: { readonly [table: string]: NotedTable } };

/** Rows of a table that a service has lost. */
export type LostCount = {
  /** Stored here: they are sent again. */
  readonly again: number;
  /** Stored nowhere that this outbox knows of. */
  readonly missing: number;
};

/** What a service has lost of a run, until the event about it is recorded. */
export type Loss = {
  /** The writer of the event: it is recorded once, whatever fails. */
  readonly writerId: string;
  readonly foundAtMs: number;
  /** What was found last, so that two who find it at once, or one that finds it again after a crash, count it once. */
  readonly print: number;
  readonly tables: { readonly [table: string]: LostCount };
};

type Missing = { readonly print: number; readonly rows: Readonly<Record<string, number>> };

/** The notes about one service, by its key. */
export class LossNotes {
  readonly #notes: StoreNotes;
  readonly #key: string;

  /** @param key short name of the service and space, as `SyncNotes` has it */
  constructor(notes: StoreNotes, key: string) {
    this.#notes = notes;
    this.#key = key;
  }

  /** The identity of the database that everything was last compared with; undefined before the first time. */
  readIdentity(): Promise<StoreIdentity | undefined> {
    return this.#read<StoreIdentity>('service');
  }

  async writeIdentity(identity: StoreIdentity): Promise<void> {
    await this.#write('service', identity);
  }

  readSeen(runId: string): Promise<NotedRun | undefined> {
    return this.#read<NotedRun>(`seen/${runId}`);
  }

  async writeSeen(runId: string, seen: NotedRun | null): Promise<void> {
    await this.#write(`seen/${runId}`, seen);
  }

  /** The runs that were compared at least once, those that are not stored here any more among them. */
  listSeen(): Promise<readonly string[]> {
    return this.#list('seen/');
  }

  /** The runs of which something was acknowledged. */
  async listSent(): Promise<readonly string[]> {
    const names = await this.#list('sent/');
    return [...new Set(names.map((name) => name.slice(0, name.indexOf('/'))))];
  }

  readLoss(runId: string): Promise<Loss | undefined> {
    return this.#read<Loss>(`lost/${runId}`);
  }

  async writeLoss(runId: string, loss: Loss | null): Promise<void> {
    await this.#write(`lost/${runId}`, loss);
  }

  /** Rows of a run that are missing for good, by table. */
  async readMissing(runId: string): Promise<Readonly<Record<string, number>>> {
    return (await this.#read<Missing>(`missing/${runId}`))?.rows ?? {};
  }

  /** @param print stands for what this was found from: it is counted once */
  async addMissing(runId: string, tables: Loss['tables'], print: number): Promise<void> {
    const known = await this.#read<Missing>(`missing/${runId}`);
    if (known?.print === print) return;
    const rows: Record<string, number> = { ...known?.rows };
    for (const [table, { missing }] of Object.entries(tables))
      if (missing > 0) rows[table] = (rows[table] ?? 0) + missing;
    if (Object.keys(rows).length > 0) await this.#write(`missing/${runId}`, { print, rows });
  }

  /** The runs of which rows are missing for good. */
  listMissing(): Promise<readonly string[]> {
    return this.#list('missing/');
  }

  async #read<T>(name: string): Promise<T | undefined> {
    const text = await this.#notes.read(this.#name(name));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as T;
    } catch {
      // It is compared again as if for the first time.
      return undefined;
    }
  }

  async #write(name: string, value: object | null): Promise<void> {
    await this.#notes.write(this.#name(name), value === null ? null : JSON.stringify(value));
  }

  async #list(folder: string): Promise<readonly string[]> {
    const suffix = `/${this.#key}`;
    const prefix = `sync/${folder}`;
    return (await this.#notes.list(prefix))
      .filter(({ name }) => name.endsWith(suffix))
      .map(({ name }) => name.slice(prefix.length, -suffix.length));
  }

  #name(name: string): string {
    return `sync/${name}/${this.#key}`;
  }
}

/** Type of the event. */
export const SERVICE_LOST_ROWS = 'sync_service_lost_rows';

/** The event as a segment of the run. It has an identity, so that it is recorded once. */
export function lossEvent(runId: string, loss: Loss, service: string, nowMs: number): NewSegment {
  const entries = Object.entries(loss.tables);
  const again = entries.reduce((sum, [, one]) => sum + one.again, 0);
  const missing = entries.reduce((sum, [, one]) => sum + one.missing, 0);
  const tables = Object.fromEntries(
    entries.map(([table, one]) => [table, { sent_again: one.again, missing: one.missing }]),
  );
  const rest =
    missing === 0
      ? 'Nothing is missing.'
      : `${missing} rows are missing for good: they are not stored here.`;
  const message = `The service had lost rows of this run that it had acknowledged, as after a restore from a backup or a loss of power. ${again} rows were sent again. ${rest}`;
  const payload = {
    message,
    service,
    found_at: new Date(loss.foundAtMs).toISOString(),
    rows_sent_again: again,
    rows_missing: missing,
    tables,
  };
  const event = {
    runId,
    timestamp: new Date(nowMs).toISOString(),
    eventType: SERVICE_LOST_ROWS,
    severity: missing === 0 ? ('warning' as const) : ('error' as const),
    step: null,
    epoch: null,
    status: null,
    payload,
  };
  const identity = { runId, table: eventTable.table, writerId: loss.writerId, batchNumber: 0 };
  return createSegment(eventTable, identity, batchOfRows(eventTable, [event]));
}
