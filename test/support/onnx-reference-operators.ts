/**
 * More operators in float64, forward only, written straight from ONNX's definitions: choices, layouts, indices, reductions,
 * resizing, normalisations, transposed convolutions, sums of products and recurrent layers.
 */
import type { Attributes } from '../../src/adapters/onnx/file/onnx-writer.ts';
import {
  axisOf,
  broadcast,
  build,
  get,
  ints,
  normalised,
  num,
  offset,
  positions,
  reduce,
  refTensor,
  sizeOf,
  transpose,
  type RefTensor,
} from './onnx-reference-tensors.ts';

type Given = (index: number) => RefTensor;
type Operator = (
  given: Given,
  attributes: Attributes,
  node: {
    readonly op: string;
    readonly inputs: readonly (RefTensor | undefined)[];
    readonly count: number;
  },
) => RefTensor | readonly RefTensor[];

const text = (a: Attributes, name: string, fallback: string): string => {
  const value = a[name];
  return typeof value === 'string' ? value : fallback;
};

const list = (given: readonly (RefTensor | undefined)[], index: number): number[] | undefined => {
  const tensor = given[index];
  return tensor === undefined ? undefined : [...tensor.data];
};

/** `f` of the values along an axis, for each position of the other axes. */
function alongAxes(
  x: RefTensor,
  axes: readonly number[],
  keep: boolean,
  f: (values: number[]) => number,
): RefTensor {
  const kept = x.shape.map((n, axis) => (axes.includes(axis) ? 1 : n));
  const groups = Array.from({ length: sizeOf(kept) }, (): number[] => []);
  for (const at of positions(x.shape))
    groups[
      offset(
        kept,
        at.map((i, axis) => (axes.includes(axis) ? 0 : i)),
      )
    ]!.push(get(x, at));
  const shape = keep ? kept : x.shape.filter((_, axis) => !axes.includes(axis));
  return refTensor(shape, groups.map(f));
}

const sum = (values: readonly number[]): number => values.reduce((total, v) => total + v, 0);

const REDUCTIONS: Readonly<Record<string, (values: number[]) => number>> = {
  ReduceL1: (v) => sum(v.map(Math.abs)),
  ReduceL2: (v) => Math.sqrt(sum(v.map((x) => x * x))),
  ReduceLogSum: (v) => Math.log(sum(v)),
  ReduceLogSumExp: (v) => Math.log(sum(v.map(Math.exp))),
  ReduceMax: (v) => Math.max(...v),
  ReduceMin: (v) => Math.min(...v),
  ReduceProd: (v) => v.reduce((product, x) => product * x, 1),
  ReduceSumSquare: (v) => sum(v.map((x) => x * x)),
};

const reduction =
  (op: string): Operator =>
  (given, a, { inputs }) => {
    const x = given(0);
    const axes = ints(a, 'axes') ?? list(inputs, 1) ?? x.shape.map((_, i) => i);
    return alongAxes(
      x,
      axes.map((axis) => axisOf(axis, x.shape.length)),
      num(a, 'keepdims', 1) === 1,
      REDUCTIONS[op]!,
    );
  };

const folded =
  (f: (x: number, y: number) => number): Operator =>
  (_given, _a, { inputs }) =>
    inputs.map((tensor) => tensor!).reduce((x, y) => broadcast(x, y, f));

const compared = (f: (x: number, y: number) => boolean): Operator =>
  folded((x, y) => Number(f(x, y)));

function slice(
  x: RefTensor,
  cuts: readonly { axis: number; start: number; end: number; step: number }[],
): RefTensor {
  let made = x;
  for (const { axis, start, end, step } of cuts) {
    const size = made.shape[axis]!;
    const clamp = (at: number): number => {
      const from = at < 0 ? at + size : at;
      return step > 0 ? Math.min(Math.max(from, 0), size) : Math.min(Math.max(from, -1), size - 1);
    };
    const picked: number[] = [];
    for (let i = clamp(start); step > 0 ? i < clamp(end) : i > clamp(end); i += step)
      picked.push(i);
    made = pick(made, axis, picked);
  }
  return made;
}

