/** The layout of a workspace: sections and panels that come by themselves, and changes of them. */
import fc from 'fast-check';
import type { ChartsView } from 'quark-sdk/workspace';
import { describe, expect, test } from 'vitest';
import {
  addPanel,
  changePanel,
  changeSection,
  movePanel,
  removePanel,
  dropPanel,
  shiftPanel,
  shiftSection,
} from '../../../dashboard/workspace/edit-layout.ts';
import { EMPTY_VIEW, shownLayout, type Layout } from '../../../dashboard/workspace/layout.ts';
import { metricSearch } from '../../../src/workspace/metric-search.ts';
import { viewFromJson, viewToJson } from '../../../src/workspace/view-shape.ts';
import { runs } from '../../support/property.ts';

const KEYS = [
  'system/ram/used_bytes',
  'train/loss',
  'val/loss',
  'train/lr',
  'optimizer/a',
  'optimizer/b',
  'loss2',
  'system/cpu_percent',
];

/** `section: panel, panel` of each section. */
function outline({ sections }: Layout): readonly string[] {
  return sections.map(({ id, panels }) => `${id}: ${panels.map((one) => one.id).join(', ')}`);
}

const of = (view: ChartsView = EMPTY_VIEW) => ({ view, keys: KEYS });

describe('what comes by itself', () => {
  test('are sections by prefix, splits of one name together first, the machine last and folded', () => {
    const layout = shownLayout(EMPTY_VIEW, KEYS);
    expect(outline(layout)).toEqual([
      '+: loss, lr',
      '.: loss2',
      'optimizer: optimizer/a, optimizer/b',
      'system: machine:load (percent), machine:memory of the machine',
    ]);
    expect(layout.sections.map(({ isFolded }) => isFolded)).toEqual([false, false, false, true]);
  });

  test('are sections by prefix alone where splits are not joined', () => {
    expect(outline(shownLayout({ ...EMPTY_VIEW, joinsSplits: false }, KEYS)).slice(0, 4)).toEqual([
      '.: loss2',
      'train: train/loss, train/lr',
      'val: val/loss',
      'optimizer: optimizer/a, optimizer/b',
    ]);
  });

  test('is nothing where the view says so, and only what no panel names else', () => {
    const view: ChartsView = {
      name: 'x',
      sections: [{ title: 'Mine', panels: [{ metrics: ['train/loss', 'gone'] }] }],
    };
    expect(outline(shownLayout({ ...view, addsMetrics: false }, KEYS))).toEqual([
      'Mine: train/loss gone',
    ]);
    const shown = shownLayout(view, KEYS);
    expect(shown.sections[0]?.panels[0]?.keys).toEqual(['train/loss']);
    expect(outline(shown)).toContain('+: loss, lr');
  });

  test('a metric that comes later joins the panel of its name', () => {
    const pinned = changePanel({ view: EMPTY_VIEW, keys: ['train/loss'] }, 'loss', {
      isPinned: true,
    });
    const { pinned: found, sections } = shownLayout(pinned, ['train/loss', 'val/loss']);
    expect(found.map(({ keys }) => keys)).toEqual([['train/loss', 'val/loss']]);
    expect(sections).toEqual([]);
  });

  test('500 metrics are 500 panels once each', () => {
    const keys = Array.from({ length: 500 }, (_, i) => `layer${i % 25}/metric_${i}`);
    const { sections } = shownLayout(EMPTY_VIEW, keys);
    expect(sections).toHaveLength(25);
    expect(sections.flatMap(({ panels }) => panels.flatMap((one) => one.keys)).toSorted()).toEqual(
      keys.toSorted(),
    );
  });
});

