/** What is in the store before a siege: users with keys, runs, payloads. Written directly, before the service starts. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { openSpaces } from '../../src/store/sql/node/open-spaces.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { storedSpace } from '../../src/service/access/principal.ts';
import type { KeyScope } from '../../src/wire/access-messages.ts';
import type { NewSegment, Store } from '../../src/store/store.ts';
import { artifactSegment, metricSegment } from './segments.ts';

/** A user as the siege knows them. */
export type SiegeUser = { readonly name: string; readonly key: string };

export const RUN_ID = 'run_siege';
export const ARTIFACT_ID = 'artifact_siege';
const AT_MS = 1_760_000_000_000;
const SEGMENT_ROWS = 10_000;
const METRICS = 10;
const HOUR_MS = 3_600_000;

/** Writes a scene: users are made by name, each with a store of their own. */
export async function makeScene<T>(
  storage: string,
  build: (scene: Scene) => Promise<T>,
): Promise<T> {
  const spaces = await openSpaces(storage);
  const access = new AccessBook({ database: spaces.database, clock: Date, timingSafeEqual });
  // An hour ago, so that a key may have ended.
  const past = { now: () => Date.now() - HOUR_MS };
  const earlier = new AccessBook({ database: spaces.database, clock: past, timingSafeEqual });
  try {
    return await build({
      revoked: async (user) => {
        const { key, keyId } = await access.createKey({ user });
        await access.revokeKey(keyId);
        return key;
      },
      expired: async (user) =>
        (await earlier.createKey({ user, expiresAt: Date.now() - HOUR_MS / 2 })).key,
      key: async (user, scope = 'admin') => (await access.createKey({ user, scope })).key,
      store: async (user) => {
        const { key } = await access.createKey({ user });
        return spaces.store(storedSpace((await access.identify(key)).userId, 'default'));
      },
      share: (owner, project, user) => access.share({ owner, project, user }),
    });
  } finally {
    await spaces.close();
  }
}

export type Scene = {
  readonly key: (user: string, scope?: KeyScope) => Promise<string>;
  /** Keys of a user that are not good any more. */
  readonly revoked: (user: string) => Promise<string>;
  readonly expired: (user: string) => Promise<string>;
  readonly store: (user: string) => Promise<Store>;
  readonly share: (owner: string, project: string, user: string) => Promise<unknown>;
};

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Adds a run. */
export async function addRun(
  store: Store,
  id: string,
  { tags = [], config = {} }: { readonly tags?: readonly string[]; readonly config?: object } = {},
): Promise<void> {
  const project = await store.ensureProject({ id: 'prj_siege', name: 'siege', createdAtMs: 1 });
  await store.createRun({ ...runFields(id, tags, config), projectId: project.id });
}

/** A run as messages say it. */
export function runFields(id: string, tags: readonly string[] = [], config: object = {}) {
  return {
    id,
    projectId: 'prj_siege',
    projectName: 'siege',
    status: 'running',
    startedAtMs: AT_MS,
    tags,
    document: JSON.stringify({ id, config }),
  };
}

/** Appends to a run of a store, some at a time. */
export async function append(store: Store, segments: readonly NewSegment[]): Promise<void> {
  for (let at = 0; at < segments.length; at += 256)
    await store.appendSegments(segments.slice(at, at + 256));
}

/** A run with so many rows of ten metrics. */
export async function addRows(store: Store, runId: string, rows: number): Promise<void> {
  await addRun(store, runId);
  await append(
    store,
    Array.from({ length: Math.ceil(rows / SEGMENT_ROWS) }, (_, i) =>
      metricSegment(runId, 'siege', i, {
        rows: SEGMENT_ROWS,
        metrics: METRICS,
        firstStep: (i * SEGMENT_ROWS) / METRICS,
      }),
    ),
  );
}

/** A payload of a run: the record and the bytes. Returns the hash. */
export async function addArtifact(
  store: Store,
  runId: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const sha256 = sha256Of(bytes);
  await store.putBlob(sha256, bytes);
  await store.appendSegments([
    artifactSegment(runId, { id: ARTIFACT_ID, sha256, sizeBytes: bytes.byteLength }),
  ]);
  return sha256;
}

/** Bytes that do not get smaller, the same for the same seed. */
export function noise(random: () => number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const words = new Uint32Array(bytes.buffer, 0, length >> 2);
  for (let i = 0; i < words.length; i++) words[i] = random() * 2 ** 32;
  return bytes;
}
