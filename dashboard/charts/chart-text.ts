/** What is chosen for charts, as texts in an address. */
import { MAX_SMOOTHING, type ChartAxis } from 'quark-sdk/workspace';
import { decodedName, type AddressText } from '../parts/address-text.ts';
import { METRIC_AXIS, X_AXES } from '../series/series.ts';
import type { XRange } from './reduce.ts';

/** A range is written in this many parts at least: finer than a chart has pixels. */
const PARTS = 1e4;

/** The horizontal axis. */
export const AXIS: AddressText<ChartAxis> = {
  write: (axis) => (axis === X_AXES[0] ? undefined : axis),
  read: (text) => {
    if (text?.startsWith(METRIC_AXIS) === true)
      return `${METRIC_AXIS}${text.slice(METRIC_AXIS.length)}`;
    return X_AXES.find((axis) => axis === text) ?? X_AXES[0];
  },
};

/** The weight of the smoothing. */
export const SMOOTHING: AddressText<number> = {
  write: (value) => (value === 0 ? undefined : String(value)),
  read: (text) => {
    const value = Number(text ?? 0);
    return value >= 0 && value <= MAX_SMOOTHING ? value : 0;
  },
};

/** `loss:10:200,a/b:0:5`: the zoomed part of each panel that is zoomed. */
export const ZOOMS: AddressText<ReadonlyMap<string, XRange>> = {
  write: (zooms) =>
    zooms.size === 0
      ? undefined
      : Array.from(
          zooms,
          ([id, { min, max }]) =>
            `${encodeURIComponent(id)}:${short(min, max - min)}:${short(max, max - min)}`,
        ).join(),
  read: (text) => {
    const zooms = new Map<string, XRange>();
    for (const part of (text ?? '').split(',')) {
      const found = /^([^:]+):([^:]+):([^:]+)$/.exec(part);
      const [, id = '', from, to] = found ?? [];
      const range = { min: Number(from ?? Number.NaN), max: Number(to ?? Number.NaN) };
      // Not a number, or the wrong way round, is no range.
      if (range.max > range.min && Number.isFinite(range.max - range.min))
        zooms.set(decodedName(id), range);
    }
    return zooms;
  },
};

function short(value: number, width: number): string {
  const unit = 10 ** Math.floor(Math.log10(width / PARTS));
  return String(Number((Math.round(value / unit) * unit).toPrecision(12)));
}
