import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  drawnBars,
  waterfallOf,
  zoomedSpan,
} from '../../../dashboard/run/machine/waterfall-layout.ts';
import { profileOutline } from '../../../src/profile/outline.ts';
import { MadeProfile } from '../../support/made-profile.ts';
import { runs } from '../../support/property.ts';

/** Scopes that begin and end at any time, within each other or beside each other. */
const profile = fc
  .array(
    fc.record({ gap: fc.nat(5), isEnd: fc.boolean(), which: fc.nat(10), isRoot: fc.boolean() }),
    {
      maxLength: 60,
    },
  )
  .map((acts) => {
    const made = new MadeProfile();
    const open: number[] = [];
    let atMs = 0;
    for (const { gap, isEnd, isRoot, which } of acts) {
      atMs += gap;
      if (isEnd && open.length > 0) {
        const [id = 0] = open.splice(which % open.length, 1);
        made.end(atMs, {}, id);
      } else {
        const parent = isRoot ? undefined : open[which % Math.max(1, open.length)];
        open.push(made.begin(atMs, `step ${which % 3}`, {}, parent));
      }
    }
    return made.done();
  });

describe('the waterfall', () => {
  it('draws no scope over another, and each below the one that it is in', () => {
    fc.assert(
      fc.property(profile, (one) => {
        const { bars, endMs, laneCount } = waterfallOf(one);
        expect(bars.length).toBe(one.scopes.length);
        const lanes = new Map(bars.map((bar) => [bar.scope.id, bar.lane]));
        const freeFrom: number[] = [];
        for (const { endMs: end, lane, scope } of bars) {
          expect(scope.startMs).toBeGreaterThanOrEqual(freeFrom[lane] ?? 0);
          expect(end).toBeGreaterThanOrEqual(scope.startMs);
          expect(end).toBeLessThanOrEqual(endMs);
          expect(lane).toBeLessThan(laneCount);
          if (scope.parentId !== null)
            expect(lane).toBeGreaterThan(lanes.get(scope.parentId) ?? -1);
          freeFrom[lane] = end;
        }
      }),
      runs(300),
    );
  });

  it('draws what is in the span that is shown, and not more bars than there are pixels in a lane', () => {
    fc.assert(
      fc.property(profile, fc.nat(100), fc.nat(100), (one, from, length) => {
        const all = waterfallOf(one);
        const span = { startMs: from, endMs: from + length + 1 };
        const drawn = drawnBars(all, span, 300);
        for (const { bar, width, x } of drawn) {
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x + width).toBeLessThanOrEqual(301.5);
          expect(bar.scope.startMs).toBeLessThanOrEqual(span.endMs);
          expect(bar.endMs).toBeGreaterThanOrEqual(span.startMs);
        }
        const wide = all.bars.filter(
          ({ endMs, scope }) =>
            scope.startMs < span.endMs && endMs - Math.max(scope.startMs, from) > 5,
        );
        const there = new Set(drawn.map(({ bar }) => bar.scope.id));
        for (const { endMs, scope } of wide)
          if (endMs > from + 5 && scope.startMs < span.endMs - 5) expect(there).toContain(scope.id);
      }),
      runs(200),
    );
    const many = new MadeProfile();
    for (let at = 0; at < 5000; at += 1) {
      many.begin(at, 'step');
      many.end(at + 0.5);
    }
    const all = waterfallOf(many.done());
    expect(drawnBars(all, { startMs: 0, endMs: all.endMs }, 300).length).toBeLessThanOrEqual(300);
    expect(drawnBars(all, { startMs: 0, endMs: 10 }, 300).length).toBe(11);
  });

  it('zooms around a moment, and stays inside of the profile', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 90, noNaN: true }),
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (startMs, length, factor, share) => {
          const around = startMs + share * length;
          const { endMs, startMs: from } = zoomedSpan(
            { startMs, endMs: startMs + length },
            factor,
            around,
            100,
          );
          expect(from).toBeGreaterThanOrEqual(0);
          expect(endMs).toBeLessThanOrEqual(100 + 1e-9);
          expect(from).toBeLessThanOrEqual(around + 1e-9);
          expect(endMs).toBeGreaterThanOrEqual(around - 1e-9);
        },
      ),
      runs(300),
    );
    expect(zoomedSpan({ startMs: 10, endMs: 20 }, 1e9, 15, 100)).toEqual({
      startMs: 0,
      endMs: 100,
    });
  });
});

describe('the outline', () => {
  it('has scopes of one name in one line, behind the one that they are in', () => {
    const made = new MadeProfile();
    for (let epoch = 0; epoch < 3; epoch += 1) {
      made.begin(epoch * 10, 'Epoch', { rss_bytes: 100 });
      made.begin(epoch * 10 + 1, 'Evaluation');
      made.end(epoch * 10 + 3);
      made.end(epoch * 10 + 8, { rss_bytes: 110 });
    }
    made.begin(40, 'Save');
    const lines = profileOutline(made.done({ endedMs: null }));
    expect(
      lines.map(({ depth, name, scopes, totalMs }) => [depth, name, scopes.length, totalMs]),
    ).toEqual([
      [0, 'Epoch', 3, 24],
      [1, 'Evaluation', 3, 6],
      [0, 'Save', 1, 0],
    ]);
    expect(lines.map(({ rssChange }) => rssChange)).toEqual([30, null, null]);
  });
});
