import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configImportance, type MeasuredRun } from 'quark-sdk/analysis';
import { randomFrom } from '../../../../src/analysis/sweep/random.ts';
import { runs } from '../../../support/property.ts';

/** Runs of random configurations whose value a function gives, with noise. */
function sweep(
  count: number,
  value: (config: {
    readonly lr: number;
    readonly width: number;
    readonly optimizer: string;
  }) => number,
  noise = 0.02,
): readonly MeasuredRun[] {
  const random = randomFrom(7);
  return Array.from({ length: count }, (_, seed) => {
    const config = {
      lr: 10 ** (-4 + 3 * random()),
      width: [32, 64, 128][Math.floor(3 * random())] ?? 32,
      optimizer: random() < 0.5 ? 'adam' : 'sgd',
      seed,
      name: `run-${seed}`,
    };
    return { config, value: value(config) + noise * (random() - 0.5) };
  });
}

const orderOf = (settings: readonly { readonly path: string }[]): readonly string[] =>
  settings.map(({ path }) => path);

describe('the forest', () => {
  it('finds the settings that a known function depends on, in the order in which they matter', async () => {
    const found = await configImportance(
      sweep(120, ({ lr, optimizer }) => 3 * Math.log10(lr) + (optimizer === 'adam' ? 2 : 0)),
    );
    expect(found.method).toBe('forest');
    expect(found.explained).toBeGreaterThan(0.8);
    expect(orderOf(found.settings)).toEqual(['lr', 'optimizer', 'width']);
    const [lr, optimizer, width] = found.settings;
    expect(lr?.low).toBeGreaterThan(optimizer?.high ?? 1);
    expect(optimizer?.low).toBeGreaterThan(0);
    expect(Math.abs(width?.importance ?? 1)).toBeLessThan(0.05);
    expect(width?.low).toBeLessThanOrEqual(0.01);
    expect(lr?.rankCorrelation).toBeGreaterThan(0.8);
    expect(optimizer?.rankCorrelation).toBeNull();
    expect(found.notes).toEqual(['Left out, as nearly every run has another value: name.']);
  });

  it('sees a best value in the middle, and settings that matter only together', async () => {
    const valley = await configImportance(sweep(80, ({ lr }) => (Math.log10(lr) + 2.5) ** 2));
    expect(valley.settings[0]).toMatchObject({ path: 'lr' });
    expect(Math.abs(valley.settings[0]?.rankCorrelation ?? 1)).toBeLessThan(0.4);
    expect(valley.settings[0]?.low).toBeGreaterThan(0.5);
    const together = await configImportance(
      sweep(200, ({ optimizer, width }) => ((optimizer === 'adam') === (width === 64) ? 1 : 0)),
    );
    expect(new Set(orderOf(together.settings.slice(0, 2)))).toEqual(
      new Set(['optimizer', 'width']),
    );
    expect(together.settings[2]?.importance).toBeLessThan(0.1);
  });

  it('says that noise is noise', async () => {
    const found = await configImportance(sweep(60, () => 0));
    expect(found.explained).toBeLessThan(0.1);
    expect(found.notes[0]).toMatch(/hardly predict/);
  });

  it('depends on ranks only, and on its seed', async () => {
    const measured = sweep(40, ({ lr }) => Math.log10(lr));
    const stretched = measured.map(({ config, value }) => ({
      config,
      value: Math.exp(20 * (value ?? 0)),
    }));
    const found = await configImportance(measured);
    expect(await configImportance(stretched)).toEqual(found);
    expect(await configImportance(measured)).toEqual(found);
    expect(await configImportance(measured, { seed: 2 })).not.toEqual(found);
  });
});

