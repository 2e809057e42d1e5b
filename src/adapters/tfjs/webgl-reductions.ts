/**
 * Reductions as WebGL programs. With the operations of TensorFlow.js a summary takes some thirty programs, one after the
 * other, each of which costs the calling thread and the device some tens of microseconds; these take one or two. A tensor
 * is cut into chunks, and every number of a chunk is made by a thread of its own; the chunks are put together on the host,
 * in float64.
 */
import type { ReductionRequest } from '../../instruments/probes/model-source.ts';
import type { TfjsRuntime, TfTensor } from './tfjs-types.ts';

/** Numbers a chunk: count, mean, squared deviations, least, greatest, near zero, saturated, squares of the second tensor. */
export const CHUNK_NUMBERS = 8;
/** Numbers a chunk of a comparison: products, squares of the first, squares of the second tensor. */
export const PAIR_NUMBERS = 3;
const MIN_CHUNK_LENGTH = 128;
const MAX_CHUNKS = 1024;
/** A thread reads all elements of a unit: beyond so many it is the slowest of all. */
const MAX_UNIT_LENGTH = 1 << 14;

type Program = {
  readonly variableNames: readonly string[];
  readonly outputShape: readonly number[];
  readonly userCode: string;
};

type WebglBackend = {
  compileAndRun(program: Program, inputs: readonly TfTensor[], dtype: string): object;
};
type Engine = { makeTensorFromTensorInfo(info: object): TfTensor };

/** How many chunks a tensor of so many elements is cut into. */
export function chunkCount(size: number): number {
  return Math.ceil(size / chunkLength(size));
}

function chunkLength(size: number): number {
  return Math.max(MIN_CHUNK_LENGTH, Math.ceil(size / MAX_CHUNKS));
}

export class WebglReductions {
  readonly #tf: TfjsRuntime;

  private constructor(tf: TfjsRuntime) {
    this.#tf = tf;
  }

  /** Undefined on other backends, and where TensorFlow.js is built differently from 4.x. */
  static on(tf: TfjsRuntime): WebglReductions | undefined {
    if (tf.getBackend() !== 'webgl' || !isWebgl(tf.backend()) || !isEngine(tf.engine()))
      return undefined;
    return new WebglReductions(tf);
  }

  /** Numbers of every chunk of every `stride`th element of `x`, `[chunks * 8]`; all tensors are flat float32. */
  stats(x: TfTensor, request: ReductionRequest, stride = 1): TfTensor {
    const size = Math.ceil(x.size / stride);
    const value = `getX(at * ${stride})`;
    return this.#run(
      ['x'],
      [x],
      chunkCount(size) * CHUNK_NUMBERS,
      statsCode(size, value, '', request),
    );
  }

  /** The same of `after - before`, with the sum of squares of the finite elements of `before`. */
  change(after: TfTensor, before: TfTensor, request: ReductionRequest): TfTensor {
    const { size } = after;
    const code = statsCode(size, 'getA(at) - getB(at)', 'getB(at)', request);
    return this.#run(['a', 'b'], [after, before], chunkCount(size) * CHUNK_NUMBERS, code);
  }

  /** Products and squares of every chunk, `[chunks * 3]`. */
  compare(a: TfTensor, b: TfTensor): TfTensor {
    const { size } = a;
    return this.#run(
      ['a', 'b'],
      [a, b],
      chunkCount(size) * PAIR_NUMBERS,
      `
      void main() {
        int place = getOutputCoords();
        int chunk = place / ${PAIR_NUMBERS};
        int wanted = place - chunk * ${PAIR_NUMBERS};
        float sum = 0.0;
        ${each(size, 'chunk')} {
          float p = wanted == 2 ? getB(at) : getA(at);
          float q = wanted == 1 ? getA(at) : getB(at);
          sum += p * q;
        }
        setOutput(sum);
      }`,
    );
  }

  /** 1 for each unit that is near zero throughout, `[units]`; undefined where a unit has too many elements. */
  deadUnits(x: TfTensor, units: number, inner: number, epsilon: number): TfTensor | undefined {
    const length = x.size / units;
    if (length > MAX_UNIT_LENGTH) return undefined;
    return this.#run(
      ['x'],
      [x],
      units,
      `
      void main() {
        int unit = getOutputCoords();
        float dead = 1.0;
        for (int i = 0; i < ${length}; i++) {
          int outer = i / ${inner};
          float v = getX((outer * ${units} + unit) * ${inner} + i - outer * ${inner});
          if (isnan(v) || abs(v) > ${float(epsilon)}) { dead = 0.0; break; }
        }
        setOutput(dead);
      }`,
    );
  }

  /** How many of every `stride`th element lie below each inner edge of the bins, `[bins - 1]`. `stats` is of the same elements. */
  below(x: TfTensor, stats: TfTensor, stride: number, bins: number): TfTensor {
    const size = Math.ceil(x.size / stride);
    return this.#run(
      ['x', 's'],
      [x, stats],
      bins - 1,
      `
      void main() {
        int bin = getOutputCoords();
        bool isEmpty = true;
        float least = 0.0;
        float greatest = 0.0;
        for (int i = 0; i < ${chunkCount(size)}; i++) {
          if (getS(i * ${CHUNK_NUMBERS}) > 0.0) {
            float low = getS(i * ${CHUNK_NUMBERS} + 3);
            float high = getS(i * ${CHUNK_NUMBERS} + 4);
            least = isEmpty ? low : min(least, low);
            greatest = isEmpty ? high : max(greatest, high);
            isEmpty = false;
          }
        }
        float edge = least + (greatest - least) * (float(bin + 1) / ${float(bins)});
        float count = 0.0;
        for (int i = 0; i < ${size}; i++) {
          float v = getX(i * ${stride});
          if (!isnan(v) && !isinf(v) && v < edge) count += 1.0;
        }
        setOutput(count);
      }`,
    );
  }

  #run(
    variableNames: readonly string[],
    inputs: readonly TfTensor[],
    length: number,
    userCode: string,
  ): TfTensor {
    const backend = this.#tf.backend();
    const engine = this.#tf.engine();
    if (!isWebgl(backend) || !isEngine(engine))
      throw new TypeError('the backend was switched within a step');
    const program = { variableNames, outputShape: [length], userCode };
    return engine.makeTensorFromTensorInfo(backend.compileAndRun(program, inputs, 'float32'));
  }
}