/** The slices of some positions along an axis. */
function pick(x: RefTensor, axis: number, indices: readonly number[]): RefTensor {
  const shape = x.shape.map((n, i) => (i === axis ? indices.length : n));
  return build(shape, (at) =>
    get(
      x,
      at.map((i, k) => (k === axis ? indices[i]! : i)),
    ),
  );
}

function concat(parts: readonly RefTensor[], axis: number): RefTensor {
  const all = parts.flatMap((t) =>
    Array.from({ length: t.shape[axis]! }, (_, i) => [t, i] as const),
  );
  const shape = parts[0]!.shape.map((n, i) => (i === axis ? all.length : n));
  return build(shape, (at) => {
    const [tensor, i] = all[at[axis]!]!;
    return get(
      tensor,
      at.map((n, k) => (k === axis ? i : n)),
    );
  });
}

const cutsOf: Operator = (given, a, { inputs }) => {
  const x = given(0);
  const starts = list(inputs, 1) ?? [...ints(a, 'starts')!];
  const ends = list(inputs, 2) ?? [...ints(a, 'ends')!];
  const axes = list(inputs, 3) ?? ints(a, 'axes') ?? starts.map((_, i) => i);
  const steps = list(inputs, 4) ?? starts.map(() => 1);
  return slice(
    x,
    starts.map((start, i) => ({
      axis: axisOf(axes[i]!, x.shape.length),
      start,
      end: ends[i]!,
      step: steps[i]!,
    })),
  );
};

const pad: Operator = (given, a, { inputs }) => {
  const x = given(0);
  const rank = x.shape.length;
  const raw = list(inputs, 1) ?? [...ints(a, 'pads')!];
  const axes = list(inputs, 3) ?? x.shape.map((_, i) => i);
  const pads = Array<number>(2 * rank).fill(0);
  axes.forEach((axis, i) => {
    pads[axisOf(axis, rank)] = raw[i]!;
    pads[axisOf(axis, rank) + rank] = raw[i + axes.length]!;
  });
  const mode = text(a, 'mode', 'constant');
  const value = inputs[2]?.data[0] ?? num(a, 'value', 0);
  const shape = x.shape.map((n, i) => n + pads[i]! + pads[i + rank]!);
  return build(shape, (at) => {
    const from = at.map((i, axis) => i - pads[axis]!);
    if (mode === 'constant' && from.some((i, axis) => i < 0 || i >= x.shape[axis]!)) return value;
    return get(
      x,
      from.map((i, axis) => {
        const n = x.shape[axis]!;
        if (mode === 'edge') return Math.min(Math.max(i, 0), n - 1);
        if (mode === 'wrap') return ((i % n) + n) % n;
        return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
      }),
    );
  });
};

const split: Operator = (given, a, { inputs, count }) => {
  const x = given(0);
  const axis = axisOf(num(a, 'axis', 0), x.shape.length);
  const n = x.shape[axis]!;
  const each = Math.ceil(n / count);
  const sizes =
    list(inputs, 1) ??
    ints(a, 'split') ??
    Array.from({ length: count }, (_, i) => Math.min(each, n - i * each));
  let from = 0;
  return sizes.map((size) => {
    const start = from;
    from += size;
    return pick(
      x,
      axis,
      Array.from({ length: size }, (_, i) => start + i),
    );
  });
};

const gather: Operator = (given, a) => {
  const [x, where] = [given(0), given(1)];
  const axis = axisOf(num(a, 'axis', 0), x.shape.length);
  const n = x.shape[axis]!;
  const shape = [...x.shape.slice(0, axis), ...where.shape, ...x.shape.slice(axis + 1)];
  return build(shape, (at) => {
    const i = get(where, at.slice(axis, axis + where.shape.length));
    return get(x, [
      ...at.slice(0, axis),
      i < 0 ? i + n : i,
      ...at.slice(axis + where.shape.length),
    ]);
  });
};

