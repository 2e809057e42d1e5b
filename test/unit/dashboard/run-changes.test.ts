import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createMemoryStore,
  listRuns,
  openRun,
  startRun,
  type RunRecord,
  type Store,
} from 'quark-sdk';
import {
  changeNotice,
  changingIds,
  dismissNotice,
  makeChanges,
  NOTICE_MS,
  pauseNotice,
  resumeNotice,
  undoChanges,
} from '../../../dashboard/changes/page-changes.ts';
import {
  actOnRun,
  askedToDelete,
  deleteOrAsk,
  type ChangeTarget,
} from '../../../dashboard/changes/run-acts.ts';
import {
  addingNote,
  settingGroups,
  noting,
  renaming,
  tagging,
  untagging,
} from '../../../dashboard/changes/run-edits.ts';
import {
  editRefusalFor,
  refusalFor,
  type DeletionRights,
} from '../../../dashboard/changes/rights.ts';
import { accountOf } from '../../../dashboard/sources/server-access.ts';
import { deletedText, untilText } from '../../../dashboard/changes/deleted-run.tsx';

let store: Store;

beforeEach(() => {
  store = createMemoryStore();
});

afterEach(() => {
  dismissNotice();
  askedToDelete.value = undefined;
  vi.useRealTimers();
});

async function recorded(name: string): Promise<ChangeTarget> {
  const session = await startRun({ project: name, storage: store });
  await session.endRun();
  return { store, runId: session.runId, name };
}

async function namesOf(archived: boolean = false): Promise<readonly string[]> {
  return (await listRuns(store, { archived })).map(({ run }) => run.projectName).toSorted();
}

describe('changes of runs', () => {
  it('deletes a run, says so, and undoes it', async () => {
    const run = await recorded('digits');
    const deleting = actOnRun('delete', run);
    expect([...changingIds.value]).toEqual([run.runId]);
    // A second click changes nothing.
    await actOnRun('delete', run);
    await deleting;
    expect(changingIds.value.size).toBe(0);
    expect(changeNotice.value).toMatchObject({ text: 'Deleted digits', failure: undefined });
    expect(await namesOf()).toEqual([]);
    await undoChanges();
    expect(changeNotice.value).toMatchObject({ text: 'Undone: digits is as it was.', done: [] });
    expect(await namesOf()).toEqual(['digits']);
    await undoChanges();
    expect(changeNotice.value?.text).toBe('Undone: digits is as it was.');
  });

  it('counts several changes in one notice and undoes all of them, the last one first', async () => {
    const [first, second, third] = [
      await recorded('first'),
      await recorded('second'),
      await recorded('third'),
    ];
    await actOnRun('delete', first);
    await actOnRun('delete', second);
    expect(changeNotice.value?.text).toBe('Deleted 2 runs');
    await actOnRun('archive', third);
    expect(changeNotice.value?.text).toBe('Deleted 2 runs, archived 1 run');
    await actOnRun('delete', third);
    await actOnRun('restore', first, 'delete');
    expect(changeNotice.value?.text).toBe('Deleted 3 runs, archived 1 run, restored 1 run');
    expect(await namesOf()).toEqual(['first']);
    await undoChanges();
    expect(await namesOf()).toEqual(['first', 'second', 'third']);
    expect(await namesOf(true)).toEqual([]);
  });

  it('restores an archived run, and archives it again on undo', async () => {
    const run = await recorded('digits');
    await actOnRun('archive', run);
    dismissNotice();
    await actOnRun('restore', run, 'archive');
    expect(changeNotice.value?.text).toBe('Restored digits');
    await undoChanges();
    expect(await namesOf(true)).toEqual(['digits']);
  });

  it('says why a change was not made, and what was made before can be undone', async () => {
    const run = await recorded('digits');
    await actOnRun('delete', run);
    await actOnRun('archive', { ...run, name: 'again' });
    expect(changeNotice.value).toMatchObject({
      text: 'Deleted digits',
      failure: expect.stringMatching(/^again was not archived\. .*was deleted/),
    });
    expect(changeNotice.value?.done).toHaveLength(1);
    await undoChanges();
    expect(changeNotice.value?.failure).toBeUndefined();
    expect(await namesOf()).toEqual(['digits']);
  });

  it('leaves in the notice what cannot be undone', async () => {
    const [first, second] = [await recorded('first'), await recorded('second')];
    await actOnRun('delete', first);
    await actOnRun('delete', second);
    await store.purgeDeletedRuns(undefined, [first.runId]);
    await undoChanges();
    expect(changeNotice.value).toMatchObject({
      text: 'Deleted first',
      failure: expect.stringMatching(/^first was not restored\. .*cannot be restored/),
    });
    expect(await namesOf()).toEqual(['second']);
  });

  it('asks before it deletes a run that goes on', async () => {
    const run = await recorded('digits');
    deleteOrAsk([run], 1);
    expect(askedToDelete.value).toEqual({ targets: [run], liveCount: 1 });
    expect(await namesOf()).toEqual(['digits']);
    deleteOrAsk([run], 0);
    await vi.waitFor(async () => expect(await namesOf()).toEqual([]));
  });

  it('goes after its time, and not under the pointer', async () => {
    const run = await recorded('digits');
    vi.useFakeTimers();
    await actOnRun('archive', run);
    vi.advanceTimersByTime(NOTICE_MS - 1);
    expect(changeNotice.value).toBeDefined();
    pauseNotice();
    vi.advanceTimersByTime(10 * NOTICE_MS);
    expect(changeNotice.value).toBeDefined();
    resumeNotice();
    vi.advanceTimersByTime(NOTICE_MS);
    expect(changeNotice.value).toBeUndefined();
    expect(await namesOf(true)).toEqual(['digits']);
  });
});