/** `second` is what the last number sums the squares of. */
function statsCode(
  size: number,
  value: string,
  second: string,
  { epsilon, threshold }: ReductionRequest,
): string {
  const saturated =
    threshold === null ? '' : `if (abs(v) >= ${float(threshold)}) saturated += 1.0;`;
  const loop = each(size, 'chunk');
  return `
    void main() {
      int place = getOutputCoords();
      int chunk = place / ${CHUNK_NUMBERS};
      int wanted = place - chunk * ${CHUNK_NUMBERS};
      float count = 0.0;
      float sum = 0.0;
      float least = 0.0;
      float greatest = 0.0;
      float near = 0.0;
      float saturated = 0.0;
      ${loop} {
        float v = ${value};
        if (!isnan(v) && !isinf(v)) {
          least = count > 0.0 ? min(least, v) : v;
          greatest = count > 0.0 ? max(greatest, v) : v;
          count += 1.0;
          sum += v;
          if (abs(v) <= ${float(epsilon)}) near += 1.0;
          ${saturated}
        }
      }
      float mean = count > 0.0 ? sum / count : 0.0;
      float squares = 0.0;
      if (wanted == 2) {
        ${loop} {
          float v = ${value};
          if (!isnan(v) && !isinf(v)) squares += (v - mean) * (v - mean);
        }
      }
      ${
        second === ''
          ? ''
          : `if (wanted == 7) {
        ${loop} {
          float v = ${second};
          if (!isnan(v) && !isinf(v)) squares += v * v;
        }
      }`
      }
      setOutput(
        wanted == 0 ? count : wanted == 1 ? mean : wanted == 3 ? least : wanted == 4 ? greatest
        : wanted == 5 ? near : wanted == 6 ? saturated : squares);
    }`;
}

/** The head of a loop over the elements `at` of a chunk. */
function each(size: number, chunk: string): string {
  const length = chunkLength(size);
  return `for (int i = 0, at = ${chunk} * ${length}; i < ${length} && at < ${size}; i++, at++)`;
}

function float(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Of WebGL 2: before it, shaders had no such loops. */
function isWebgl(backend: object): backend is WebglBackend {
  if (!('compileAndRun' in backend) || typeof backend.compileAndRun !== 'function') return false;
  const gpgpu = 'gpgpu' in backend ? backend.gpgpu : undefined;
  if (typeof gpgpu !== 'object' || gpgpu === null || !('gl' in gpgpu)) return false;
  return typeof WebGL2RenderingContext === 'function' && gpgpu.gl instanceof WebGL2RenderingContext;
}

function isEngine(engine: object): engine is Engine {
  return (
    'makeTensorFromTensorInfo' in engine && typeof engine.makeTensorFromTensorInfo === 'function'
  );
}