const gatherElements: Operator = (given, a) => {
  const [x, where] = [given(0), given(1)];
  const axis = axisOf(num(a, 'axis', 0), x.shape.length);
  return build(where.shape, (at) => {
    const i = get(where, at);
    return get(
      x,
      at.map((n, k) => (k === axis ? (i < 0 ? i + x.shape[axis]! : i) : n)),
    );
  });
};

const gatherND: Operator = (given) => {
  const [x, where] = [given(0), given(1)];
  const depth = where.shape.at(-1)!;
  const lead = where.shape.slice(0, -1);
  return build([...lead, ...x.shape.slice(depth)], (at) => {
    const here = at.slice(0, lead.length);
    const first = Array.from({ length: depth }, (_, i) => get(where, [...here, i]));
    return get(x, [...first, ...at.slice(lead.length)]);
  });
};

const scatterElements: Operator = (given, a) => {
  const [x, where, updates] = [given(0), given(1), given(2)];
  const axis = axisOf(num(a, 'axis', 0), x.shape.length);
  const data = x.data.slice();
  for (const at of positions(where.shape)) {
    const to = offset(
      x.shape,
      at.map((n, k) => (k === axis ? get(where, at) : n)),
    );
    data[to] = get(updates, at) + (text(a, 'reduction', 'none') === 'add' ? data[to]! : 0);
  }
  return { ...x, data };
};

const scatterND: Operator = (given, a) => {
  const [x, where, updates] = [given(0), given(1), given(2)];
  const depth = where.shape.at(-1)!;
  const data = x.data.slice();
  for (const at of positions(updates.shape)) {
    const lead = at.slice(0, where.shape.length - 1);
    const first = Array.from({ length: depth }, (_, i) => get(where, [...lead, i]));
    const to = offset(x.shape, [...first, ...at.slice(lead.length)]);
    data[to] = get(updates, at) + (text(a, 'reduction', 'none') === 'add' ? data[to]! : 0);
  }
  return { ...x, data };
};

const topK: Operator = (given, a, { inputs }) => {
  const x = given(0);
  const k = list(inputs, 1)?.[0] ?? num(a, 'k', 1);
  const axis = axisOf(num(a, 'axis', -1), x.shape.length);
  const sign = num(a, 'largest', 1) === 1 ? -1 : 1;
  const shape = x.shape.map((n, i) => (i === axis ? k : n));
  const order = (at: number[]): number =>
    Array.from({ length: x.shape[axis]! }, (_, i) => i).sort((i, j) => {
      const value = (n: number): number =>
        get(
          x,
          at.map((m, q) => (q === axis ? n : m)),
        );
      return sign * (value(i) - value(j));
    })[at[axis]!]!;
  const where = build(shape, order);
  const values = build(shape, (at) =>
    get(
      x,
      at.map((n, q) => (q === axis ? get(where, at) : n)),
    ),
  );
  return [values, where];
};

const cumSum: Operator = (given, a) => {
  const x = given(0);
  const axis = axisOf(given(1).data[0]!, x.shape.length);
  const isReverse = num(a, 'reverse', 0) === 1;
  const isExclusive = num(a, 'exclusive', 0) === 1;
  return build(x.shape, (at) => {
    let total = 0;
    for (let i = 0; i < x.shape[axis]!; i += 1) {
      const here = at[axis]!;
      const counts = isReverse ? i >= here : i <= here;
      if (counts && !(isExclusive && i === here))
        total += get(
          x,
          at.map((n, q) => (q === axis ? i : n)),
        );
    }
    return total;
  });
};

