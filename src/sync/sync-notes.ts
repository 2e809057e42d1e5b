/**
 * What an outbox remembers, as notes in the local store. The store itself says what there is to send (its overview and
 * its segments); the notes say what was acknowledged. So a crash at any point leaves, at worst, something acknowledged
 * that is sent again, which changes nothing.
 *
 * Notes of acknowledgements are written only over the text that was read: an uploader that was paused while another took
 * over finds its notes changed, and stands down.
 */
import { SessionStoreError } from '../base/errors.ts';
import { generationOf } from '../records/shapes/run.ts';
import { xxh32 } from '../base/xxh32.ts';
import type {
  SegmentManifest,
  StoredRun,
  StoreNotes,
  StoreSurvey,
  StreamState,
} from '../store/store.ts';
import type { SyncProblem } from '../store/sync-control.ts';
import { basePrefix, memberPrefix, parseSent, sentPrefix, type SentNote } from '../store/unsent.ts';

/** A run that is to be sent. */
export type Member = {
  /** The run came from the service: what is here is only what was added here. */
  readonly isAdopted: boolean;
  /** What `fingerprintOf` said when everything was acknowledged. */
  readonly settled: string | null;
  /** Why the service refuses the run for good. */
  readonly refused: SyncProblem | null;
  /** True: the run was deleted here, and the service has been told. */
  readonly isDeletionTold?: boolean;
};

/** A run document as both sides had it last, in its local form, and the revision that the service gave it. */
export type BaseRun = {
  readonly run: Omit<StoredRun, 'revision'>;
  readonly remoteRevision: number;
  /** The generation that the service had then: each side counts for itself. Unless given, it is that of `run`. */
  readonly remoteGeneration?: number;
  /** The document of a change that was to count the service's generation up, as it was sent: its answer may have been lost. */
  readonly claim?: string;
  /** Since a session elsewhere has taken the run over: what of the local rows it could not see. */
  readonly superseded?: SupersededRows;
  /** True: the service has an earlier state, or has lost the run. What is here counts as changed; generations count on as they were. */
  readonly isForgotten?: boolean;
};

/** Stands for a revision that is not known: the service is asked before anything is written. */
export const UNKNOWN_REVISION = 0;

/** The generation that the service had last, as far as it is known here. */
export function remoteGenerationOf(base: BaseRun): number {
  return base.remoteGeneration ?? generationOf(base.run);
}

/** Rows of the local store that a session elsewhere, which took their run over, could not see. */
export type SupersededRows = {
  /** Those of earlier generations (of the local store) than this. */
  readonly below: number;
  /** Those from these sequence numbers on, by table; all of a table that is not named. Earlier ones the service had. */
  readonly from: Readonly<Record<string, number>>;
};

/** Whether rows of the local store are superseded. */
export function isSuperseded(manifest: SegmentManifest, rows: SupersededRows | undefined): boolean {
  if (manifest.superseded === true) return true;
  if (rows === undefined || (manifest.generation ?? 1) >= rows.below) return false;
  return manifest.lastSequence >= (rows.from[manifest.table] ?? 0);
}

/** A parsed note and the text it was parsed from. */
export type ReadNote<T> = { readonly value: T; readonly text: string | null };

/** What the uploader tells those who do not upload. */
export type PublishedState = {
  readonly state: 'idle' | 'uploading' | 'waiting' | 'blocked';
  readonly lastError: SyncProblem | null;
  readonly nextAttemptAtMs: number | null;
  readonly acknowledgedAtMs: number | null;
};

/** A service, and the space there, that runs are sent to. */
export type SyncTarget = { readonly uri: string; readonly space: string };

const TARGETS = 'sync/remote/';

/** The services that runs of this store are to be sent to; of one run, if one is named. */
export async function listSyncTargets(
  notes: StoreNotes,
  runId?: string,
): Promise<readonly SyncTarget[]> {
  const all = await notes.list(TARGETS);
  const members =
    runId === undefined
      ? undefined
      : new Set(
          (await notes.list(memberPrefix(runId))).map(({ name }) =>
            name.slice(memberPrefix(runId).length),
          ),
        );
  return all
    .filter(({ name }) => members?.has(name.slice(TARGETS.length)) ?? true)
    .map(({ text }) => JSON.parse(text) as SyncTarget);
}

const FRESH: Member = { isAdopted: false, settled: null, refused: null };

/** Somebody else sends now. */
export class NotesTaken extends Error {
  constructor() {
    super('Another uploader has changed the notes.');
    this.name = 'NotesTaken';
  }
}

/** The notes of one service. */
export class SyncNotes {
  readonly #notes: StoreNotes;
  readonly #target: SyncTarget;
  /** Short name of the service and space. */
  readonly key: string;
  #isRemembered = false;

  constructor(notes: StoreNotes, uri: string, space: string) {
    this.#notes = notes;
    this.#target = { uri, space };
    const text = new TextEncoder().encode(`${uri}\n${space}`);
    this.key = [0, 1].map((seed) => xxh32(text, seed).toString(16).padStart(8, '0')).join('');
  }

  /** Notes a run for sending, unless it is noted. Before the run is made, so that no crash can leave it out. */
  async addMember(runId: string, isAdopted: boolean): Promise<void> {
    if (!this.#isRemembered) {
      await this.#notes.write(`${TARGETS}${this.key}`, JSON.stringify(this.#target));
      this.#isRemembered = true;
    }
    await this.#notes.write(this.#member(runId), JSON.stringify({ ...FRESH, isAdopted }), null);
  }