describe('what people say of runs', () => {
  const runOf = async (target: ChangeTarget): Promise<RunRecord> =>
    (await openRun(store, target.runId)).run;

  it('changes names, notes and tags, and undoes each by what was there before', async () => {
    const run = await recorded('digits');
    await makeChanges([tagging(run, ['keep', 'workers=2'])]);
    expect(changeNotice.value?.text).toBe('Tagged digits with keep, workers=2');
    dismissNotice();
    await makeChanges([renaming(run, 'baseline')]);
    await makeChanges([noting(run, '# Result')]);
    await makeChanges([addingNote(run, 'Better.')]);
    await makeChanges([tagging(run, ['workers=8', 'keep'])]);
    await makeChanges([untagging(run, ['keep'])]);
    expect(await runOf(run)).toMatchObject({
      name: 'baseline',
      notes: '# Result\n\nBetter.',
      tags: ['workers=8'],
    });
    expect(changeNotice.value?.text).toBe(
      'Renamed 1 run, changed the notes of 2 runs, tagged 1 run with workers=8, keep, removed keep from 1 run',
    );
    await undoChanges();
    expect(changeNotice.value?.text).toBe('Undone: 5 changes.');
    const after = await runOf(run);
    expect(after).toMatchObject({ name: null, notes: null });
    expect(after.tags.toSorted()).toEqual(['keep', 'workers=2']);
  });

  it('says nothing of what was so already', async () => {
    const run = await recorded('digits');
    await makeChanges([tagging(run, ['keep'])]);
    dismissNotice();
    await makeChanges([tagging(run, ['keep'])]);
    expect(changeNotice.value).toBeUndefined();
  });

  it('changes many runs at once, as one notice, and says which one was not changed', async () => {
    const runs = await Promise.all(Array.from({ length: 9 }, (_, at) => recorded(`run ${at}`)));
    const missing = { store, runId: 'run_missing', name: 'missing' };
    await makeChanges([...runs, missing].map((run) => tagging(run, ['sweep'])));
    expect(changeNotice.value).toMatchObject({
      text: 'Tagged 9 runs with sweep',
      failure: expect.stringMatching(/^missing was not tagged\. /),
    });
    await undoChanges();
    for (const run of runs) expect((await runOf(run)).tags).toEqual([]);
  });

  it('puts runs into groups, and back into those that each was in', async () => {
    const runs = [await recorded('digits'), await recorded('letters')];
    const [first = expect.fail('no run')] = runs;
    await makeChanges([settingGroups(first, ['sweep-1', 'old'])]);
    dismissNotice();
    await makeChanges(runs.map((run) => settingGroups(run, ['sweep-2'])));
    for (const run of runs) expect((await runOf(run)).groups).toEqual(['sweep-2']);
    expect(changeNotice.value?.text).toBe('Put 2 runs into sweep-2');
    await undoChanges();
    const groups = await Promise.all(runs.map(async (run) => (await runOf(run)).groups));
    expect(groups).toEqual([['sweep-1', 'old'], []]);
    await makeChanges([settingGroups(first, [])]);
    expect((await runOf(first)).groups).toEqual([]);
  });

  it('refuses a tag that no run can have, and changes nothing', async () => {
    const run = await recorded('digits');
    await makeChanges([tagging(run, [''])]);
    expect(changeNotice.value).toMatchObject({
      done: [],
      failure: expect.stringMatching(/^digits was not tagged\. .*addTags/),
    });
  });
});