const convTranspose: Operator = (given, a, { inputs }) => {
  const [x, w, b] = [given(0), given(1), inputs[2]];
  const kernel = w.shape.slice(2);
  const rank = kernel.length;
  const ones = kernel.map(() => 1);
  const zeros = kernel.map(() => 0);
  const [strides, dilations] = [ints(a, 'strides') ?? ones, ints(a, 'dilations') ?? ones];
  const extra = ints(a, 'output_padding') ?? zeros;
  const group = num(a, 'group', 1);
  const input = x.shape.slice(2);
  const pads = [...(ints(a, 'pads') ?? [...zeros, ...zeros])];
  const full = input.map(
    (n, i) => strides[i]! * (n - 1) + extra[i]! + (kernel[i]! - 1) * dilations[i]! + 1,
  );
  const auto = text(a, 'auto_pad', 'NOTSET');
  const asked =
    ints(a, 'output_shape') ??
    (auto.startsWith('SAME') ? input.map((n, i) => n * strides[i]!) : undefined);
  if (asked !== undefined)
    full.forEach((n, i) => {
      const total = Math.max(0, n - asked[i]!);
      pads[i] = auto === 'SAME_UPPER' ? Math.floor(total / 2) : total - Math.floor(total / 2);
      pads[i + rank] = total - pads[i];
    });
  const output = asked ?? full.map((n, i) => n - pads[i]! - pads[i + rank]!);
  const perGroup = w.shape[1]!;
  const channels = perGroup * group;
  const made = build([x.shape[0]!, channels, ...output], ([, m = 0]) => b?.data[m] ?? 0);
  const inGroup = x.shape[1]! / group;
  for (const [n = 0, c = 0, ...at] of positions(x.shape))
    for (let m = 0; m < perGroup; m += 1)
      for (const k of positions(kernel)) {
        const to = at.map(
          (i, axis) => i * strides[axis]! + k[axis]! * dilations[axis]! - pads[axis]!,
        );
        if (to.some((i, axis) => i < 0 || i >= output[axis]!)) continue;
        const channel = Math.floor(c / inGroup) * perGroup + m;
        made.data[offset(made.shape, [n, channel, ...to])]! +=
          get(x, [n, c, ...at]) * get(w, [c, m, ...k]);
      }
  return made;
};

/** One axis resized: weights of inputs for each output, from ONNX's own description of interpolation. */
function resizedAxis(
  x: RefTensor,
  axis: number,
  output: number,
  scale: number,
  a: Attributes,
  early: boolean,
): RefTensor {
  const n = x.shape[axis]!;
  const mode = text(a, 'mode', 'nearest');
  const coordinates = early
    ? 'asymmetric'
    : text(a, 'coordinate_transformation_mode', 'half_pixel');
  const rounding = early ? 'floor' : text(a, 'nearest_mode', 'round_prefer_floor');
  const place = (o: number): number => {
    if (coordinates === 'asymmetric') return o / scale;
    if (coordinates === 'align_corners') return output === 1 ? 0 : (o * (n - 1)) / (output - 1);
    if (coordinates === 'pytorch_half_pixel' && output === 1) return 0;
    if (coordinates === 'half_pixel_symmetric')
      return (n / 2) * (1 - output / (scale * n)) + (o + 0.5) / scale - 0.5;
    return (o + 0.5) / scale - 0.5;
  };
  const near = (p: number): number => {
    if (rounding === 'floor') return Math.floor(p);
    if (rounding === 'ceil') return Math.ceil(p);
    if (p - Math.floor(p) === 0.5)
      return rounding === 'round_prefer_floor' ? Math.floor(p) : Math.ceil(p);
    return Math.round(p);
  };
  const c = num(a, 'cubic_coeff_a', -0.75);
  const cubic = (s: number): number => {
    const d = Math.abs(s);
    if (d <= 1) return (c + 2) * d ** 3 - (c + 3) * d ** 2 + 1;
    return d < 2 ? c * d ** 3 - 5 * c * d ** 2 + 8 * c * d - 4 * c : 0;
  };
  const shape = x.shape.map((m, i) => (i === axis ? output : m));
  return build(shape, (at) => {
    const value = (i: number): number =>
      get(
        x,
        at.map((m, q) => (q === axis ? Math.min(Math.max(i, 0), n - 1) : m)),
      );
    const p = place(at[axis]!);
    if (mode === 'nearest') return value(near(p));
    const first = Math.floor(p);
    if (mode === 'linear') return value(first) * (1 - (p - first)) + value(first + 1) * (p - first);
    const taps = [-1, 0, 1, 2].map((i) => [first + i, cubic(p - first - i)] as const);
    const used = num(a, 'exclude_outside', 0) === 1 ? taps.filter(([i]) => i >= 0 && i < n) : taps;
    return (
      sum(used.map(([i, weight]) => weight * value(i))) / sum(used.map(([, weight]) => weight))
    );
  });
}