  /** Whether the service has rows of the run that this store has not: of before it was taken over from there, or of a session elsewhere. */
  async isPartial(runId: string): Promise<boolean> {
    const member = await this.findMember(runId);
    if (member === undefined) return false;
    return member.value.isAdopted || (await this.readBase(runId))?.superseded !== undefined;
  }

  async findMember(runId: string): Promise<ReadNote<Member> | undefined> {
    const text = await this.#notes.read(this.#member(runId));
    return text === undefined ? undefined : { value: parseMember(text), text };
  }

  /** The runs to be sent, by id. */
  async listMembers(): Promise<ReadonlyMap<string, ReadNote<Member>>> {
    const prefix = 'sync/run/';
    const suffix = `/${this.key}`;
    const found = await this.#notes.list(prefix);
    return new Map(
      found
        .filter(({ name }) => name.endsWith(suffix))
        .map(({ name, text }) => [
          name.slice(prefix.length, -suffix.length),
          { value: parseMember(text), text },
        ]),
    );
  }

  async writeMember(runId: string, before: ReadNote<Member>, member: Member): Promise<void> {
    await this.#write(this.#member(runId), JSON.stringify(member), before.text);
  }

  async readSent(runId: string, table: string): Promise<ReadNote<SentNote>> {
    const text = await this.#notes.read(sentPrefix(runId, table) + this.key);
    return { value: parseSent(text), text: text ?? null };
  }

  async writeSent(
    runId: string,
    table: string,
    before: ReadNote<SentNote>,
    sent: SentNote,
  ): Promise<ReadNote<SentNote>> {
    const text = JSON.stringify(sent);
    await this.#write(sentPrefix(runId, table) + this.key, text, before.text);
    return { value: sent, text };
  }

  async readBase(runId: string): Promise<BaseRun | undefined> {
    const text = await this.#notes.read(this.#base(runId));
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as BaseRun;
    } catch {
      return undefined;
    }
  }

  async writeBase(runId: string, base: BaseRun): Promise<void> {
    await this.#notes.write(this.#base(runId), JSON.stringify(base));
  }

  /** Forgets what both sides had in common of a run document: what is here counts as changed. What is superseded stays so. */
  async forgetBase(runId: string): Promise<void> {
    const { claim: _claim, ...base } = (await this.readBase(runId)) ?? {};
    if ('superseded' in base && base.run !== undefined)
      await this.writeBase(runId, { ...base, remoteRevision: UNKNOWN_REVISION, isForgotten: true });
    else await this.#notes.write(this.#base(runId), null);
  }

  /** Forgets what was acknowledged of a run, so that all of it is sent again. */
  async forgetSent(runId: string): Promise<void> {
    for (const { name } of await this.#notes.list(sentPrefix(runId)))
      if (name.endsWith(`/${this.key}`)) await this.#notes.write(name, null);
    await this.forgetBase(runId);
    const member = await this.findMember(runId);
    if (member !== undefined)
      await this.#notes.write(
        this.#member(runId),
        JSON.stringify({ ...member.value, settled: null, refused: null }),
      );
  }

  /** Forgets a run altogether: it is not in the local store any longer. */
  async removeMember(runId: string): Promise<void> {
    await this.forgetSent(runId);
    await this.#notes.write(this.#base(runId), null);
    await this.#notes.write(this.#member(runId), null);
  }

  async publish(state: PublishedState): Promise<void> {
    await this.#notes.write(`sync/state/${this.key}`, JSON.stringify(state));
  }

  async readPublished(): Promise<PublishedState | undefined> {
    const text = await this.#notes.read(`sync/state/${this.key}`);
    return text === undefined ? undefined : (JSON.parse(text) as PublishedState);
  }

  async #write(name: string, text: string, expected: string | null): Promise<void> {
    if (!(await this.#notes.write(name, text, expected))) throw new NotesTaken();
  }

  #member(runId: string): string {
    return memberPrefix(runId) + this.key;
  }

  #base(runId: string): string {
    return basePrefix(runId) + this.key;
  }
}

/** The notes of a store. @throws {SessionStoreError} `rejected` for a store that cannot keep them */
export function notesOf(store: { readonly uri: string; readonly notes?: StoreNotes }): StoreNotes {
  if (store.notes !== undefined) return store.notes;
  throw new SessionStoreError(
    'rejected',
    `${store.uri} cannot be the local side of an outbox: it keeps no notes. Record into a directory, an IndexedDB database or memory.`,
    { details: { uri: store.uri } },
  );
}

function parseMember(text: string): Member {
  try {
    return { ...FRESH, ...(JSON.parse(text) as Partial<Member>) };
  } catch {
    return FRESH;
  }
}

/** What a snapshot of the store says of one run. */
export type RunOfNotes = {
  readonly status: string;
  readonly revision: number;
  readonly streams: readonly StreamState[];
};

/** A snapshot of the store, by run. */
export function snapshotByRun({ runs, streams }: StoreSurvey): ReadonlyMap<string, RunOfNotes> {
  const found = new Map<string, RunOfNotes & { readonly streams: StreamState[] }>();
  for (const { id, revision, status } of runs) found.set(id, { status, revision, streams: [] });
  for (const stream of streams) found.get(stream.runId)?.streams.push(stream);
  return found;
}
