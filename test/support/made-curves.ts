/** Trainings that are made, so that it is known how they went: their curves, names and units come from a seed. */
import {
  createMetricSeries,
  createRunColumns,
  type MetricSeries,
  type RunColumns,
} from 'quark-sdk/analysis';
import { normal, random } from './analysis-runs.ts';

/** How a training went. */
export const COURSES = [
  'falls',
  'rests',
  'flat',
  'overfits',
  'diverges',
  'breaks',
  'wavers',
  'signed',
  'unknown',
  'blank',
  'short',
] as const;

/** One of {@link COURSES}. */
export type Course = (typeof COURSES)[number];

/** A training that was made. */
export type MadeRun = {
  readonly course: Course;
  readonly columns: RunColumns;
  /** The training loss; null where no name says which one it is. */
  readonly lossKey: string | null;
  /** Noise of the training loss, as a share of its level. */
  readonly noise: number;
  /** Values of the training loss. */
  readonly count: number;
};

/** Names of both sides as programs give them. */
const NAMES = [
  ['train/loss', 'val/loss'],
  ['loss', 'val_loss'],
  ['train_loss', 'val_loss'],
  ['Loss/train', 'Loss/val'],
] as const;

type Shape = {
  readonly count: number;
  readonly noise: number;
  readonly start: number;
  readonly floor: number;
  readonly seed: number;
};

/** A training of some course. */
export function madeRun(course: Course, seed: number): MadeRun {
  const next = random(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] ?? list[0]!;
  const isEpochs = next() < 0.3;
  const count =
    course === 'short'
      ? 1 + Math.floor(next() * 2)
      : pick([12, 12, 30, 30, 60, 60, 200, 200, 700, 3000]);
  const noise = pick([0, 0.01, 0.03, 0.1]);
  const start = pick([0.7, 2.3, 40, 7000]);
  const shape = { count, noise, start, floor: start * pick([0.05, 0.2, 0.5]), seed };
  const [trainKey, valKey] = pick(NAMES);
  const lossKey = course === 'unknown' ? 'progress/alpha' : trainKey;
  const at = (length: number) => Array.from({ length }, (_, i) => (i * count) / length);
  const placed = (key: string, values: readonly number[]): MetricSeries => {
    const positions = at(values.length).map((position) => Math.floor(position));
    return createMetricSeries(
      key,
      isEpochs ? { epochs: positions, values } : { steps: positions.map((p) => p * 10), values },
    );
  };
  const loss = withGaps(lossOf(course, shape), next);
  const metrics = [placed(lossKey, loss)];
  if (course === 'unknown')
    metrics.push(
      placed(
        'progress/beta',
        loss.map((_, i) => i),
      ),
    );
  if (course === 'overfits' || (next() < 0.4 && !['unknown', 'blank', 'short'].includes(course)))
    metrics.push(placed(valKey, validationOf(course, shape)));
  if (next() < 0.3 && ['falls', 'overfits'].includes(course))
    metrics.push(
      placed(
        `${trainKey.includes('/') ? 'train/' : ''}accuracy`,
        accuracyOf(shape, pick([1, 100])),
      ),
    );
  return {
    course,
    columns: createRunColumns({ metrics, run: { status: 'completed' } }),
    lossKey: course === 'unknown' ? null : lossKey,
    noise,
    count,
  };
}

function lossOf(course: Course, { count, floor, noise, seed, start }: Shape): number[] {
  const gauss = normal(seed + 1);
  const fall = (share: number, rate = 6): number =>
    floor + (start - floor) * Math.exp(-rate * share);
  const levelAt = (share: number): number => {
    switch (course) {
      case 'rests':
        return fall(share, 40);
      case 'flat':
        return start;
      case 'diverges':
        return share < 0.5 ? fall(share) : fall(0.5) * 30 ** (2 * (share - 0.5));
      case 'breaks':
        return share < 0.6 ? fall(share) : Number.NaN;
      case 'wavers':
        return fall(share) * (1 + 0.25 * Math.sin(25 * share));
      case 'blank':
        return Number.NaN;
      case 'signed':
        return fall(share) - (start + floor) / 2;
      case 'falls':
      case 'overfits':
      case 'unknown':
      case 'short':
        return fall(share);
    }
  };
  return Array.from({ length: count }, (_, i) => {
    const level = levelAt(count < 2 ? 0 : i / (count - 1));
    const size = course === 'signed' ? start : Math.abs(level);
    return level + noise * size * gauss();
  });
}

function validationOf(course: Course, shape: Shape): number[] {
  const { count, floor, noise, seed, start } = shape;
  const gauss = normal(seed + 2);
  const length = Math.max(3, Math.min(count, 20));
  if (course === 'overfits')
    return Array.from({ length }, (_, i) => {
      const share = i / (length - 1);
      const best = floor + 0.3 * (start - floor);
      const level =
        share < 0.3
          ? best + (start - best) * (1 - share / 0.3)
          : best * (1 + 1.5 * ((share - 0.3) / 0.7));
      return level * (1 + 0.2 * noise * gauss());
    });
  const train = lossOf(course, { ...shape, noise: 0, count: length });
  return train.map((value) => value + 0.02 * start * (1 + 0.1 * noise * gauss()));
}

function accuracyOf({ count }: Shape, unit: number): number[] {
  return Array.from(
    { length: Math.min(count, 50) },
    (_, i) => unit * (0.1 + 0.75 * (1 - Math.exp(-i / 8))),
  );
}

/** Some values in the middle are left out: a series has gaps, and rows without a number. */
function withGaps(values: readonly number[], next: () => number): number[] {
  if (values.length < 30 || next() < 0.7) return [...values];
  const at = Math.floor(values.length * (0.2 + 0.3 * next()));
  return values.map((value, i) => (i === at ? Number.NaN : value));
}
