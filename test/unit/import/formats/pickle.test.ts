import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPickle } from '../../../../src/codecs/pickle/pickle-reader.ts';
import { PICKLES, pickleBytes } from '../../../fixtures/pickles.ts';
import { importText } from '../../../support/imported.ts';
import { damaged } from '../../../support/mutations.ts';
import { runs as settings } from '../../../support/property.ts';

const LOSS = [2.5, 1.5, 0.75];
const VAL = [2.25, 1.75, Number.NaN];

const valuesOf = async (name: string, path = 'history.pkl') => {
  const { report, runs } = await importText({ [path]: pickleBytes(name) });
  const metrics = Object.entries(runs[0]?.metrics ?? {});
  return {
    problems: report.problems.map(({ reason }) => reason),
    formats: report.runs.map(({ format }) => format),
    values: Object.fromEntries(metrics.map(([key, samples]) => [key, samples.map((s) => s[2])])),
    at: metrics[0]?.[1].map(([step, epoch]) => step ?? epoch),
  };
};
const fails = (name: string): string => {
  try {
    readPickle(pickleBytes(name));
    return '';
  } catch (error) {
    return String(error);
  }
};
const ascii = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

describe('pickles', () => {
  test.each(Object.keys(PICKLES).filter((name) => /^(?:plain|ordered|default|rows) /.test(name)))(
    '%s: curves at their epochs',
    async (name) => {
      const { at, formats, problems, values } = await valuesOf(name);
      expect(problems).toEqual([]);
      expect(formats).toEqual(['pickle']);
      expect(values).toMatchObject({ 'train/loss': LOSS, 'val/loss': VAL });
      expect(at).toEqual([0, 1, 2]);
    },
  );

  test.each(Object.keys(PICKLES).filter((name) => name.startsWith('scalars ')))(
    '%s: numbers of NumPy',
    async (name) => {
      expect((await valuesOf(name)).values).toEqual({
        'train/loss': LOSS,
        'val/loss': VAL,
        'optimizer/lr': [0.5, 0.5, 0.5],
      });
    },
  );

  test.each(Object.keys(PICKLES).filter((name) => name.startsWith('arrays ')))(
    '%s: arrays of NumPy, in either order of bytes',
    async (name) => {
      expect((await valuesOf(name)).values).toEqual({
        'train/loss': LOSS,
        'val/loss': VAL,
        'optimizer/lr': [1, 2, 3],
      });
    },
  );

  test('arrays of two dimensions, by columns', () => {
    expect(readPickle(pickleBytes('matrix 4'))).toEqual(
      new Map([
        [
          'loss',
          [
            [0, 1, 2],
            [3, 4, 5],
          ],
        ],
      ]),
    );
  });

  test('whole numbers of any length are the nearest numbers', () => {
    expect(readPickle(pickleBytes('ints 2'))).toEqual(
      new Map([['loss', [1e20, -5, 300, 70_000, -1e12]]]),
    );
  });

  test('a list is called as its file, and lists in a tuple are counted', async () => {
    expect((await valuesOf('list 4', 'train_loss.pkl')).values).toEqual({ 'train/loss': LOSS });
    expect((await valuesOf('tuple 4', 'losses.pickle')).values).toEqual({
      'losses/0': LOSS,
      'losses/1': VAL,
    });
  });

  test('protocol 0 of Python 2: texts in quotes', () => {
    const text = "(dp1\nS'loss'\np2\n(lp3\nF0.5\naI01\naI7\nasS\"a\\'b\\x41\"\nL12L\ns.";
    expect(readPickle(ascii(text))).toEqual(
      new Map<string, unknown>([
        ['loss', [0.5, true, 7]],
        ["a'bA", 12],
      ]),
    );
  });

  test('whatever makes an object is refused by its name, and nothing is run', async () => {
    expect(fails('History 4')).toMatch(/it has an object of keras\.callbacks\.History in it/);
    expect(fails('system 4')).toMatch(/it has an object of posix\.system in it/);
    expect(fails('system 0')).toMatch(/it has an object of posix\.system in it/);
    expect(fails('set 4')).toMatch(/opcode EMPTY_SET at byte \d+ makes an object/);
    expect(fails('complex 4')).toMatch(/the type "c16" of an array is none of numbers/);
    expect(fails('strings 4')).toMatch(/the type "U1" of an array is none of numbers/);
    const { problems } = await valuesOf('History 4');
    expect(problems).toEqual([expect.stringMatching(/Only plain data is read/)]);
    for (const [opcode, name] of [
      ['P1\n.', 'PERSID'],
      ['(ios\nsystem\n.', 'INST'],
      ['(]o.', 'OBJ'],
      ['\u0081.', 'NEWOBJ'],
    ])
      expect(() => readPickle(Uint8Array.from(opcode ?? '', (c) => c.charCodeAt(0)))).toThrow(
        `opcode ${name} at byte`,
      );
  });

  test('what is cut off, in itself, or too deep is a problem', async () => {
    const whole = pickleBytes('plain 4');
    const { report } = await importText({ 'history.pkl': whole.slice(0, 60) });
    expect(report.problems.map(({ reason }) => reason)).toEqual([
      'The pickle is cut off: it ends at byte 60, in the middle of a value.',
    ]);
    expect((await valuesOf('itself 4')).problems[0]).toMatch(/nested more than 64 levels/);
    expect(() => readPickle(ascii(']h9.'))).toThrow('There is nothing'.toLowerCase());
    expect(() => readPickle(ascii('a.'))).toThrow('its stack is empty');
    expect(() => readPickle(ascii('t.'))).toThrow('it has no mark');
    expect(() => readPickle(ascii('~.'))).toThrow('there is no opcode 0x7e, at byte 0');
  });

  test('a list that is in many lists is not gone through without end', async () => {
    // Each list has the one before twice: 2^60 items from a few hundred bytes.
    const levels = Array.from(
      { length: 50 },
      (_, i) =>
        `0]q${String.fromCharCode(i + 1)}(h${String.fromCharCode(i)}h${String.fromCharCode(i)}e`,
    );
    const text = `]q\u0000K\u0001a${levels.join('')}`;
    const bytes = Uint8Array.from(`\u0080\u0002}U\u0004loss${text}s.`, (c) => c.charCodeAt(0));
    const { report } = await importText({ 'x.pkl': bytes });
    expect(report.problems[0]?.reason).toMatch(/too many values/);
  });

  test('whatever is damaged in it, an import ends', async () => {
    const names = ['plain 0', 'plain 1', 'plain 4', 'scalars 2', 'arrays 4', 'arrays 5', 'rows 4'];
    const inputs = names.map((name) => ({ 'a.pkl': pickleBytes(name) }));
    await fc.assert(
      fc.asyncProperty(damaged(inputs), async (files) => {
        expect(await importText(files)).toHaveProperty('report');
      }),
      settings(300),
    );
  });
});
