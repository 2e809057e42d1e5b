/**
 * Outputs of layers on their way to the watches. In a pass that trains, the gradient with respect to an output is the
 * one that the operation which made it is handed on the way back. Where that operation cannot be known to belong to this
 * output alone, and on a device, the output goes through an identity with a gradient of its own (`tf.customGrad`), in
 * whose body nothing is recorded for the backward pass. Values, gradients and the order of operations stay the same.
 */
import { messageOf } from '../../base/errors.ts';
import type { CapturePoint, LayerWatch } from '../../instruments/probes/model-source.ts';
import { isOnHost, TfTensorRef } from './tfjs-tensor.ts';
import { opsOf, type TfjsRuntime, type TfTensor } from './tfjs-types.ts';

type Seen = { readonly watch: LayerWatch; readonly callIndex: number };

export class LayerWatches {
  readonly #tf: TfjsRuntime;
  readonly #watches = new Set<LayerWatch>();
  /** One list for all calls: it is read for every layer of every step. */
  #list: readonly LayerWatch[] = [];

  constructor(tf: TfjsRuntime) {
    this.#tf = tf;
  }

  get isEmpty(): boolean {
    return this.#list.length === 0;
  }

  add(watch: LayerWatch): void {
    this.#watches.add(watch);
    this.#list = [...this.#watches];
  }

  remove(watch: LayerWatch): void {
    this.#watches.delete(watch);
    this.#list = [...this.#watches];
  }

