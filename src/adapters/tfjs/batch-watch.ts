/**
 * The batches of a `fit`: what the model is given and what it is to give, as the loss sees it. Only tensors in host memory are read, so
 * that nothing waits for a device; nothing is computed by TensorFlow.js.
 */
import type {
  DataDiagnostics,
  LogBatchOptions,
} from '../../instruments/diagnostics/data-diagnostics.ts';
import { measured } from '../../base/thread/thread-time.ts';
import { handleOf } from '../../session/run-handle.ts';
import type { TrainingSession } from '../../session/training-session.ts';
import { isTapeOn, isTensor } from './layer-watches.ts';
import { tapMethod } from '../../base/method-tap.ts';
import { inputReceivers } from './tfjs-layers.ts';
import { isOnHost } from './tfjs-tensor.ts';
import type { TfjsRuntime, TfTensor } from './tfjs-types.ts';

type Loss = (this: unknown, ...args: unknown[]) => unknown;
type Captured = Required<Pick<LogBatchOptions, 'inputs' | 'targets'>>;

/** Sees the batches of one model while it is attached. */
export class BatchWatch {
  readonly #session: TrainingSession;
  readonly #tf: TfjsRuntime;
  readonly #model: object;
  readonly #diagnostics: DataDiagnostics;
  /** Inputs of the pass under way, good until its loss has been computed. */
  #inputs: TfTensor[] = [];
  #captured: Captured | undefined;
  #isWanted = false;
  #undo: (() => void)[] = [];

  /** @param session where it ends, this detaches */
  constructor(
    session: TrainingSession,
    { diagnostics, model, tf }: { diagnostics: DataDiagnostics; model: object; tf: TfjsRuntime },
  ) {
    this.#session = session;
    this.#tf = tf;
    this.#model = model;
    this.#diagnostics = diagnostics;
  }

  /** Attaches to the model. Where it was compiled without a loss, or the backend has its tensors on a device, there is nothing to see. */
  attach(): void {
    this.detach();
    const losses = lossesOf(this.#model);
    if (!Array.isArray(losses) || !isOnHost(this.#tf)) return;
    const [original]: unknown[] = losses;
    if (typeof original !== 'function') return;
    this.#undo.push(
      handleOf(this.#session).attach({
        drain: () => Promise.resolve(),
        drainNow: () => undefined,
        close: () => Promise.resolve(this.detach()),
      }),
    );
    for (const layer of inputReceivers(this.#model)) this.#undo.push(this.#tapInputs(layer));
    const observe = (target: unknown): void => this.#ended(target);
    const observed: Loss = function (...args) {
      observe(args[0]);
      return Reflect.apply(original, this, args);
    };
    losses[0] = observed;
    this.#undo.push(() => {
      if (losses[0] === observed) losses[0] = original;
    });
  }

  /** Detaches: the model is as it was. */
  detach(): void {
    for (const undo of this.#undo) undo();
    this.#undo = [];
    this.#inputs = [];
    this.#captured = undefined;
    this.#isWanted = false;
  }

  /** Says that a step begins; `isWanted` whether its batch is to be seen. */
  beginStep(isWanted: boolean): void {
    this.#captured = undefined;
    if (this.#inputs.length > 0) this.#inputs = [];
    this.#isWanted = isWanted;
  }

  /** The batch of the step; undefined where it was not seen. */
  take(): Captured | undefined {
    const captured = this.#captured;
    this.#captured = undefined;
    this.#isWanted = false;
    return captured;
  }

  #tapInputs(layer: object): () => void {
    const note = (given: unknown): void => {
      if (!this.#isWanted && isTapeOn(this.#tf)) return;
      const tensors: readonly unknown[] = Array.isArray(given) ? given : [given];
      this.#inputs.push(...tensors.filter((one) => isTensor(one)));
    };
    return tapMethod(
      layer,
      'call',
      (original) =>
        function (this: unknown, ...args) {
          note(args[0]);
          return original.apply(this, args);
        },
    );
  }

  /** The loss is being computed: that of a pass that trains, or of one that validates. */
  #ended(target: unknown): void {
    const inputs = this.#inputs.splice(0);
    if (inputs.length === 0 || !isTensor(target) || !isOnHost(this.#tf)) return;
    const rows = target.shape[0];
    const own = inputs.filter(({ isDisposed, shape }) => !isDisposed && shape[0] === rows);
    // Tensors that were used and are gone, or layers that were given something else than samples: then it is not known which these are.
    if (own.length === 0 || own.length < inputs.length) return;
    measured('batches', () => {
      const plain = own.map(hostTensor);
      if (!isTapeOn(this.#tf)) this.#diagnostics.addValidation(plain);
      else if (this.#isWanted) this.#captured = { inputs: plain, targets: hostTensor(target) };
    });
  }
}

/** The losses of the outputs as `fit` calls them; a sequential model has another one inside, which is trained. */
function lossesOf(model: object): unknown {
  if ('lossFunctions' in model) return model.lossFunctions;
  const inner = 'model' in model ? model.model : undefined;
  return typeof inner === 'object' && inner !== null && 'lossFunctions' in inner
    ? inner.lossFunctions
    : undefined;
}

/** Read now: the tensor is gone when the step has ended. */
function hostTensor(tensor: TfTensor): {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
} {
  const data: unknown = tensor.dataSync();
  return {
    shape: tensor.shape,
    data: ArrayBuffer.isView(data) && 'length' in data ? (data as Float32Array) : [],
  };
}
