/** Written reports: checked, saved with compare-and-set, bounded. */
import { createMemoryStore, startRun, type Store } from 'quark-sdk';
import {
  checkReport,
  deleteReport,
  freezeReport,
  listDeletedReports,
  listDocuments,
  listReports,
  readReport,
  REPORT_UNDO_MS,
  restoreReport,
  saveReport,
  type WrittenReport,
} from 'quark-sdk/workspace';
import { expect, test, vi } from 'vitest';
import { ReportDraft } from '../../../dashboard/reports/report-draft.ts';

const REPORT: WrittenReport = {
  title: 'Rates <b>',
  blocks: [
    { kind: 'text', text: '# Small ones *win*\n<script>alert(1)</script>' },
    { kind: 'chart', metric: 'val/loss', where: 'tag:sweep' },
    {
      kind: 'runs',
      where: '',
      columns: ['config.lr'],
      frozen: { titles: ['Run', 'config.lr'], rows: [['a', '0.1']] },
    },
  ],
};

async function opened(): Promise<Store> {
  const store = createMemoryStore();
  const session = await startRun({ project: 'digits', storage: store, handleSignals: false });
  await session.endRun();
  return store;
}

test('a report comes back as it was saved, is listed and deleted', async () => {
  const store = await opened();
  const made = await saveReport(store, 'digits', REPORT);
  const id = made.report?.id ?? '';
  expect((await readReport(store, 'digits', id))?.report).toEqual(REPORT);
  expect((await listReports(store, 'digits')).map(({ name }) => name)).toEqual(['Rates <b>']);
  expect(await deleteReport(store, 'digits', id)).toBe(true);
  expect(await readReport(store, 'digits', id)).toBeUndefined();
});

test('a deleted report comes back for some days, under its id, unless that is taken', async () => {
  const store = await opened();
  const { report } = await saveReport(store, 'digits', REPORT, { id: 'r' });
  vi.useFakeTimers({ now: Date.now() });
  try {
    expect(await deleteReport(store, 'digits', 'r')).toBe(true);
    expect(await listReports(store, 'digits')).toEqual([]);
    expect(await listDeletedReports(store, 'digits')).toMatchObject([
      { id: 'r', name: 'Rates <b>' },
    ]);
    expect((await restoreReport(store, 'digits', 'r'))?.report).toEqual(report?.report);
    expect(await restoreReport(store, 'digits', 'r')).toBeUndefined();
    await deleteReport(store, 'digits', 'r');
    await saveReport(store, 'digits', { ...REPORT, title: 'Other' }, { id: 'r' });
    await expect(restoreReport(store, 'digits', 'r')).rejects.toMatchObject({
      details: { reason: 'rejected' },
    });
    expect(await deleteReport(store, 'digits', 'r', { purge: true })).toBe(true);
    expect(await restoreReport(store, 'digits', 'r')).toBeUndefined();
    await saveReport(store, 'digits', REPORT, { id: 'old' });
    await deleteReport(store, 'digits', 'old');
    vi.advanceTimersByTime(REPORT_UNDO_MS);
    expect(await restoreReport(store, 'digits', 'old')).toBeUndefined();
    expect(await listDeletedReports(store, 'digits')).toEqual([]);
    await saveReport(store, 'digits', REPORT, { id: 'next' });
    await deleteReport(store, 'digits', 'next');
    // The next deletion removes what has had its time.
    expect((await listDocuments(store, 'digits')).map(({ id }) => id)).toEqual(['next']);
  } finally {
    vi.useRealTimers();
  }
});

test('two writers: the second is told what the first saved, and chooses', async () => {
  const store = await opened();
  const made = await saveReport(store, 'digits', REPORT);
  if (made.report === null) throw new Error('It was not saved.');
  const [first, second] = [made.report, made.report].map(
    (one) => new ReportDraft(store, 'digits', one),
  );
  first?.setTitle('First');
  await first?.save();
  expect(first?.state.value).toEqual({ kind: 'saved' });
  second?.move(2, 0);
  await second?.save();
  const state = second?.state.value;
  if (state?.kind !== 'conflict' || state.theirs === null) throw new Error('No conflict was told.');
  expect(state.theirs.report.title).toBe('First');
  // Typing on does not hide the conflict.
  second?.remove(1);
  expect(second?.state.value.kind).toBe('conflict');
  await second?.overwrite(state.theirs);
  const now = await readReport(store, 'digits', made.report.id);
  expect(now?.report.blocks.map(({ kind }) => kind)).toEqual(['runs', 'chart']);
});

test.each<[string, unknown]>([
  ['report', null],
  ['report.title', { ...REPORT, title: '' }],
  ['report.blocks', { ...REPORT, blocks: Array.from({ length: 201 }, () => REPORT.blocks[0]) }],
  ['report.blocks[0].kind', { ...REPORT, blocks: [{ kind: 'html', text: '' }] }],
  ['report.blocks[0].text', { ...REPORT, blocks: [{ kind: 'text', text: 7 }] }],
  ['report.blocks[0].where', { ...REPORT, blocks: [{ kind: 'chart', metric: 'a' }] }],
  [
    'report.blocks[0].frozen[0].values[0]',
    {
      ...REPORT,
      blocks: [
        {
          kind: 'chart',
          metric: 'a',
          where: '',
          frozen: [{ label: '', steps: [1], values: ['x'] }],
        },
      ],
    },
  ],
  [
    'report.blocks[0].frozen[0].values',
    {
      ...REPORT,
      blocks: [
        { kind: 'chart', metric: 'a', where: '', frozen: [{ label: '', steps: [1], values: [] }] },
      ],
    },
  ],
])('%s is named where it is wrong', (field, report) => {
  expect(() => checkReport(report)).toThrow(field);
});

test('a report with a block that is none is refused before runs are read', async () => {
  const report: unknown = JSON.parse(
    '{ "title": "Rates", "blocks": [{ "kind": "runs", "where": "" }] }',
  );
  const scope = { store: await opened(), project: 'digits' };
  await expect(Reflect.apply(freezeReport, undefined, [scope, report])).rejects.toMatchObject({
    code: 'invalid_input',
    details: { field: 'report.blocks[0].columns' },
  });
});