  /** Whether a watch wants the layer now. */
  wants(layer: number): boolean {
    for (const watch of this.#list) if (watch.isActive && watch.layers.has(layer)) return true;
    return false;
  }

  /**
   * Passes the output of a layer to its watches, and returns the tensor to use instead.
   *
   * @param inputs what a layer without layers in it was given; undefined for others
   */
  observe(layer: number, output: unknown, inputs?: unknown): unknown {
    const isTraining = isTapeOn(this.#tf);
    const seen = this.#begin(layer, isTraining);
    if (seen.length === 0) return output;
    try {
      return Array.isArray(output)
        ? output.map((item: unknown, outputIndex) =>
            this.#show(seen, { layer, outputIndex, isTraining }, item),
          )
        : this.#show(seen, { layer, outputIndex: 0, isTraining }, output, inputs);
    } catch (error) {
      warn(seen, 'An output', error);
      return output;
    }
  }

  /** Passes an input of the model to its watches. It has no gradient and is not replaced. */
  observeInput(layer: number, input: unknown): void {
    if (!isTensor(input)) return;
    const isTraining = isTapeOn(this.#tf);
    const seen = this.#begin(layer, isTraining);
    if (seen.length === 0) return;
    const tell = (tensor: TfTensor): void => this.#tell(seen, { layer, isTraining }, tensor);
    try {
      if (isOnHost(this.#tf) || !isTraining) tell(input);
      else this.#offTape(input, tell).dispose();
    } catch (error) {
      warn(seen, 'An input', error);
    }
  }

  /** The watches of a layer, and which of its calls this is. */
  #begin(layer: number, isTraining: boolean): readonly Seen[] {
    const seen: Seen[] = [];
    for (const watch of this.#list) {
      if (watch.isActive && watch.layers.has(layer) && (isTraining || watch.evaluation))
        seen.push({ watch, callIndex: watch.beginCall(layer) });
    }
    return seen;
  }

  #tell(
    seen: readonly Seen[],
    point: Pick<CapturePoint, 'layer' | 'isTraining'> &
      Partial<Pick<CapturePoint, 'direction' | 'outputIndex'>>,
    tensor: TfTensor,
  ): void {
    const ref = new TfTensorRef(this.#tf, tensor);
    const { direction = 'forward', isTraining, layer, outputIndex = 0 } = point;
    for (const { watch, callIndex } of seen) {
      if (direction === 'forward' ? watch.forward : watch.backward)
        watch.capture({ layer, direction, isTraining, outputIndex, callIndex }, ref);
    }
  }

  /** On a device, capturing runs operations, which must not become part of the backward pass. */
  #offTape(tensor: TfTensor, tell: (x: TfTensor) => void): TfTensor {
    return opsOf(this.#tf).customGrad((x) => {
      tell(x);
      return { value: x.clone(), gradFunc: (dy) => dy.clone() };
    })(tensor);
  }

  #show(
    seen: readonly Seen[],
    point: Pick<CapturePoint, 'layer' | 'outputIndex' | 'isTraining'>,
    output: unknown,
    inputs?: unknown,
  ): unknown {
    if (!isTensor(output)) return output;
    const tf = this.#tf;
    const { isTraining } = point;
    const { layer, outputIndex } = point;
    const tell = (direction: CapturePoint['direction'], tensor: TfTensor): void =>
      this.#tell(seen, { layer, outputIndex, isTraining, direction }, tensor);
    const isBackwardWanted = isTraining && seen.some(({ watch }) => watch.backward);
    const isFloat = output.dtype === 'float32';
    if (isOnHost(tf)) {
      tell('forward', output);
      if (!isBackwardWanted || !isFloat) return output;
      if (inputs !== undefined && !isAmong(output, inputs)) {
        if (tapGradient(tf, output, (dy) => tell('backward', dy))) return output;
      }
      return opsOf(tf).customGrad((x) => ({
        value: x.clone(),
        gradFunc: (dy) => {
          tell('backward', dy);
          // The same tensor, not a clone of it: where it is added to another one, the engine has no more use for it here.
          return dy;
        },
      }))(output);
    }
    if (!isTraining) {
      tell('forward', output);
      return output;
    }
    const offTape = (tensor: TfTensor, direction: CapturePoint['direction']): TfTensor =>
      this.#offTape(tensor, (x) => tell(direction, x));
    if (!isFloat) {
      offTape(output, 'forward').dispose();
      return output;
    }
    return opsOf(tf).customGrad((x) => {
      tell('forward', x);
      return {
        value: x.clone(),
        gradFunc: (dy) => (isBackwardWanted ? offTape(dy, 'backward') : dy.clone()),
      };
    })(output);
  }
}

function warn(seen: readonly Seen[], what: string, error: unknown): void {
  const message = `${what} could not be captured: ${messageOf(error)}`;
  for (const { watch } of seen) watch.warn({ reason: 'capture_failed', message });
}

/** What was recorded of an operation: `dys` are the gradients with respect to its outputs. */
type TapeNode = {
  readonly outputs: readonly TfTensor[];
  gradient?: (dys: readonly (TfTensor | null)[]) => unknown;
};

/** Operations whose gradient is captured already: those of two outputs that are one tensor cannot be distinguished. */
const tapped = new WeakSet<TapeNode>();

/**
 * Tells the gradient with respect to the output of the operation that was recorded last; false where that did not make
 * `output`, or where the tape is built differently from 4.x. An operation more for each output, as `tf.customGrad` makes
 * it, costs a step of a small network 1 percent.
 */
function tapGradient(tf: TfjsRuntime, output: TfTensor, tell: (dy: TfTensor) => void): boolean {
  const engine = tf.engine();
  const state: unknown = 'state' in engine ? engine.state : undefined;
  if (typeof state !== 'object' || state === null || !('activeTape' in state)) return false;
  const tape: unknown = state.activeTape;
  const node: unknown = Array.isArray(tape) ? tape.at(-1) : undefined;
  if (!isTapeNode(node) || node.outputs.length !== 1 || node.outputs[0] !== output) return false;
  const { gradient } = node;
  if (gradient === undefined || tapped.has(node)) return false;
  tapped.add(node);
  node.gradient = (dys) => {
    const [dy] = dys;
    if (isTensor(dy)) tell(dy);
    return gradient(dys);
  };
  return true;
}

function isTapeNode(node: unknown): node is TapeNode {
  return (
    typeof node === 'object' &&
    node !== null &&
    'outputs' in node &&
    Array.isArray(node.outputs) &&
    (!('gradient' in node) || typeof node.gradient === 'function')
  );
}

function isAmong(tensor: TfTensor, inputs: unknown): boolean {
  return inputs === tensor || (Array.isArray(inputs) && inputs.includes(tensor));
}

/** Whether gradients are being computed: true in training, false in validation and prediction. */
export function isTapeOn(tf: TfjsRuntime): boolean {
  const engine = tf.engine();
  // Not documented, and there since version 1; without it every pass counts as training.
  if (!('isTapeOn' in engine) || typeof engine.isTapeOn !== 'function') return true;
  return engine.isTapeOn() === true;
}

export function isTensor(value: unknown): value is TfTensor {
  return typeof value === 'object' && value !== null && 'dataId' in value && 'dtype' in value;
}