const resize: Operator = (given, a, { inputs, op }) => {
  const x = given(0);
  const early = op === 'Upsample' || inputs.length === 2;
  const own = a['scales'];
  const scales =
    typeof own === 'object' && 'floats' in own ? [...own.floats] : list(inputs, early ? 1 : 2);
  const sizes =
    scales === undefined ? list(inputs, 3)! : x.shape.map((n, i) => Math.floor(n * scales[i]!));
  return sizes.reduce(
    (made, size, axis) =>
      size === x.shape[axis]!
        ? made
        : resizedAxis(made, axis, size, scales?.[axis] ?? size / x.shape[axis]!, a, early),
    x,
  );
};

const perChannel = (t: RefTensor, rank: number): RefTensor => ({
  ...t,
  shape: [t.data.length, ...Array<number>(rank - 2).fill(1)],
});

const affine = (x: RefTensor, scale: RefTensor, bias: RefTensor): RefTensor =>
  broadcast(
    broadcast(x, perChannel(scale, x.shape.length), (p, q) => p * q),
    perChannel(bias, x.shape.length),
    (p, q) => p + q,
  );

const groupNormalization =
  (groupsOf: (channels: number, a: Attributes) => number): Operator =>
  (given, a) => {
    const x = given(0);
    const [batch = 1, channels = 1] = x.shape;
    const groups = groupsOf(channels, a);
    const apart = { ...x, shape: [batch, groups, x.data.length / batch / groups] };
    const made = { ...normalised(apart, [2], num(a, 'epsilon', 1e-5)), shape: x.shape };
    const wide = (t: RefTensor): RefTensor =>
      t.data.length === channels
        ? t
        : refTensor(
            [channels],
            Array.from(
              { length: channels },
              (_, c) => t.data[Math.floor((c * groups) / channels)]!,
            ),
          );
    return affine(made, wide(given(1)), wide(given(2)));
  };

const lrn: Operator = (given, a) => {
  const x = given(0);
  const size = num(a, 'size', 1);
  const [low, high] = [Math.floor((size - 1) / 2), Math.ceil((size - 1) / 2)];
  return build(x.shape, (at) => {
    let squares = 0;
    for (let c = Math.max(0, at[1]! - low); c <= Math.min(x.shape[1]! - 1, at[1]! + high); c += 1)
      squares += get(x, [at[0]!, c, ...at.slice(2)]) ** 2;
    return (
      get(x, at) /
      (num(a, 'bias', 1) + (num(a, 'alpha', 1e-4) / size) * squares) ** num(a, 'beta', 0.75)
    );
  });
};

const einsum: Operator = (_given, a, { inputs }) => {
  const [left = '', right] = text(a, 'equation', '').replaceAll(' ', '').split('->');
  const tensors = inputs.map((t) => t!);
  const named = left.split(',').map((term, i) => {
    const dots = tensors[i]!.shape.length - (term.length - 3);
    return term.includes('...') ? term.replace('...', 'XYZ'.slice(3 - dots)) : term;
  });
  const most = named.join('').replaceAll(/[^XYZ]/g, '');
  const all = named.join('');
  const output = (
    right ??
    [...new Set(all)]
      .filter((l) => all.split(l).length === 2)
      .sort()
      .join('')
  ).replace('...', [...new Set(most)].sort().join(''));
  const sizes = new Map(
    named.flatMap((term, i) =>
      term.split('').map((l, axis) => [l, tensors[i]!.shape[axis]!] as const),
    ),
  );
  const inner = [...sizes.keys()].filter((l) => !output.includes(l));
  return build(
    output.split('').map((l) => sizes.get(l)!),
    (at) => {
      let total = 0;
      for (const rest of positions(inner.map((l) => sizes.get(l)!))) {
        const where = (l: string): number =>
          output.includes(l) ? at[output.indexOf(l)]! : rest[inner.indexOf(l)]!;
        total += named.reduce(
          (product, term, i) => product * get(tensors[i]!, term.split('').map(where)),
          1,
        );
      }
      return total;
    },
  );
};

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const CELL: Readonly<Record<string, (x: number) => number>> = {
  Sigmoid: sigmoid,
  Tanh: Math.tanh,
  Relu: (x) => Math.max(0, x),
  HardSigmoid: (x) => Math.max(0, Math.min(1, 0.2 * x + 0.5)),
};

