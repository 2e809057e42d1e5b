/**
 * Two users doing random things. In spaces of their own, each finds what they would find without the other; in a space
 * of somebody else's, a user changes nothing and learns nothing of what is not shared.
 */
import { timingSafeEqual } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isQuarkError } from '../../src/base/errors.ts';
import { openFileSpaces } from '../../src/store/sql/node/file-storage.ts';
import { AccessBook } from '../../src/service/access/access-book.ts';
import { guardStore } from '../../src/service/access/guarded-store.ts';
import type { RunAccess } from '../../src/wire/access-messages.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { SegmentRead, SegmentReference, Store, StoredRun } from '../../src/store/store.ts';
import { runs } from '../support/property.ts';
import { mergeOf, runOf, segmentOf } from '../support/segments.ts';
import { bytesOf, sha256Of } from '../service/filled-store.ts';

const CLOCK = { now: () => 1_700_000_000_000 };
const RUNS = ['run_1', 'run_2', 'run_3', 'run_4'];
const PROJECTS = ['open', 'joint', 'closed'];
const TABLES = ['metrics', 'events'];
/** Stands in all that is in the project `closed`, but in what somebody else may choose. */
const MARK = 'SECRET';

type Op = {
  readonly kind: (typeof KINDS)[number];
  readonly run: number;
  readonly other: number;
  readonly project: number;
  readonly table: number;
  readonly batch: number;
  readonly count: number;
  readonly isNarrow: boolean;
};

const KINDS = [
  'ensureProject',
  'listProjects',
  'createRun',
  'findRun',
  'listRuns',
  'updateRun',
  'renewLease',
  'releaseLease',
  'listLeases',
  'appendSegments',
  'listSegments',
  'readSegments',
  'replaceSegments',
  'replaceTable',
  'putBlob',
  'getBlob',
  'reclaimSpace',
] as const;

const op: fc.Arbitrary<Op> = fc.record({
  kind: fc.constantFrom(...KINDS, 'createRun', 'appendSegments', 'renewLease', 'updateRun'),
  run: fc.nat({ max: RUNS.length - 1 }),
  other: fc.nat({ max: RUNS.length - 1 }),
  project: fc.nat({ max: PROJECTS.length - 1 }),
  table: fc.nat({ max: TABLES.length - 1 }),
  batch: fc.nat({ max: 4 }),
  count: fc.nat({ max: 3 }),
  isNarrow: fc.boolean(),
});
const steps = fc.array(fc.record({ isFirst: fc.boolean(), op }), {
  minLength: 1,
  maxLength: 40,
  size: 'max',
});

const at = <T>(list: readonly T[], index: number): T => {
  const item = list[index];
  if (item === undefined) throw new Error('There is no such item.');
  return item;
};

function runIn(id: string, project: string): Omit<StoredRun, 'revision'> {
  const mark = project === 'closed' ? MARK : 'plain';
  return runOf({
    id,
    projectId: `id_of_${project}`,
    projectName: project,
    startedAtMs: RUNS.indexOf(id),
    tags: [mark],
    document: JSON.stringify({ id, mark }),
  });
}

