// Kernels over series without the copy: the values lie in the memory of an instance of their own.
import { SHARES } from './support.mjs';

/** The seven quantiles of values that lie in the memory of an instance of their own. */
export function selectionInside(module, values) {
  const { exports } = new WebAssembly.Instance(module, { memory: { scratch: 0 } });
  const { memory } = exports;
  const { length } = values;
  const round = (address) => (address + 63) & ~63;
  const ranks = [
    ...new Set(
      SHARES.flatMap((share) => {
        const at = Math.floor(share * (length - 1));
        return [at, Math.min(length - 1, at + 1)];
      }),
    ),
  ].sort((a, b) => a - b);
  const data = round(exports.heapBase());
  const list = round(data + length * 8);
  const out = round(list + ranks.length * 4);
  const tasks = round(out + ranks.length * 8);
  const room = round(tasks + ranks.length * 24);
  memory.grow(Math.ceil((room + 16 * length - memory.buffer.byteLength) / 65_536) + 1);
  new Float64Array(memory.buffer, data, length).set(values);
  new Int32Array(memory.buffer, list, ranks.length).set(ranks);
  return () => {
    const found = exports.orderPlan(data, length, list, ranks.length, out, tasks);
    exports.orderSelect(data, length, room, round(room + found * 8));
    return new Float64Array(memory.buffer, out, ranks.length);
  };
}

/** LTTB of values that lie in the memory of an instance of their own. */
export function lttbInside(module, values, points) {
  const { exports } = new WebAssembly.Instance(module, { memory: { scratch: 0 } });
  const { memory } = exports;
  const { length } = values;
  const edges = (exports.heapBase() + 15) & ~15;
  const out = edges + 16_384;
  const data = (out + 16_384 + 63) & ~63;
  memory.grow(Math.ceil((data + 8 * length - memory.buffer.byteLength) / 65_536) + 1);
  new Float64Array(memory.buffer, data, length).set(values);
  const starts = new Uint32Array(memory.buffer, edges, points);
  return () => {
    const buckets = points - 2;
    for (let b = 0; b <= buckets; b++) starts[b] = 1 + Math.floor((b * (length - 2)) / buckets);
    starts[buckets + 1] = length;
    return exports.drawLttb(data, 0, edges, buckets, 0, 0, values[0], out);
  };
}