describe('ranks', () => {
  it('judge each setting alone where runs are few, with a test by shuffling', async () => {
    const found = await configImportance(sweep(16, ({ lr }) => Math.log10(lr)));
    expect(found.method).toBe('ranks');
    expect(found.settings[0]).toMatchObject({ path: 'lr', kind: 'number' });
    expect(found.settings[0]?.importance).toBeGreaterThan(0.9);
    expect(found.settings[0]?.adjustedPValue).toBeLessThan(0.01);
    for (const { adjustedPValue } of found.settings.slice(1))
      expect(adjustedPValue).toBeGreaterThan(0.05);
  });

  it('call few settings significant that are noise', async () => {
    let count = 0;
    for (let seed = 0; seed < 30; seed += 1) {
      const random = randomFrom(seed);
      const measured = Array.from({ length: 12 }, () => ({
        config: { a: random(), b: random() < 0.5, c: Math.floor(3 * random()) },
        value: random(),
      }));
      const { settings } = await configImportance(measured);
      if (settings.some(({ adjustedPValue }) => (adjustedPValue ?? 1) < 0.05)) count += 1;
    }
    // One in twenty is expected; more than six of thirty happen once in a thousand times.
    expect(count).toBeLessThanOrEqual(6);
  });
});

describe('importance', () => {
  it('says nothing of too few runs, of one configuration, and of one value', async () => {
    const few = await configImportance(sweep(7, ({ lr }) => lr));
    expect(few).toMatchObject({ method: 'none', runCount: 7, settings: [] });
    expect(few.reason).toBe('7 runs have this metric; below 8 nothing can be told from chance.');
    const same = Array.from({ length: 30 }, (_, seed) => ({ config: { seed }, value: seed }));
    expect((await configImportance(same)).reason).toBe(
      'No setting but seeds differs between the runs.',
    );
    const level = sweep(30, () => 1, 0);
    expect((await configImportance(level)).reason).toBe('All runs have the same value.');
  });

  it('leaves out runs without a finite value, and counts them', async () => {
    const measured = sweep(30, ({ lr }) => lr).map((run, i) =>
      i % 3 === 0 ? { ...run, value: i % 2 === 0 ? null : Number.NaN } : run,
    );
    expect(await configImportance(measured)).toMatchObject({
      method: 'ranks',
      runCount: 20,
      leftOutCount: 10,
    });
  });

  it('joins settings that change together', async () => {
    const measured = sweep(30, ({ lr }) => lr).map(({ config, value }) => ({
      config: { ...config, optimizer_lr: Number(config['lr']) * 10 },
      value,
    }));
    const { notes, settings } = await configImportance(measured);
    expect(settings[0]).toMatchObject({ path: 'lr', sameAs: ['optimizer_lr'] });
    expect(notes).toContain(
      'lr and optimizer_lr change together: which of them matters cannot be told.',
    );
  });

  it('is finite and within its interval, whatever the settings are', async () => {
    const value = fc.oneof(
      fc.constant(null),
      fc.double(),
      fc.constantFrom('a', 'b', ''),
      fc.boolean(),
      fc.array(fc.integer(), { maxLength: 2 }),
    );
    const run = fc.record({
      config: fc.record(
        { a: value, b: value, deep: fc.record({ c: value }) },
        { requiredKeys: [] },
      ),
      value: fc.oneof(fc.double(), fc.constant(null)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(run, { maxLength: 30 }), async (measured) => {
        const found = await configImportance(JSON.parse(JSON.stringify(measured)));
        expect(found.runCount + found.leftOutCount).toBe(measured.length);
        expect(found.reason === null).toBe(found.settings.length > 0);
        for (const { high, importance, low } of found.settings) {
          expect(Number.isFinite(importance)).toBe(true);
          expect(low).toBeLessThanOrEqual(importance);
          expect(high).toBeGreaterThanOrEqual(importance);
        }
      }),
      runs(40),
    );
  });

  it('refuses what is no value and no seed', async () => {
    // @ts-expect-error -- a caller without types
    await expect(configImportance([{ config: {}, value: '1' }])).rejects.toThrow('runs[0].value');
    await expect(configImportance([], { seed: -1 })).rejects.toThrow('seed');
  });
});