describe('who may change names, notes and tags', () => {
  const rights: DeletionRights = {
    sourceId: 'server',
    isWritable: false,
    needsKey: true,
    account: { user: 'bob', scope: 'write', spaces: [] },
    space: 'default',
  };
  it.each([
    ['this browser', { sourceId: 'browser', needsKey: false, isWritable: true }, undefined],
    ['dropped files', { sourceId: 'files' }, 'only read'],
    ['a server that only shows', { needsKey: false }, 'quark rename'],
    ['a key that is not known yet', { account: undefined }, 'not known yet'],
    ['a key of scope write', {}, undefined],
    [
      'a key of scope delete',
      { account: { user: 'bob', scope: 'delete', spaces: [] } },
      'the scope "delete"',
    ],
  ] as const)('%s', (_name, part, refusal) => {
    const given = editRefusalFor({ ...rights, ...part });
    if (refusal === undefined) expect(given).toBeUndefined();
    else expect(given).toContain(refusal);
  });

  it.each([
    [{ vision: 'read' }, undefined, 'alice shares this space with you for reading only.'],
    [{ vision: 'read', audio: 'write' }, undefined, undefined],
    [{ vision: 'read', audio: 'write' }, 'audio', undefined],
    [{ vision: 'read', audio: 'write' }, 'vision', 'alice shares the project "vision" with you'],
    // The share has ended since the server was asked.
    [{ audio: 'write' }, 'vision', 'for reading only'],
    [null, 'vision', undefined],
  ])("in somebody else's space with %j: project %s", (projects, project, refusal) => {
    const space = 'alice:default';
    const account = accountOf({
      user: 'bob',
      scope: 'write',
      spaces: [
        { space: 'default', owner: 'bob', projects: null },
        { space, owner: 'alice', projects },
      ],
    });
    const given = editRefusalFor({ ...rights, account, space }, project);
    if (refusal === undefined) expect(given).toBeUndefined();
    else expect(given).toContain(refusal);
    expect(editRefusalFor({ ...rights, account }, project)).toBeUndefined();
  });
});

describe('who may delete', () => {
  const account = {
    user: 'bob',
    scope: 'admin',
    spaces: [
      { space: 'default', owner: 'bob' },
      { space: 'alice:default', owner: 'alice' },
    ],
  };
  const rights: DeletionRights = {
    sourceId: 'server',
    isWritable: true,
    needsKey: true,
    account,
    space: 'default',
  };
  it.each([
    ['this browser', { sourceId: 'browser', needsKey: false, account: undefined }, undefined],
    ['dropped files', { sourceId: 'files' }, 'only read'],
    ['a server that only shows', { needsKey: false, isWritable: false }, 'only shows runs'],
    ['a server without keys', { needsKey: false, account: undefined }, undefined],
    ['a key that is not known yet', { account: undefined }, 'not known yet'],
    ['a key for all', {}, undefined],
    // It may not write, and the store is not writable.
    ['delete', { account: { ...account, scope: 'delete' }, isWritable: false }, undefined],
    ['write', { account: { ...account, scope: 'write' } }, 'the scope "write"'],
    ['read', { account: { ...account, scope: 'read' }, isWritable: false }, 'the scope "read"'],
    ["somebody else's space", { space: 'alice:default' }, 'Only its owner, alice,'],
  ] as const)('%s', (_name, part, refusal) => {
    const given = refusalFor({ ...rights, ...part });
    if (refusal === undefined) expect(given).toBeUndefined();
    else expect(given).toContain(refusal);
  });
});

describe('a deleted run', () => {
  const deleted = { id: 'run_1', projectName: 'digits', deletedAtMs: 1_000, purgeAtMs: 90_000 };
  it('says by whom, when, and until when there is a way back', () => {
    expect(deletedText({ ...deleted, by: 'alice' }, 61_000)).toMatch(
      /^This run was deleted by alice 1 min ago\. It can be restored until .*1970/,
    );
    expect(deletedText(deleted, 61_000, 'digits')).toMatch(/^digits was deleted 1 min ago\./);
    expect(untilText(deleted, 90_000)).toContain('may be removed at any moment');
    expect(untilText({ ...deleted, purgedAtMs: 91_000 }, 95_000)).toContain('cannot be restored');
  });
});