describe('a change', () => {
  test('of a panel leaves every other where it is', () => {
    const view = changePanel(of(), 'optimizer/b', { width: 2, logY: true });
    expect(outline(shownLayout(view, KEYS)).toSorted()).toEqual(
      outline(shownLayout(EMPTY_VIEW, KEYS)).toSorted(),
    );
    const back = changePanel(of(view), 'optimizer/b', { width: undefined, logY: undefined });
    const [panel] = back.sections[0]?.panels.filter(({ id }) => id === 'optimizer/b') ?? [];
    expect(panel).toEqual({ id: 'optimizer/b', title: 'optimizer/b', metrics: ['optimizer/b'] });
  });

  test('of a section stores no panel', () => {
    const view = changeSection(of(), 'optimizer', { isFolded: true, columns: 4 });
    expect(view.sections).toEqual([
      { id: 'optimizer', title: 'optimizer', isFolded: true, columns: 4, panels: [] },
    ]);
    expect(changeSection(of(view), 'optimizer', { columns: undefined }).sections[0]).toEqual({
      id: 'optimizer',
      title: 'optimizer',
      isFolded: true,
      panels: [],
    });
  });

  test('moves a panel before another, into another section, and sections past each other', () => {
    const moved = movePanel(of(), 'optimizer/b', 'optimizer', 'optimizer/a');
    expect(outline(shownLayout(moved, KEYS))).toContain('optimizer: optimizer/b, optimizer/a');
    const there = movePanel(of(moved), 'lr', 'optimizer', 'optimizer/a');
    expect(outline(shownLayout(there, KEYS))).toContain('optimizer: optimizer/b, lr, optimizer/a');
    const shifted = shiftSection(of(there), 'optimizer', -9);
    expect(outline(shownLayout(shifted, KEYS))[0]).toBe('optimizer: optimizer/b, lr, optimizer/a');
    const names = ['optimizer/b', 'lr', 'optimizer/a'];
    expect(outline(shownLayout(shiftPanel(of(shifted), 'lr', names, 1), KEYS))[0]).toBe(
      'optimizer: optimizer/b, optimizer/a, lr',
    );
  });

  test('of a panel that is dropped on another takes the position of that one', () => {
    const down = dropPanel(of(), 'optimizer/a', 'optimizer/b');
    expect(outline(shownLayout(down, KEYS))).toContain('optimizer: optimizer/b, optimizer/a');
    const up = dropPanel(of(down), 'optimizer/a', 'optimizer/b');
    expect(outline(shownLayout(up, KEYS))).toContain('optimizer: optimizer/a, optimizer/b');
    const away = dropPanel(of(), 'optimizer/b', 'loss');
    expect(outline(shownLayout(away, KEYS))[0]).toBe('+: optimizer/b, loss, lr');
    expect(dropPanel(of(), 'loss', 'nobody')).toEqual(EMPTY_VIEW);
  });

  test('adds a panel of several metrics and a formula, and takes it out again', () => {
    const panel = { metrics: ['train/loss', 'optimizer/a'], formulas: ['val/loss - train/loss'] };
    const view = addPanel(of(), panel, '+');
    const twice = addPanel(of(view), panel, 'Mine');
    const ids = shownLayout(twice, KEYS).sections.flatMap(({ panels }) =>
      panels.map(({ id }) => id),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(['loss', 'optimizer/a', 'lr']));
    expect(shownLayout(twice, KEYS).sections[0]?.panels[0]?.keys).toEqual([
      'train/loss',
      'optimizer/a',
      '= val/loss - train/loss',
    ]);
    const [added = ''] = ids;
    const left = shownLayout(removePanel(of(twice), added), KEYS);
    expect(left.sections.flatMap(({ panels }) => panels.map(({ id }) => id))).not.toContain(added);
  });

  test('whatever is changed in whatever order, every metric is there once, and the view can be saved', () => {
    const ids = shownLayout(EMPTY_VIEW, KEYS).sections.flatMap(({ panels }) =>
      panels.map(({ id }) => id),
    );
    const sectionIds = ['+', '.', 'train', 'optimizer', 'system', 'nobody'];
    const id = fc.constantFrom(...ids);
    const section = fc.constantFrom(...sectionIds);
    const change = fc.oneof(
      fc.tuple(id, section, fc.option(id)).map(
        ([panel, to, before]) =>
          (view: ChartsView) =>
            movePanel(of(view), panel, to, before ?? undefined),
      ),
      fc.tuple(section, fc.integer({ min: -3, max: 3 })).map(
        ([one, by]) =>
          (view: ChartsView) =>
            shiftSection(of(view), one, by),
      ),
      fc.tuple(id, fc.integer({ min: -3, max: 3 })).map(([panel, by]) => (view: ChartsView) => {
        const home = shownLayout(view, KEYS).sections.find(({ panels }) =>
          panels.some((one) => one.id === panel),
        );
        return shiftPanel(of(view), panel, home?.panels.map((one) => one.id) ?? [], by);
      }),
      fc.tuple(id, fc.boolean(), fc.boolean()).map(
        ([panel, isPinned, isHidden]) =>
          (view: ChartsView) =>
            changePanel(of(view), panel, { isPinned: isPinned || undefined, isHidden }),
      ),
      section.map((one) => (view: ChartsView) => changeSection(of(view), one, { isFolded: true })),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        const view = changes.reduce((now, make) => make(now), EMPTY_VIEW);
        const { hidden, pinned, sections } = shownLayout(view, KEYS);
        const all = [...hidden, ...pinned, ...sections.flatMap(({ panels }) => panels)];
        expect(all.map((one) => one.id).toSorted()).toEqual(ids.toSorted());
        expect(all.flatMap((one) => one.keys).toSorted()).toEqual(KEYS.toSorted());
        expect(viewFromJson(viewToJson(view))).toEqual(view);
      }),
      runs(300),
    );
  });
});

describe('a search', () => {
  test('is words in any order, or a pattern', () => {
    const find = (text: string): readonly string[] => KEYS.filter(metricSearch(text));
    expect(find('LOSS val')).toEqual(['val/loss']);
    expect(find('/^(train|val).loss$/')).toEqual(['train/loss', 'val/loss']);
    expect(find('  ')).toEqual(KEYS);
    expect(() => metricSearch('/(/')).toThrow(expect.objectContaining({ code: 'invalid_input' }));
    const layout = shownLayout(EMPTY_VIEW, KEYS, metricSearch('val'));
    expect(outline(layout)).toEqual(['+: loss']);
  });

  test('takes time linear in the key, whatever the pattern says', () => {
    const isFound = metricSearch('/^(a+)+$/');
    expect(isFound(`${'a'.repeat(400)}!`)).toBe(false);
    expect(isFound('a'.repeat(400))).toBe(true);
  });
});
