import { describe, expect, it } from 'vitest';
import type { ChangeKernel, ChangePointOptions } from '../../../src/kernel/series/change/change.ts';
import { normals } from '../../support/change-reference.ts';

const close = (value: number, expected: number, tolerance: number): void => {
  expect(Math.abs(value - expected), `${value} is ${expected}`).toBeLessThanOrEqual(tolerance);
};

/** What users of change points rely on, whichever twin computes them. */
export function describeChanges(name: string, load: () => Promise<ChangeKernel>): void {
  describe(`change points: ${name}`, () => {
    it('finds steps, their levels and the noise', async () => {
      const kernel = await load();
      const noise = normals(1);
      const values = Float64Array.from(
        { length: 600 },
        (_, i) => ([1, 3, 2][Math.floor(i / 200)] ?? 0) + 0.2 * noise(),
      );
      const found = kernel.changePoints(values);
      expect([...found.indices]).toEqual([200, 400]);
      for (const [k, level] of [1, 3, 2].entries()) close(found.levels[k] ?? 0, level, 0.05);
      expect([...found.slopes]).toEqual([0, 0, 0]);
      close(found.noise, 0.2, 0.03);
      expect(found).toMatchObject({ count: 600, isExact: true, autocorrelation: 0 });
      expect(found.penalty).toBe(2 * Math.log(600));
    });

    it('finds bends and jumps of a line', async () => {
      const kernel = await load();
      const noise = normals(2);
      const values = Float64Array.from({ length: 900 }, (_, i) => {
        const level = i < 300 ? 10 - 0.02 * i : i < 600 ? 4 : 4 + 0.01 * (i - 600) + 3;
        return level + 0.1 * noise();
      });
      const found = kernel.changePoints(values, { model: 'slope' });
      expect(found.indices).toHaveLength(2);
      close(found.indices[0] ?? 0, 300, 20);
      expect(found.indices[1]).toBe(600);
      for (const [k, slope] of [-0.02, 0, 0.01].entries())
        close(found.slopes[k] ?? 0, slope, 0.001);
      close(found.levels[0] ?? 0, 10, 0.1);
      close(found.levels[2] ?? 0, 7, 0.1);
      close(found.noise, 0.1, 0.02);
      expect(found.penalty).toBe(3 * Math.log(900));
    });

    it('has an answer for no values, one, two, and for equal ones', async () => {
      const kernel = await load();
      for (const model of ['mean', 'slope'] as const) {
        expect(kernel.changePoints([], { model })).toEqual({
          indices: new Uint32Array(0),
          levels: new Float64Array(0),
          slopes: new Float64Array(0),
          cost: 0,
          penalty: (model === 'mean' ? 2 : 3) * Math.log(2),
          noise: 0,
          autocorrelation: 0,
          count: 0,
          isExact: true,
        });
        expect(kernel.changePoints([NaN, Infinity, -Infinity], { model }).count).toBe(0);
        expect(kernel.changePoints([5], { model })).toMatchObject({
          indices: new Uint32Array(0),
          levels: Float64Array.of(5),
          cost: 0,
          count: 1,
        });
        expect(kernel.changePoints([1, 2], { model }).indices).toHaveLength(0);
        const flat = kernel.changePoints(new Float64Array(5000).fill(0.1), { model });
        expect(flat).toMatchObject({ noise: 0, cost: 0, isExact: true });
        expect(flat.indices).toHaveLength(0);
        close(flat.levels[0] ?? 0, 0.1, 1e-16);
      }
      const line = kernel.changePoints(
        Array.from({ length: 3000 }, (_, i) => 0.1 * i - 7),
        { model: 'slope' },
      );
      expect(line.indices).toHaveLength(0);
      close(line.slopes[0] ?? 0, 0.1, 1e-12);
      close(line.levels[0] ?? 0, -7, 1e-10);
    });

    it('finds steps without noise', async () => {
      const kernel = await load();
      const values = Array.from({ length: 4000 }, (_, i) => Math.floor(i / 1000) % 2);
      expect([...kernel.changePoints(values).indices]).toEqual([1000, 2000, 3000]);
      const bend = Array.from({ length: 1500 }, (_, i) => Math.abs(i - 700));
      const { indices } = kernel.changePoints(bend, { model: 'slope' });
      expect(indices).toHaveLength(1);
      close(indices[0] ?? 0, 700, 1);
    });

    it('passes over values that are not finite, and keeps the indices of the others', async () => {
      const kernel = await load();
      const noise = normals(3);
      const finite = Float64Array.from(
        { length: 400 },
        (_, i) => (i < 250 ? 0 : 2) + 0.3 * noise(),
      );
      const plain = kernel.changePoints(finite);
      expect([...plain.indices]).toEqual([250]);
      for (const [at, bad] of [NaN, Infinity, -Infinity].entries()) {
        const place = [0, 250, 400][at] ?? 0;
        const values = Float64Array.from([
          ...finite.slice(0, place),
          bad,
          bad,
          ...finite.slice(place),
        ]);
        const found = kernel.changePoints(values);
        expect(found).toEqual({ ...plain, indices: Uint32Array.of(place <= 250 ? 252 : 250) });
      }
    });

    it('is not moved by spikes with the bounded loss', async () => {
      const kernel = await load();
      const noise = normals(4);
      const values = Float64Array.from(
        { length: 2000 },
        (_, i) => (i < 1200 ? 1 : 2) + 0.3 * noise() + (i % 331 === 330 ? 1e6 : 0),
      );
      expect(kernel.changePoints(values).indices.length).toBeGreaterThan(10);
      const found = kernel.changePoints(values, { loss: 'biweight' });
      expect([...found.indices]).toEqual([1200]);
      close(found.levels[0] ?? 0, 1, 0.05);
      close(found.levels[1] ?? 0, 2, 0.05);
    });

    it('does not take noise that repeats itself for changes', async () => {
      const kernel = await load();
      const noise = normals(5);
      let state = 0;
      const values = Float64Array.from({ length: 20_000 }, () => (state = 0.8 * state + noise()));
      const adjusted = kernel.changePoints(values);
      expect(adjusted.indices.length).toBeLessThanOrEqual(2);
      close(adjusted.autocorrelation, 0.8, 0.06);
      close(adjusted.noise, 1 / 0.6, 0.3);
      const ignored = kernel.changePoints(values, { autocorrelation: 'ignore' });
      expect(ignored.indices.length).toBeGreaterThan(500);
      expect(ignored.autocorrelation).toBe(0);
      const steep = kernel.changePoints(
        values.map((value, i) => value + 0.01 * i),
        { model: 'slope' },
      );
      close(steep.autocorrelation, 0.8, 0.1);
    });

    it('keeps to the least length and to the most changes', async () => {
      const kernel = await load();
      const noise = normals(6);
      const values = Float64Array.from(
        { length: 1000 },
        (_, i) => 5 * (Math.floor(i / 20) % 2) + noise(),
      );
      expect(kernel.changePoints(values).indices).toHaveLength(49);
      for (const model of ['mean', 'slope'] as const) {
        const long = kernel.changePoints(values, { model, minSegmentLength: 35 });
        const ends = [0, ...long.indices, 1000];
        for (let k = 1; k < ends.length; k++)
          expect((ends[k] ?? 0) - (ends[k - 1] ?? 0)).toBeGreaterThanOrEqual(35);
        for (const maxChanges of [0, 1, 7])
          expect(
            kernel.changePoints(values, { model, maxChanges }).indices.length,
          ).toBeLessThanOrEqual(maxChanges);
      }
      expect(kernel.changePoints(values, { minSegmentLength: 501 }).indices).toHaveLength(0);
    });

    it('reads float32 and plain arrays, changes nothing, and gives what can be sent to a worker', async () => {
      const kernel = await load();
      const values = Float64Array.from({ length: 64 }, (_, i) => (i < 32 ? 0 : 8) + (i % 3));
      const copy = values.slice();
      const found = kernel.changePoints(values);
      expect(values).toEqual(copy);
      expect(structuredClone(found)).toEqual(found);
      expect(kernel.changePoints(Float32Array.from(values))).toEqual(found);
      expect(kernel.changePoints([...values])).toEqual(found);
      expect(kernel.changePoints(values)).toEqual(found);
    });

    it('copes with the smallest and the largest numbers', async () => {
      const kernel = await load();
      const noise = normals(7);
      const shape = Float64Array.from({ length: 90 }, (_, i) => (i < 40 ? 1 : 3) + 0.2 * noise());
      const plain = kernel.changePoints(shape);
      expect([...plain.indices]).toEqual([40]);
      for (const factor of [2 ** -1030, 2 ** -600, 2 ** 600, 2 ** 1021]) {
        const found = kernel.changePoints(shape.map((value) => value * factor));
        expect(found.indices).toEqual(plain.indices);
        close(found.cost / plain.cost, 1, 1e-9);
        close(found.noise / factor / plain.noise, 1, 1e-9);
      }
    });

    it('refuses bad options by name', async () => {
      const kernel = await load();
      const bad: [string, Record<string, unknown>][] = [
        ['model', { model: 'variance' }],
        ['loss', { loss: 'huber' }],
        ['loss', { loss: 'biweight', model: 'slope' }],
        ['penalty', { penalty: 0 }],
        ['penalty', { penalty: NaN }],
        ['penalty', { penalty: 'aic' }],
        ['noise', { noise: 0 }],
        ['noise', { noise: Infinity }],
        ['autocorrelation', { autocorrelation: 1 }],
        ['minSegmentLength', { minSegmentLength: 0 }],
        ['minSegmentLength', { minSegmentLength: 2, loss: 'biweight' }],
        ['maxChanges', { maxChanges: 1.5 }],
        ['exactLimit', { exactLimit: -1 }],
        ['exactLimit', { exactLimit: 1e6, model: 'slope' }],
        ['options.penalties', { penalties: 3 }],
      ];
      for (const [field, options] of bad) {
        expect(() => kernel.changePoints([1, 2, 3], options as ChangePointOptions)).toThrow(
          expect.objectContaining({
            code: 'invalid_input',
            details: expect.objectContaining({ field }),
          }),
        );
      }
      expect(() => kernel.changePoints('12' as unknown as number[])).toThrow(/values/);
    });
  });
}
