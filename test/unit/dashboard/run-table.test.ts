/** The models behind the table of runs: columns, order, facets, picks, sections, pages of rows, small curves, CSV. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryStore, startRun } from 'quark-sdk';
import { findRunRows, type FoundRun } from 'quark-sdk/workspace';
import {
  CURVE_PREFIX,
  differingPaths,
  fullTitle,
  INITIAL_LAYOUT,
  LAYOUT,
  layoutOf,
  MAX_COLUMN_WIDTH,
  MIN_COLUMN_WIDTH,
  movedBy,
  movedTo,
  newColumn,
  valuePaths,
  sortPathOf,
  withAhead,
  withColumn,
  withPin,
  withWidth,
  type ColumnLayout,
} from '../../../dashboard/runs/model/columns.ts';
import { sparkPath } from '../../../dashboard/runs/model/curve-cache.ts';
import { FACETS, toggledFacet, type FacetValue } from '../../../dashboard/runs/model/facet-text.ts';
import { NEWEST_FIRST, ORDER, sortedBy } from '../../../dashboard/runs/model/list-order.ts';
import { csvCells, csvPaths } from '../../../dashboard/runs/list-export.ts';
import { PAGE_ROWS, RowPages } from '../../../dashboard/runs/model/row-pages.ts';
import { SectionList } from '../../../dashboard/runs/model/sections.ts';
import {
  NO_SELECTION,
  toggledRun,
  withAll,
  without,
  withRange,
} from '../../../dashboard/runs/model/selection.ts';
import { valueTerm } from '../../../dashboard/runs/model/table-source.ts';
import { runs } from '../../support/property.ts';

const paths = (layout: ColumnLayout): readonly string[] => layout.map(({ path }) => path);

describe('columns of the table', () => {
  it('are shown, hidden, moved, pinned and resized; the name stays', () => {
    let layout = withColumn(INITIAL_LAYOUT, 'config.lr', true);
    expect(paths(layout).at(-1)).toBe('config.lr');
    expect(withColumn(layout, 'config.lr', true)).toBe(layout);
    expect(paths(withColumn(layout, 'name', false))).toContain('name');
    layout = withColumn(layout, 'tags', false);
    expect(paths(layout)).not.toContain('tags');
    layout = movedBy(layout, 'config.lr', -100);
    // The pinned name stays before it.
    expect(paths(layout).slice(0, 2)).toEqual(['name', 'config.lr']);
    layout = withPin(layout, 'durationMs', true);
    expect(paths(layout).slice(0, 3)).toEqual(['name', 'durationMs', 'config.lr']);
    expect(paths(movedTo(layout, 'status', 0)).indexOf('status')).toBe(2);
    expect(paths(withPin(layout, 'durationMs', false)).slice(0, 3)).toEqual([
      'name',
      'durationMs',
      'config.lr',
    ]);
    expect(withWidth(layout, 'name', 1).find(({ path }) => path === 'name')?.width).toBe(
      MIN_COLUMN_WIDTH,
    );
    expect(withWidth(layout, 'name', 1e9)[0]?.width).toBe(MAX_COLUMN_WIDTH);
  });

  it('that differ come behind the pinned ones, and none is there twice', () => {
    const layout = withColumn(INITIAL_LAYOUT, 'config.lr', true);
    expect(paths(withAhead(layout, ['config.seed', 'config.lr']))).toEqual([
      'name',
      'config.seed',
      'config.lr',
      ...paths(INITIAL_LAYOUT).slice(1),
    ]);
  });

  it('have the values that they read, what they are sorted by, and titles', () => {
    const layout = ['name', 'status', `${CURVE_PREFIX}a/b`, 'metrics.val/loss.best'].map((path) =>
      newColumn(path),
    );
    expect(valuePaths(layout)).toEqual([
      'name',
      'status',
      'statusReason',
      'problem',
      'metrics.val/loss.best',
    ]);
    expect(sortPathOf(`${CURVE_PREFIX}a/b`)).toBe('metrics.a/b.last');
    expect(sortPathOf(CURVE_PREFIX)).toBe('loss');
    expect(fullTitle('metrics.val/loss.best')).toBe('val/loss (best)');
    expect(fullTitle('config.optimizer.lr')).toBe('optimizer.lr');
    expect(fullTitle('toString')).toBe('toString');
    expect(newColumn('toString').width).toBeGreaterThan(0);
  });

  it('are in the address as they are, whatever they are called', () => {
    const column = fc.record({
      path: fc
        .string({ minLength: 1, maxLength: 30, unit: 'binary' })
        .filter((path) => !/\p{Surrogate}/u.test(path)),
      width: fc.integer({ min: MIN_COLUMN_WIDTH, max: MAX_COLUMN_WIDTH }),
      isPinned: fc.boolean(),
    });
    const layouts = fc
      .uniqueArray(column, { maxLength: 8, selector: ({ path }) => path })
      .map((columns) => [
        { path: 'name', width: 300, isPinned: true },
        ...columns.filter(({ path, isPinned }) => isPinned && path !== 'name'),
        ...columns.filter(({ path, isPinned }) => !isPinned && path !== 'name'),
      ]);
    fc.assert(
      fc.property(layouts, (layout) => {
        expect(LAYOUT.read(LAYOUT.write(layout))).toEqual(layout);
      }),
      runs(200),
    );
    expect(LAYOUT.write(INITIAL_LAYOUT)).toBeUndefined();
    // Any text stands for columns with the name among them, the pinned ones first.
    fc.assert(
      fc.property(fc.string(), (text) => {
        const layout = layoutOf(text);
        expect(paths(layout)).toContain('name');
        const pins = layout.map(({ isPinned }) => isPinned);
        expect(pins).toEqual(pins.toSorted((a, b) => Number(b) - Number(a)));
        expect(new Set(paths(layout)).size).toBe(layout.length);
      }),
      runs(200),
    );
  });

  it('of the configuration that differ are found', () => {
    const column = { kind: 'number', examples: [], isMachine: false } as const;
    expect(
      differingPaths([
        { ...column, path: 'config.lr', runs: 10, distinct: 3 },
        { ...column, path: 'config.epochs', runs: 10, distinct: 1 },
        { ...column, path: 'config.warmup', runs: 4, distinct: 1 },
        { ...column, path: 'metrics.loss', runs: 10, distinct: 10 },
      ]),
    ).toEqual(['config.lr', 'config.warmup']);
  });
});

describe('the order of the table', () => {
  it('is by one column, the other way round with the second click', () => {
    expect(sortedBy(NEWEST_FIRST, 'loss')).toEqual([{ by: 'loss', isDescending: false }]);
    expect(sortedBy(sortedBy(NEWEST_FIRST, 'loss'), 'loss')).toEqual([
      { by: 'loss', isDescending: true },
    ]);
    expect(sortedBy(NEWEST_FIRST, 'durationMs')).toEqual([
      { by: 'durationMs', isDescending: true },
    ]);
  });

  it('is by several with the shift key, and a third click takes one out', () => {
    const two = sortedBy(sortedBy(NEWEST_FIRST, 'status'), 'loss', true);
    expect(ORDER.write(two)).toBe('status,loss');
    expect(ORDER.write(sortedBy(two, 'loss', true))).toBe('status,-loss');
    expect(ORDER.write(sortedBy(sortedBy(two, 'loss', true), 'loss', true))).toBe('status');
    const all = ['a', 'b', 'c', 'd', 'e'].reduce((order, by) => sortedBy(order, by, true), two);
    expect(all).toHaveLength(4);
    const one = sortedBy(NEWEST_FIRST, 'a');
    expect(sortedBy(sortedBy(one, 'a', true), 'a', true)).toEqual(NEWEST_FIRST);
  });

  it('is in the address', () => {
    const key = fc.record({
      by: fc.string({ minLength: 1 }).filter((by) => !by.startsWith('-')),
      isDescending: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 4 }), (order) => {
        expect(ORDER.read(ORDER.write(order))).toEqual(order);
      }),
      runs(200),
    );
    expect(ORDER.write(NEWEST_FIRST)).toBeUndefined();
    expect(ORDER.read('')).toEqual(NEWEST_FIRST);
  });
});

describe('facets', () => {
  it('are in the address, whatever their values are', () => {
    const value: fc.Arbitrary<FacetValue> = fc.oneof(
      fc.string(),
      fc.constantFrom('-', '=1', "'", ''),
      fc.boolean(),
      fc.integer(),
      fc.constant(null),
    );
    const chosen = fc.dictionary(
      fc.constantFrom('status', 'tags', 'groups'),
      fc.uniqueArray(value, { minLength: 1, maxLength: 4 }),
    );
    fc.assert(
      fc.property(chosen, (values) => {
        const facets = new Map(Object.entries(values));
        expect(FACETS.read(FACETS.write(facets))).toEqual(facets);
      }),
      runs(300),
    );
    expect(FACETS.write(new Map([['status', ['failed', 'completed']]]))).toBe(
      'status:failed,completed',
    );
    expect(FACETS.read('nothing').size).toBe(0);
  });

  it('are chosen and taken back', () => {
    const one = toggledFacet(new Map(), 'tags', 'a');
    expect(toggledFacet(toggledFacet(one, 'tags', 'b'), 'tags', 'b')).toEqual(one);
    expect(toggledFacet(one, 'tags', 'a').size).toBe(0);
  });

  it('find the runs that have a value, whatever it is called', async () => {
    const store = createMemoryStore();
    const names = ['plain', 'with "quotes" and \\', 'a = b) or (c', 'ü 日本', "it's"];
    for (const name of names) {
      const run = await startRun({
        project: 'p',
        storage: store,
        tags: [name],
        config: { [`key ${name}`]: name },
      });
      await run.endRun();
    }
    for (const name of names)
      for (const path of ['tags', `config.key ${name}`]) {
        const { rows } = await findRunRows(store, { where: `(${valueTerm(path, name)})` });
        expect(rows.map(({ tags }) => tags)).toEqual([[name]]);
      }
    const others = await findRunRows(store, { where: valueTerm('config.key plain', null) });
    expect(others.total).toBe(names.length - 1);
  });
});

describe('picked runs', () => {
  it('are picked one by one, by ranges in both directions, and all of a filter', () => {
    let picked = toggledRun(NO_SELECTION, 'b');
    picked = withRange(picked, 'd', ['b', 'c', 'd']);
    expect([...picked.ids]).toEqual(['b', 'c', 'd']);
    // From a run that was unpicked, a range is unpicked.
    picked = withRange(toggledRun(picked, 'd'), 'c', ['c', 'd']);
    expect([...picked.ids]).toEqual(['b']);
    expect([...withAll(picked, ['a', 'b']).ids].toSorted()).toEqual(['a', 'b']);
    expect(without(picked, ['b']).ids.size).toBe(0);
  });
});

describe('sections of the table', () => {
  it('know what stands in each line, and the line of each', () => {
    const section = fc.record({ hasHead: fc.boolean(), rows: fc.nat({ max: 5 }) });
    fc.assert(
      fc.property(fc.array(section, { maxLength: 8 }), (sections) => {
        const list = new SectionList(sections);
        const expected = sections.flatMap(({ hasHead, rows }, at) => [
          ...(hasHead ? [{ section: at, row: 'head' as const }] : []),
          ...Array.from({ length: rows }, (_, row) => ({ section: at, row })),
        ]);
        expect(Array.from({ length: list.total }, (_, at) => list.lineAt(at))).toEqual(expected);
        for (const [at, line] of expected.entries()) expect(list.indexOf(line)).toBe(at);
        expect(list.lineAt(-1)).toBeUndefined();
        expect(list.lineAt(list.total)).toBeUndefined();
        const [first, end] = [1, list.total - 1];
        const inside = expected
          .slice(first, Math.max(first, end))
          .filter(({ row }) => row !== 'head');
        const counted = sections.reduce((sum, _, at) => {
          const rows = list.rowsIn(at, first, end);
          return sum + (rows === undefined ? 0 : rows[1] - rows[0]);
        }, 0);
        expect(counted).toBe(inside.length);
      }),
      runs(300),
    );
  });
});

describe('pages of rows', () => {
  type Row = { readonly id: string; readonly value: number };
  const made = (count: number, from = 0): Row[] =>
    Array.from({ length: count }, (_, at) => ({ id: `run_${from + at}`, value: 0 }));
  function pagesOf(all: () => readonly Row[]): { pages: RowPages<Row>; asked: number[] } {
    const asked: number[] = [];
    const pages = new RowPages<Row>(async (offset, limit) => {
      asked.push(offset);
      return { rows: all().slice(offset, offset + limit), total: all().length };
    });
    return { pages, asked };
  }

  it('are read when they are wanted, each once', async () => {
    const rows = made(1000);
    const { pages, asked } = pagesOf(() => rows);
    await pages.refresh(0, 10, false);
    expect(pages.total.value).toBe(1000);
    pages.want(0, 150);
    pages.want(0, 150);
    await expect.poll(() => pages.row(149)?.id).toBe('run_149');
    expect(asked).toEqual([0, PAGE_ROWS]);
    expect(pages.row(500)).toBeUndefined();
    expect((await pages.range(395, 405)).map(({ id }) => id)).toEqual(
      rows.slice(395, 405).map(({ id }) => id),
    );
  });

  it('change where they are, and a row that is the same stays the same object', async () => {
    let rows = made(50);
    const { pages } = pagesOf(() => rows);
    await pages.refresh(0, 50, false);
    const [before, version] = [pages.row(3), pages.version.value];
    rows = rows.map((row) => ({ ...row }));
    await pages.refresh(0, 50, false);
    expect(pages.row(3)).toBe(before);
    expect(pages.version.value).toBe(version);
    rows = rows.map((row) => (row.id === 'run_7' ? { ...row, value: 5 } : row));
    await pages.refresh(0, 50, false);
    expect(pages.row(7)?.value).toBe(5);
    expect(pages.row(3)).toBe(before);
  });

  it('stay where they are while they are held, with their new values, and move when they are released', async () => {
    let rows = made(50);
    const { pages } = pagesOf(() => rows);
    await pages.refresh(0, 50, false);
    rows = [{ id: 'new', value: 0 }, ...rows.map((row) => ({ ...row, value: 1 }))];
    await pages.refresh(0, 50, true);
    expect(pages.row(0)).toEqual({ id: 'run_0', value: 1 });
    expect(pages.isWaiting.value).toBe(true);
    expect(pages.indexOf('new')).toBeUndefined();
    await pages.refresh(0, 50, false);
    expect(pages.row(0)?.id).toBe('new');
    expect(pages.indexOf('run_0')).toBe(1);
    expect(pages.isWaiting.value).toBe(false);
  });

  it('of an order that has changed are forgotten, and so are answers that come late', async () => {
    let rows = made(300);
    const waiting: (() => void)[] = [];
    let isSlow = false;
    const pages = new RowPages<Row>(async (offset, limit) => {
      const answer = { rows: rows.slice(offset, offset + limit), total: rows.length };
      if (isSlow && offset > 0) await new Promise<void>((resolve) => waiting.push(resolve));
      return answer;
    });
    await pages.refresh(0, 10, false);
    isSlow = true;
    pages.want(100, 200);
    rows = rows.toReversed();
    await pages.refresh(0, 10, false);
    for (const answer of waiting) answer();
    await Promise.resolve();
    expect(pages.row(0)?.id).toBe('run_299');
    expect(pages.row(100)).toBeUndefined();
  });

  it('say why they cannot be read', async () => {
    let fails = false;
    const pages = new RowPages<Row>(async () => {
      if (fails) throw new Error('The server is away.');
      return { rows: made(100), total: 500 };
    });
    await pages.refresh(0, 10, false);
    fails = true;
    pages.want(200, 210);
    await expect.poll(() => pages.failure.value).toBe('The server is away.');
  });
});

describe('the small curve of a row', () => {
  it('runs over the whole box, and lifts the pen at a gap', () => {
    expect(
      sparkPath({
        steps: [0, 1, 2, 3, 4],
        values: [4, 2, Number.NaN, 0, Number.POSITIVE_INFINITY],
      }),
    ).toBe('M0.0 1.5L30.0 13.0M90.0 24.5');
  });

  it('is empty for less than two points', () => {
    expect(sparkPath({ steps: [0], values: [1] })).toBe('');
    expect(sparkPath({ steps: [], values: [] })).toBe('');
    expect(sparkPath({ steps: [0, 1], values: [Number.NaN, Number.NaN] })).toBe('');
  });
});

describe('the table as CSV', () => {
  it('has the id, the shown columns, and numbers in the place of curves', () => {
    const columns = csvPaths(
      ['name', `${CURVE_PREFIX}a/b`, 'tags', 'startedAt'].map((path) => newColumn(path)),
    );
    expect(columns).toEqual(['id', 'name', 'metrics.a/b.last', 'tags', 'startedAt', 'project']);
    const row: FoundRun = {
      id: 'run_1',
      project: 'digits',
      name: null,
      status: 'completed',
      isLive: false,
      startedAtMs: 0,
      endedAtMs: null,
      updatedAtMs: null,
      archivedAtMs: null,
      tags: ['a', 'b'],
      groups: [],
      values: { 'metrics.a/b.last': Number.NaN, 'config.flag': true, 'config.list': [1, 2] },
      steps: {},
    };
    expect(
      csvCells(row, [...columns, 'config.flag', 'config.list', 'endedAt', 'config.none']),
    ).toEqual([
      'run_1',
      '',
      Number.NaN,
      'a; b',
      '1970-01-01T00:00:00.000Z',
      'digits',
      'true',
      '1; 2',
      '',
      undefined,
    ]);
  });
});