const recurrent: Operator = (given, a, { op, inputs }) => {
  const [x, w, r] = [given(0), given(1), given(2)];
  const gates = op === 'LSTM' ? 4 : op === 'GRU' ? 3 : 1;
  const [length = 1, batch = 1] = x.shape;
  const hidden = r.shape[2]!;
  const direction = text(a, 'direction', 'forward');
  const ways = direction === 'bidirectional' ? [false, true] : [direction === 'reverse'];
  const names = a['activations'];
  const defaults =
    op === 'LSTM' ? ['Sigmoid', 'Tanh', 'Tanh'] : op === 'GRU' ? ['Sigmoid', 'Tanh'] : ['Tanh'];
  const hiddens = build([length, ways.length, batch, hidden], () => 0);
  const lastH = build([ways.length, batch, hidden], () => 0);
  const lastC = build([ways.length, batch, hidden], () => 0);
  ways.forEach((isReverse, d) => {
    const all = typeof names === 'object' && 'strings' in names ? names.strings : undefined;
    const acts = (all?.slice(d * defaults.length, (d + 1) * defaults.length) ?? defaults).map(
      (name) => CELL[name]!,
    );
    const [f, g2, h2] = acts;
    const bias = (i: number): number => (inputs[3] === undefined ? 0 : get(inputs[3], [d, i]));
    const bound = num(a, 'clip', 0);
    const clip = (v: number): number => (bound > 0 ? Math.max(-bound, Math.min(bound, v)) : v);
    for (let n = 0; n < batch; n += 1) {
      let h = Array.from({ length: hidden }, (_, j) =>
        inputs[5] === undefined ? 0 : get(inputs[5], [d, n, j]),
      );
      let c = Array.from({ length: hidden }, (_, j) =>
        inputs[6] === undefined ? 0 : get(inputs[6], [d, n, j]),
      );
      for (let t = 0; t < length; t += 1) {
        const step = isReverse ? length - 1 - t : t;
        const fromX = (row: number): number =>
          sum(
            Array.from(
              { length: x.shape[2]! },
              (_, i) => get(x, [step, n, i]) * get(w, [d, row, i]),
            ),
          ) + bias(row);
        const fromH = (row: number, from: readonly number[] = h): number =>
          sum(from.map((v, i) => v * get(r, [d, row, i]))) + bias(gates * hidden + row);
        const peep = (k: number, j: number, value: number): number =>
          inputs[7] === undefined ? 0 : get(inputs[7], [d, k * hidden + j]) * value;
        const at = (gate: number, j: number): number => gate * hidden + j;
        const before = h;
        if (op === 'RNN') h = h.map((_, j) => f!(clip(fromX(j) + fromH(j))));
        else if (op === 'GRU') {
          const z = before.map((_, j) => f!(clip(fromX(at(0, j)) + fromH(at(0, j)))));
          const rs = before.map((_, j) => f!(clip(fromX(at(1, j)) + fromH(at(1, j)))));
          const reset = before.map((v, j) => v * rs[j]!);
          h = before.map((v, j) => {
            const back =
              num(a, 'linear_before_reset', 0) === 1
                ? rs[j]! * fromH(at(2, j))
                : fromH(at(2, j), reset);
            return (1 - z[j]!) * g2!(clip(fromX(at(2, j)) + back)) + z[j]! * v;
          });
        } else {
          const cBefore = c;
          const gate = (k: number, j: number): number => fromX(at(k, j)) + fromH(at(k, j));
          const i = before.map((_, j) => f!(clip(gate(0, j) + peep(0, j, cBefore[j]!))));
          const forget = before.map((_, j) =>
            num(a, 'input_forget', 0) === 1
              ? 1 - i[j]!
              : f!(clip(gate(2, j) + peep(2, j, cBefore[j]!))),
          );
          c = before.map((_, j) => forget[j]! * cBefore[j]! + i[j]! * g2!(clip(gate(3, j))));
          const now = c;
          h = before.map((_, j) => f!(clip(gate(1, j) + peep(1, j, now[j]!))) * h2!(now[j]!));
        }
        h.forEach((v, j) => (hiddens.data[offset(hiddens.shape, [step, d, n, j])] = v));
      }
      h.forEach((v, j) => (lastH.data[offset(lastH.shape, [d, n, j])] = v));
      c.forEach((v, j) => (lastC.data[offset(lastC.shape, [d, n, j])] = v));
    }
  });
  return op === 'LSTM' ? [hiddens, lastH, lastC] : [hiddens, lastH];
};

