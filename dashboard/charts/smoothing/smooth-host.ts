/** The worker's side of smoothing: it stores the points of long curves and smooths them as often as it is asked to. */
import type { Line } from '../../parts/line.ts';
import type { Smoothing } from '../plot/chart-settings.ts';
import { smooth } from './smooth.ts';

/** What the page asks for. */
export type SmoothRequest =
  /** The points of a curve from index `from` on. Points before that stay, points behind are replaced. */
  | {
      readonly kind: 'points';
      readonly curve: number;
      readonly from: number;
      readonly xs: Float64Array<ArrayBuffer>;
      readonly ys: Float64Array<ArrayBuffer>;
    }
  /** Answered with a {@link SmoothReply}. */
  | {
      readonly kind: 'smooth';
      readonly id: number;
      readonly curve: number;
      readonly smoothing: Smoothing;
      readonly extent: number;
    }
  | { readonly kind: 'forget'; readonly curve: number };

/** All points of a curve, smoothed. */
export type SmoothReply = { readonly id: number; readonly smoothed: Float64Array<ArrayBuffer> };

/** Answers the requests that come over the line. */
export function hostSmoothing(line: Line): void {
  const curves = new Map<number, StoredPoints>();
  line.addEventListener('message', ({ data }: MessageEvent<SmoothRequest>) => {
    if (data.kind === 'forget') {
      curves.delete(data.curve);
      return;
    }
    const points = curves.get(data.curve) ?? new StoredPoints();
    curves.set(data.curve, points);
    if (data.kind === 'points') {
      points.replace(data.from, data.xs, data.ys);
      return;
    }
    const smoothed = smooth(points.xs, points.ys, data.smoothing, data.extent);
    const reply: SmoothReply = { id: data.id, smoothed };
    line.postMessage(reply, { transfer: [smoothed.buffer] });
  });
}

/** The points of one curve, in arrays that grow. */
class StoredPoints {
  #xs = new Float64Array(0);
  #ys = new Float64Array(0);
  #length = 0;

  get xs(): Float64Array {
    return this.#xs.subarray(0, this.#length);
  }

  get ys(): Float64Array {
    return this.#ys.subarray(0, this.#length);
  }

  replace(from: number, xs: Float64Array<ArrayBuffer>, ys: Float64Array<ArrayBuffer>): void {
    this.#length = from + xs.length;
    if (from === 0) {
      this.#xs = xs;
      this.#ys = ys;
      return;
    }
    this.#xs = written(this.#xs, from, xs);
    this.#ys = written(this.#ys, from, ys);
  }
}

/** `column` with `added` at index `from`; it is copied only where it is too short. */
function written(
  column: Float64Array<ArrayBuffer>,
  from: number,
  added: Float64Array,
): Float64Array<ArrayBuffer> {
  const length = from + added.length;
  let target = column;
  if (length > column.length) {
    target = new Float64Array(Math.max(length, 2 * column.length));
    target.set(column.subarray(0, from));
  }
  target.set(added, from);
  return target;
}
