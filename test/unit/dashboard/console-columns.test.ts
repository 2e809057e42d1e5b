import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConsoleLine } from 'quark-sdk/console';
import {
  columnsOfLines,
  lineSpans,
  lineText,
  withLaterLines,
  type ConsoleColumns,
} from '../../../dashboard/worker/console-columns.ts';
import { runs } from '../../support/property.ts';

const span = fc
  .record({
    color: fc.constantFrom(null, 'red', 'bright-blue', '#ff8000'),
    background: fc.constantFrom(null, 'yellow'),
    isBold: fc.boolean(),
    isDim: fc.boolean(),
    isItalic: fc.boolean(),
    isUnderlined: fc.boolean(),
  })
  .map((style) => ({ start: 0, end: 1, ...style }));

const line = (timeMs: number): fc.Arbitrary<ConsoleLine> =>
  fc.record({
    timeMs: fc.constant(timeMs),
    source: fc.constantFrom('console', 'stdout', 'stderr'),
    level: fc.constantFrom(null, 'debug', 'log', 'info', 'warn', 'error'),
    text: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .map((one) => one.replaceAll('\n', ' ')),
    spans: fc.array(span, { maxLength: 2 }),
  });

const lines = fc.array(fc.nat(2), { maxLength: 20 }).chain((gaps) => {
  let timeMs = 1000;
  return fc.tuple(...gaps.map((gap) => line((timeMs += gap))));
});

function linesOf(columns: ConsoleColumns): unknown[] {
  return Array.from(columns.ends, (_, at) => ({
    text: lineText(columns, at),
    timeMs: columns.timesMs[at],
    level: columns.levels[at],
    source: columns.sources[at],
    spans: lineSpans(columns, at),
  }));
}

describe('lines as columns', () => {
  it('have the same texts, times and spans', () => {
    fc.assert(
      fc.property(lines, (all) => {
        const columns = columnsOfLines(all);
        expect(columns.text).toBe(all.map(({ text }) => `${text}\n`).join(''));
        expect(linesOf(columns)).toEqual(
          all.map(({ level, source, spans, text, timeMs }) => ({
            text,
            timeMs,
            level:
              level === null ? 0 : ['debug', 'log', 'info', 'warn', 'error'].indexOf(level) + 1,
            source: ['console', 'stdout', 'stderr'].indexOf(source),
            spans,
          })),
        );
      }),
      runs(200),
    );
  });

  it('go on where a later read begins, as if all had been read at once', () => {
    fc.assert(
      fc.property(
        lines,
        fc.nat(40),
        fc.nat(20),
        fc.integer({ min: 1, max: 30 }),
        (all, after, seen, limit) => {
          const fromMs = 1000 + after;
          const known = columnsOfLines(all.slice(0, seen));
          const later = columnsOfLines(all.filter(({ timeMs }) => timeMs >= fromMs));
          const before = all.slice(0, seen).filter(({ timeMs }) => timeMs < fromMs);
          const both = [...before, ...all.filter(({ timeMs }) => timeMs >= fromMs)].slice(-limit);
          const joined = withLaterLines(known, later, fromMs, limit);
          expect(linesOf(joined)).toEqual(linesOf(columnsOfLines(both)));
          expect(joined.text).toBe(columnsOfLines(both).text);
        },
      ),
      runs(200),
    );
  });

  it('are one line each, whatever is in them', () => {
    const [one] = [
      columnsOfLines([{ timeMs: 1, source: 'stdout', level: null, text: 'a\nb', spans: [] }]),
    ];
    expect(one.text).toBe('a b\n');
  });
});
