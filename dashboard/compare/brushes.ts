/** Parts of parallel axes that runs have to go through. Pure. */
import { decodedName, type AddressText } from '../parts/address-text.ts';

/** A part of an axis, as shares of its length from its foot. */
export type Brush = { readonly from: number; readonly to: number };

/** By the id of the quantity of the axis. */
export type Brushes = ReadonlyMap<string, Brush>;

/** Shortest part. */
const LEAST = 0.02;
const STEP = 0.05;
const ROUNDING = 1e-9;

/** The brushes with this one; one that is too short to hold anything is taken away. */
export function withBrush(brushes: Brushes, id: string, brush: Brush | undefined): Brushes {
  const next = new Map(brushes);
  next.delete(id);
  if (brush !== undefined) {
    const from = Math.max(0, Math.min(brush.from, brush.to));
    const to = Math.min(1, Math.max(brush.from, brush.to));
    if (to - from >= LEAST) next.set(id, { from, to });
  }
  return next;
}

/** Whether a run goes through all brushes. `shareOf` is where it is on an axis; a run without a value goes through no brush of that axis. */
export function goesThrough(
  brushes: Brushes,
  shareOf: (id: string) => number | undefined,
): boolean {
  return [...brushes].every(([id, { from, to }]) => {
    const share = shareOf(id);
    return share !== undefined && share >= from - ROUNDING && share <= to + ROUNDING;
  });
}

/**
 * What a key does to a brush: arrows move it, plus and minus make it longer and shorter, Escape takes it away. The first key makes one of the
 * upper half. Undefined: the key says nothing.
 */
export function brushByKey(
  brush: Brush | undefined,
  key: string,
): { readonly brush: Brush | undefined } | undefined {
  if (key === 'Escape' || key === 'Delete') return { brush: undefined };
  const shift = key === 'ArrowUp' ? STEP : key === 'ArrowDown' ? -STEP : 0;
  const growth = key === '+' || key === '=' ? STEP : key === '-' ? -STEP : 0;
  if (shift === 0 && growth === 0) return undefined;
  if (brush === undefined) return { brush: { from: 0.5, to: 1 } };
  const length = brush.to - brush.from;
  if (growth !== 0) {
    const half = Math.max(STEP, Math.min(1, length + growth * 2)) / 2;
    const middle = (brush.from + brush.to) / 2;
    return { brush: { from: Math.max(0, middle - half), to: Math.min(1, middle + half) } };
  }
  // At the end of the axis the part becomes shorter.
  const from = Math.max(0, Math.min(1 - LEAST, brush.from + shift));
  const to = Math.min(1, Math.max(LEAST, brush.to + shift));
  return { brush: { from, to } };
}

/** `config.lr:0.5:1,metrics.loss:0:0.25`: in an address. A part of no axis that is shown holds nothing back. */
export const BRUSHES: AddressText<Brushes> = {
  write: (brushes) =>
    brushes.size === 0
      ? undefined
      : Array.from(
          brushes,
          ([id, { from, to }]) => `${encodeURIComponent(id)}:${shareText(from)}:${shareText(to)}`,
        ).join(),
  read: (text) => {
    let brushes: Brushes = new Map();
    for (const part of (text ?? '').split(',')) {
      const [, id = '', from, to] = /^([^:]+):([\d.]+):([\d.]+)$/.exec(part) ?? [];
      const brush = { from: Number(from ?? Number.NaN), to: Number(to ?? Number.NaN) };
      if (brush.from < brush.to) brushes = withBrush(brushes, decodedName(id), brush);
    }
    return brushes;
  },
};

function shareText(share: number): string {
  return String(Number(share.toFixed(4)));
}