/** Does one thing to a store. `mark` stands in what is written and need not be told to anybody. */
async function act(store: Store, step: Op, mark: string): Promise<unknown> {
  const runId = at(RUNS, step.run);
  const project = at(PROJECTS, step.project);
  const table = at(TABLES, step.table);
  const writerId = `writer_${mark}`;
  const segment = (batch: number, of = runId): ReturnType<typeof segmentOf> =>
    segmentOf(batch, { runId: of, table, writerId, keys: [mark] });
  const reference: SegmentReference = { runId, table, writerId, batchNumber: step.batch };
  const bytes = bytesOf(step.batch, 16);
  switch (step.kind) {
    case 'ensureProject':
      return store.ensureProject({ id: `id_of_${project}`, name: project, createdAtMs: 1 });
    case 'listProjects':
      return store.listProjects();
    case 'createRun':
      return store.createRun({
        ...runIn(runId, project),
        ...(step.count === 3 ? { projectId: 'id_of_closed' } : {}),
      });
    case 'findRun':
      return store.findRun(runId);
    case 'listRuns':
      return store.listRuns({
        ...(step.isNarrow ? { projectName: project } : {}),
        ...(step.count < 3 ? { offset: step.batch, limit: step.count } : {}),
      });
    case 'updateRun':
      return store.updateRun({ ...runIn(runId, project), revision: step.count + 1 });
    case 'renewLease':
      return store.renewLease(runId, `holder_${mark}`, 1_000);
    case 'releaseLease':
      return store.releaseLease(runId, `holder_${step.isNarrow ? mark : MARK}`);
    case 'listLeases':
      return store.listLeases(step.isNarrow ? [runId] : undefined);
    case 'appendSegments':
      return store.appendSegments([segment(step.batch), segment(0, at(RUNS, step.other))]);
    case 'listSegments':
      return store.listSegments({ runId, table });
    case 'readSegments':
      return store.readSegments(referencesOf(step, mark));
    case 'replaceSegments': {
      const { manifest } = segment(step.batch);
      const merged = mergeOf([{ ...manifest, firstSequence: 0, lastSequence: 9 }]);
      return store.replaceSegments(runId, table, [reference], [merged]);
    }
    case 'replaceTable':
      return store.replaceTable(runId, table, [segment(step.batch)]);
    case 'putBlob':
      return store.putBlob(await sha256Of(bytes), bytes);
    case 'getBlob':
      return store.getBlob(await sha256Of(bytes));
    case 'reclaimSpace':
      return store.reclaimSpace();
  }
}

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await work };
  } catch (error) {
    if (!isQuarkError(error)) throw error;
    // Of several runs that are missing, each store names another one first.
    if (error.code === 'run_not_found') return { code: error.code };
    return { code: error.code, message: error.message, details: error.details };
  }
}

function referencesOf(step: Op, mark: string): readonly SegmentReference[] {
  const table = at(TABLES, step.table);
  const writerId = `writer_${mark}`;
  const reference = { runId: at(RUNS, step.run), table, writerId, batchNumber: step.batch };
  return [
    reference,
    { ...reference, writerId: `writer_${MARK}` },
    { ...reference, runId: at(RUNS, step.other) },
  ];
}

async function expectedReads(
  whole: Store,
  step: Op,
  visible: readonly string[],
): Promise<readonly SegmentRead[]> {
  const expected: SegmentRead[] = [];
  for (const reference of referencesOf(step, 'plain')) {
    const run = await whole.findRun(reference.runId);
    const isVisible = run !== undefined && visible.includes(run.projectName);
    expected.push(
      ...(isVisible ? await whole.readSegments([reference]) : [{ kind: 'gone' } as const]),
    );
  }
  return expected;
}

/** Everything in a space that is not of the project `joint`. */
async function outside(store: Store, withClaims: boolean): Promise<unknown> {
  const kept = (await store.listRuns()).filter(({ projectName }) => projectName !== 'joint');
  const ids = RUNS.filter((id) => kept.some((run) => run.id === id));
  const tables: unknown[] = [];
  for (const runId of ids)
    for (const table of TABLES) {
      const segments = await store.listSegments({ runId, table });
      tables.push(segments, await store.readSegments(segments));
    }
  const others = new Set((await store.listRuns()).map(({ id }) => id));
  const leases = (await store.listLeases()).filter(
    ({ runId }) => ids.includes(runId) || (withClaims && !others.has(runId)),
  );
  return { kept, tables, leases, projects: await store.listProjects() };
}