const position =
  (best: (values: number[]) => number): Operator =>
  (given, a) => {
    const x = given(0);
    return alongAxes(
      x,
      [axisOf(num(a, 'axis', 0), x.shape.length)],
      num(a, 'keepdims', 1) === 1,
      (v) => v.indexOf(best(v)),
    );
  };

const depthToSpace: Operator = (given, a) => {
  const x = given(0);
  const [n = 1, c = 1, h = 1, w = 1] = x.shape;
  const b = num(a, 'blocksize', 1);
  const d = c / b ** 2;
  const isDepthFirst = text(a, 'mode', 'DCR') === 'DCR';
  const apart = { ...x, shape: isDepthFirst ? [n, b, b, d, h, w] : [n, d, b, b, h, w] };
  return {
    ...transpose(apart, isDepthFirst ? [0, 3, 4, 1, 5, 2] : [0, 1, 4, 2, 5, 3]),
    shape: [n, d, h * b, w * b],
  };
};

const spaceToDepth: Operator = (given, a) => {
  const x = given(0);
  const [n = 1, c = 1, h = 1, w = 1] = x.shape;
  const b = num(a, 'blocksize', 1);
  const apart = { ...x, shape: [n, c, h / b, b, w / b, b] };
  return { ...transpose(apart, [0, 3, 5, 1, 2, 4]), shape: [n, c * b * b, h / b, w / b] };
};

const rms: Operator = (given, a) => {
  const x = given(0);
  const first = axisOf(num(a, 'axis', -1), x.shape.length);
  const axes = x.shape.flatMap((_, i) => (i < first ? [] : [i]));
  const mean = reduce({ ...x, data: x.data.map((v) => v * v) }, axes, true, true);
  const divided = broadcast(x, mean, (p, q) => p / Math.sqrt(q + num(a, 'epsilon', 1e-5)));
  return broadcast(divided, given(1), (p, q) => p * q);
};