describe('two users', () => {
  it('with spaces of their own do not meet, whatever they do', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const directory = await mkdtemp(join(tmpdir(), 'quark-access-'));
        const spaces = await openFileSpaces(directory);
        try {
          const parts = { database: spaces.database, clock: CLOCK, timingSafeEqual };
          const access = new AccessBook(parts);
          const users: { readonly real: Store; readonly model: Store }[] = [];
          for (const user of ['alice', 'bob']) {
            const principal = await access.identify((await access.createKey({ user })).key);
            const { storedName, projects } = await access.openSpace(principal, {
              owner: undefined,
              name: 'default',
            });
            const guard = (store: Store): Store =>
              guardStore({ store, name: 'default', access: 'write', projects });
            users.push({
              real: guard(spaces.store(storedName)),
              model: guard(createMemoryStore({ clock: CLOCK })),
            });
          }
          for (const { isFirst, op: step } of list) {
            const { real, model } = at(users, isFirst ? 0 : 1);
            // Where a store lies and what time it is are no part of what is compared.
            const comparable = async (store: Store): Promise<string> =>
              JSON.stringify(await outcomeOf(act(store, step, 'plain')))
                .replaceAll(/"expiresAtMs":\d+/g, '"expiresAtMs":0')
                // Answers over HTTP say "this store" in the place of where it is.
                .replaceAll(/memory:|file:[^" ]*?(?=[" ]|\. )/g, 'PLACE');
            expect(await comparable(real)).toBe(await comparable(model));
          }
        } finally {
          await spaces.close();
          await rm(directory, { recursive: true, force: true });
        }
      }),
      runs(20),
    );
  });

  it('of which one is let into a project of the other: nothing else changes or is told', async () => {
    const shares = fc.constantFrom<readonly (readonly [string, RunAccess])[]>(
      [
        ['open', 'read'],
        ['joint', 'write'],
      ],
      [['joint', 'write']],
      [['open', 'read']],
      [],
    );
    await fc.assert(
      fc.asyncProperty(shares, steps, fc.boolean(), async (granted, list, mayWrite) => {
        const whole = createMemoryStore({ clock: CLOCK });
        const owner = guardStore({ store: whole, name: 'default', access: 'write' });
        const guest = guardStore({
          store: whole,
          name: 'alice:default',
          access: mayWrite ? 'write' : 'read',
          projects: new Map(granted),
        });
        const visible = granted.map(([name]) => name);
        const canWrite = mayWrite && granted.some(([, access]) => access === 'write');
        for (const name of PROJECTS)
          await owner.ensureProject({ id: `id_of_${name}`, name, createdAtMs: 1 });
        for (const [index, id] of RUNS.slice(0, 3).entries()) {
          const mark = PROJECTS[index] === 'closed' ? MARK : 'plain';
          await owner.createRun(runIn(id, at(PROJECTS, index)));
          const base = { run: index, other: index, project: 0, table: 0, batch: 1, count: 0 };
          await act(owner, { ...base, kind: 'appendSegments', isNarrow: false }, mark);
          await act(owner, { ...base, kind: 'renewLease', isNarrow: false }, mark);
        }
        for (const { isFirst, op: step } of list) {
          if (isFirst) {
            const kept = await whole.findRun(at(RUNS, step.run));
            const isClosed = kept?.projectName === 'closed';
            // What was closed stays closed, or its marks would rightly be seen.
            if (step.kind === 'updateRun' && isClosed && at(PROJECTS, step.project) !== 'closed')
              continue;
            if (step.kind === 'createRun' && step.count === 3) continue;
            // The owner's own runs may be in different projects.
            const touchesOther = step.kind === 'appendSegments' && step.other !== step.run;
            if (touchesOther) continue;
            await outcomeOf(act(owner, step, isClosed ? MARK : 'plain'));
            continue;
          }
          // A run that the guest makes takes over what was claimed before it was there.
          const withClaims = step.kind !== 'createRun';
          const before = JSON.stringify(await outside(whole, withClaims));
          const all = JSON.stringify([await whole.listRuns(), await whole.listLeases()]);
          const outcome = await outcomeOf(act(guest, step, 'plain'));
          expect(JSON.stringify(await outside(whole, withClaims))).toBe(before);
          if (!canWrite)
            expect(JSON.stringify([await whole.listRuns(), await whole.listLeases()])).toBe(all);
          // No run passes for one of a project that it is not in.
          for (const { projectId, projectName } of await whole.listRuns())
            if (projectName === 'joint') expect(projectId).toBe('id_of_joint');
          if (step.kind === 'listProjects')
            expect(outcome).toEqual({
              value: (await whole.listProjects()).filter(({ name }) => visible.includes(name)),
            });
          if (step.kind === 'readSegments')
            expect(outcome).toEqual({ value: await expectedReads(whole, step, visible) });
          // A holder's name that the guest gave comes back in what they are told of it.
          const told = JSON.stringify(outcome);
          expect(told).not.toContain(`"${MARK}`);
          expect(told).not.toContain(`_${MARK}`);
          if (step.kind === 'listRuns' && typeof outcome === 'object' && outcome !== null) {
            const found = Reflect.get(outcome, 'value') as readonly StoredRun[];
            const { offset = 0, limit } =
              step.count < 3 ? { offset: step.batch, limit: step.count } : {};
            const expected = (await whole.listRuns())
              .filter(
                ({ projectName }) =>
                  visible.includes(projectName) &&
                  (!step.isNarrow || projectName === at(PROJECTS, step.project)),
              )
              .slice(offset, limit === undefined ? undefined : offset + limit);
            expect(found).toEqual(expected);
          }
        }
      }),
      runs(200),
    );
  });
});