/** Operators of this file. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  And: compared((x, y) => x !== 0 && y !== 0),
  ArgMax: position((v) => Math.max(...v)),
  ArgMin: position((v) => Math.min(...v)),
  Concat: (given, a, { inputs }) =>
    concat(
      inputs.map((t) => t!),
      axisOf(num(a, 'axis', 0), given(0).shape.length),
    ),
  ConstantOfShape: (given, a) => {
    const shape = [...given(0).data];
    return refTensor(shape, new Float64Array(sizeOf(shape)).fill(num(a, 'value', 0)));
  },
  ConvTranspose: convTranspose,
  CumSum: cumSum,
  DepthToSpace: depthToSpace,
  Einsum: einsum,
  Equal: compared((x, y) => x === y),
  Expand: (given) => {
    const shape = [...given(1).data];
    return broadcast(given(0), refTensor(shape, new Float64Array(sizeOf(shape))), (x) => x);
  },
  GRU: recurrent,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherND,
  GlobalMaxPool: (given) =>
    alongAxes(
      given(0),
      given(0).shape.flatMap((_, i) => (i < 2 ? [] : [i])),
      true,
      (v) => Math.max(...v),
    ),
  Greater: compared((x, y) => x > y),
  GreaterOrEqual: compared((x, y) => x >= y),
  GroupNormalization: groupNormalization((_channels, a) => num(a, 'num_groups', 1)),
  InstanceNormalization: groupNormalization((channels) => channels),
  LRN: lrn,
  LSTM: recurrent,
  Less: compared((x, y) => x < y),
  LessOrEqual: compared((x, y) => x <= y),
  LpNormalization: (given, a) => {
    const x = given(0);
    const axes = [axisOf(num(a, 'axis', -1), x.shape.length)];
    const norm = alongAxes(
      x,
      axes,
      true,
      REDUCTIONS[num(a, 'p', 2) === 1 ? 'ReduceL1' : 'ReduceL2']!,
    );
    return broadcast(x, norm, (p, q) => p / q);
  },
  Max: folded(Math.max),
  Mean: (given, a, node) => {
    const total = folded((x, y) => x + y)(given, a, node) as RefTensor;
    return { ...total, data: total.data.map((v) => v / node.inputs.length) };
  },
  MeanVarianceNormalization: (given, a) => normalised(given(0), ints(a, 'axes') ?? [0, 2, 3], 0),
  Min: folded(Math.min),
  Mod: folded((x, y) => x % y),
  OneHot: (given) => {
    const [where, depth, values] = [given(0), given(1).data[0]!, given(2)];
    return build(
      [...where.shape, depth],
      (at) => values.data[Number(get(where, at.slice(0, -1)) === at.at(-1))]!,
    );
  },
  Or: compared((x, y) => x !== 0 || y !== 0),
  PRelu: folded((x, y) => (x < 0 ? x * y : x)),
  Pad: pad,
  RMSNormalization: rms,
  RNN: recurrent,
  ...Object.fromEntries(Object.keys(REDUCTIONS).map((op) => [op, reduction(op)])),
  Range: (given) => {
    const [start, limit, delta] = [given(0).data[0]!, given(1).data[0]!, given(2).data[0]!];
    const count = Math.ceil((limit - start) / delta);
    return refTensor(
      [count],
      Array.from({ length: count }, (_, i) => start + i * delta),
    );
  },
  Resize: resize,
  Scatter: scatterElements,
  ScatterElements: scatterElements,
  ScatterND: scatterND,
  Shape: (given) => refTensor([given(0).shape.length], given(0).shape),
  SimplifiedLayerNormalization: rms,
  Slice: cutsOf,
  SpaceToDepth: spaceToDepth,
  Split: split,
  Sum: folded((x, y) => x + y),
  Tile: (given) => {
    const x = given(0);
    const shape = x.shape.map((n, i) => n * given(1).data[i]!);
    return build(shape, (at) =>
      get(
        x,
        at.map((i, axis) => i % x.shape[axis]!),
      ),
    );
  },
  TopK: topK,
  Trilu: (given, a, { inputs }) => {
    const x = given(0);
    const shift = inputs[1]?.data[0] ?? 0;
    return build(x.shape, (at) => {
      const ahead = at.at(-1)! - at.at(-2)!;
      return (num(a, 'upper', 1) === 1 ? ahead >= shift : ahead <= shift) ? get(x, at) : 0;
    });
  },
  Upsample: resize,
  Where: (given) => {
    const chosen = broadcast(given(0), given(1), (c, x) => (c === 0 ? Number.NaN : x));
    return broadcast(chosen, given(2), (x, y) => (Number.isNaN(x) ? y : x));
  },
  Xor: compared((x, y) => (x !== 0) !== (y !== 0)),
};
