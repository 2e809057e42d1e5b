/**
 * An inference session whose layers can be observed. Two sessions are kept: the plain one, which runs whenever nobody
 * looks, and one of the instrumented model for probed runs. The caller's outputs are those of the plain session, always:
 * a probed run's are handed out only once both have been seen to agree to the bit.
 */
import { checkLiteral, checkOptionNames, checkFlag } from '../../../base/assert.ts';
import { ASYNC_DISPOSE } from '../../../base/dispose.ts';
import { invalidInput, isQuarkError, messageOf, QuarkError } from '../../../base/errors.ts';
import type {
  LayerInfo,
  LayerWatch,
  ModelSource,
  SourceTrouble,
} from '../../../instruments/probes/model-source.ts';
import type { LayerFilterConfig } from '../../../instruments/probes/layer-filter.ts';
import { askedOutputs, type AskedOutputs, type RunArguments } from './run-arguments.ts';
import { agreement, type Agreement } from './agreement.ts';
import { instrumentOnnx, type InstrumentedOnnx, type OnnxCapture } from './instrument.ts';
import { readOnnxModel } from '../file/onnx-reader.ts';
import {
  checkOrt,
  createSession,
  isTensorOnHost,
  providerOf,
  hostRef,
  type Ort,
  type OrtSession,
  type OrtSessionOptions,
  type OrtTensor,
  type OrtValues,
  type SessionOf,
} from '../ort.ts';

/** When a probed run is compared with a plain one on the same inputs, see {@link OpenOnnxModelOptions}. */
export const VERIFY_MODES = ['first', 'always'] as const;

/** Options of {@link openOnnxModel}. */
export type OpenOnnxModelOptions = {
  /** Layers that can be observed; those that compute unless given. */
  readonly filters?: LayerFilterConfig;
  /** Options of `ort.InferenceSession.create`, for both sessions. */
  readonly sessionOptions?: OrtSessionOptions;
  /** Most tensors to observe; default 512. */
  readonly maxOutputs?: number;
  /**
   * `first`: the first probed run is also run plainly. If all outputs agree to the bit, later probed runs are trusted;
   * if they agree but for rounding, later ones go on being run twice; if they do not, probing ends. `always`: every
   * probed run is run twice. Default `first` for the provider `wasm`, `always` for all others, where a device that runs
   * out of its limits gives wrong numbers without an error.
   */
  readonly verify?: (typeof VERIFY_MODES)[number];
  /** Whether runs train: `hooks` then take them without `evaluation`. Default true. */
  readonly isTraining?: boolean;
  /** Throws when the model cannot be instrumented. Default false: the plain session goes on, and the hook engine warns. */
  readonly strict?: boolean;
};

const OPTION_NAMES = ['filters', 'sessionOptions', 'maxOutputs', 'verify', 'isTraining', 'strict'];

/**
 * Loads a model so that its layers can be observed.
 *
 * @param ort the module: `import * as ort from 'onnxruntime-web'`
 * @param model bytes of the `.onnx` file; not kept
 * @throws {QuarkError} `invalid_input`, also for a file that is damaged, and `unsupported` if `strict`; what onnxruntime
 * throws when it cannot load the model for another reason
 * @example
 * ```js
 * import * as ort from 'onnxruntime-web';
 * import { TrainingSession } from 'quark-sdk';
 * import { buildOnnxTraining, openOnnxModel } from 'quark-sdk/onnx';
 * import { HookEngine } from 'quark-sdk/probes';
 *
 * ort.env.wasm.numThreads = 1;
 * const training = buildOnnxTraining(
 *   { inputShape: [2], layers: [{ kind: 'dense', name: 'hidden', units: 4, activation: 'relu' }] },
 *   { loss: { kind: 'meanSquaredError' }, optimizer: { kind: 'sgd', learningRate: 0.1 } },
 * );
 * const file = training.exportModel({}); // the bytes of an .onnx file
 * const model = await openOnnxModel(ort, file);
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, async (session) => {
 *   const hooks = new HookEngine(session, model.source);
 *   await hooks.step(0, {}, () => model.session.run({ x: new ort.Tensor('float32', [0, 1], [1, 2]) }));
 *   for (const { moduleName, moduleType, mean } of await hooks.read()) console.log(moduleName, moduleType, mean);
 * });
 * await model.close();
 * ```
 */
export async function openOnnxModel<O extends Ort>(
  ort: O,
  model: Uint8Array,
  options: OpenOnnxModelOptions = {},
): Promise<OnnxModel<SessionOf<O>>> {
  checkOrt(ort);
  checkOptionNames('options', options, OPTION_NAMES);
  const { filters, sessionOptions = {}, maxOutputs, strict = false } = options;
  const isOnWasm = providerOf(sessionOptions) === 'wasm';
  const verify = checkLiteral(
    'options.verify',
    options.verify ?? (isOnWasm ? 'first' : 'always'),
    VERIFY_MODES,
  );
  const { isTraining = true } = options;
  checkFlag('options.isTraining', isTraining);
  const plain = await createSession(ort, model, sessionOptions).catch((error: unknown) => {
    throw loadFailure(model, error);
  });
  const troubles: SourceTrouble[] = [];
  let instrumented: InstrumentedOnnx | undefined;
  let probed: OrtSession | undefined;
  try {
    instrumented = instrumentOnnx(model, filters, maxOutputs === undefined ? {} : { maxOutputs });
    if (instrumented.isRandom && !isOnWasm) throw randomOnDevice();
    const added = instrumented.captures.filter(({ isOwnOutput }) => !isOwnOutput);
    probed = await createSession(ort, instrumented.bytes, {
      ...sessionOptions,
      preferredOutputLocation: outputLocations(plain, added, sessionOptions),
    });
  } catch (error) {
    if (strict) {
      await plain.release();
      throw error;
    }

    troubles.push({
      reason: reasonOf(error),
      message: `The layers of the ONNX model are not observed: ${messageOf(error).replace(/[.\s]*$/, '.')} The model itself runs as before.`,
    });
  }
  if (instrumented !== undefined) troubles.push(...unobserved(instrumented));
  return new OnnxModel(plain, probed, probed === undefined ? [] : (instrumented?.captures ?? []), {
    troubles,
    isTraining,
    verify: instrumented?.isRandom === true ? 'never' : verify,
  });
}

/** What onnxruntime says of a model it cannot load, unless the file itself tells more: a truncated one says where it ends. */
function loadFailure(model: Uint8Array, cause: unknown): unknown {
  try {
    readOnnxModel(model);
  } catch (error) {
    if (isQuarkError(error, 'invalid_input'))
      return new QuarkError('invalid_input', error.message, { details: error.details, cause });
  }
  return cause;
}

function reasonOf(error: unknown): string {
  if (!isQuarkError(error)) return 'not_loaded';
  const reason = error.details['reason'];
  return typeof reason === 'string' ? reason : error.code;
}

const randomOnDevice = (): QuarkError =>
  new QuarkError(
    'unsupported',
    'Two runs of the model differ, because it draws random numbers or trains its batch normalisation; so they cannot be compared to find out whether the device computes correctly.',
    { details: { field: 'model', reason: 'random_operators' } },
  );

function unobserved({ notObserved }: InstrumentedOnnx): SourceTrouble[] {
  const [first] = notObserved;
  if (first === undefined) return [];
  const more = notObserved.length > 1 ? ` So it is for ${notObserved.length - 1} more.` : '';
  return [
    {
      reason: 'layers_not_observed',
      message: `The ONNX layer "${first.layerName}" (${first.layerType}) is not observed: ${first.reason}.${more}`,
    },
  ];
}

/** The caller's outputs where the caller wants them, ours on the host. */
function outputLocations(
  plain: OrtSession,
  added: readonly OnnxCapture[],
  { preferredOutputLocation: wanted }: OrtSessionOptions,
): Record<string, unknown> {
  const locations: Record<string, unknown> = {};
  for (const name of plain.outputNames) {
    const location: unknown =
      typeof wanted === 'object' && wanted !== null ? Reflect.get(wanted, name) : wanted;
    if (location !== undefined) locations[name] = location;
  }
  for (const { outputName } of added) locations[outputName] = 'cpu';
  return locations;
}

type ProbeSettings = {
  readonly troubles: readonly SourceTrouble[];
  readonly isTraining: boolean;
  readonly verify: (typeof VERIFY_MODES)[number] | 'never';
};

/** An ONNX model whose layers can be observed. Make one with {@link openOnnxModel}; close it in place of its session. */
export class OnnxModel<S extends object = OrtSession> implements AsyncDisposable {
  /**
   * Use it like the `ort.InferenceSession` it stands for: `run` gives the very outputs that were asked for. `release`
   * closes the model.
   */
  readonly session: S;
  /** The layers, for `HookEngine`. */
  readonly source: ModelSource;
  readonly #plain: OrtSession;
  readonly #captures: readonly OnnxCapture[];
  readonly #settings: ProbeSettings;
  readonly #watches = new Set<LayerWatch>();
  readonly #own: ReadonlySet<string>;
  #probed: OrtSession | undefined;
  #troubles: readonly SourceTrouble[];
  #isTrusted = false;
  #isClosed = false;

  /** @internal */
  constructor(
    plain: OrtSession,
    probed: OrtSession | undefined,
    captures: readonly OnnxCapture[],
    settings: ProbeSettings,
  ) {
    this.#plain = plain;
    this.#probed = probed;
    this.#captures = captures;
    this.#settings = settings;
    this.#troubles = settings.troubles;
    this.#own = new Set(plain.outputNames);
    this.source = this.#createSource();
    // The proxy is the session it stands for, but for what it does when run and released.
    this.session = this.#createSession() as unknown as S;
  }

  /** Frees both sessions. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#plain.release();
    await this.#probed?.release();
    this.#probed = undefined;
  }

  [ASYNC_DISPOSE](): Promise<void> {
    return this.close();
  }

  #createSource(): ModelSource {
    return {
      framework: 'onnxruntime-web',
      layers: this.#captures.map(layerInfo),
      parameters: [],
      watchLayers: (watch) => {
        this.#watches.add(watch);
        return () => void this.#watches.delete(watch);
      },
      watchParameters: () => () => undefined,
      readParameter: (parameter) => {
        throw invalidInput('parameter', parameter, 'a parameter; an inference session has none');
      },
      inspect: () => {
        const found = this.#troubles;
        // Why there are no layers is to be told to all who ask.
        if (this.#captures.length > 0) this.#troubles = [];
        return found;
      },
    };
  }

  #createSession(): object {
    const run = (...args: RunArguments): Promise<OrtValues> => this.#run(args);
    return new Proxy(this.#plain, {
      get: (target, name) => {
        if (name === 'run') return run;
        if (name === 'release') return () => this.close();
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  async #run(args: RunArguments): Promise<OrtValues> {
    const watches = [...this.#watches].filter(({ isActive, forward }) => isActive && forward);
    const wanted = new Set(watches.flatMap(({ layers }) => [...layers]));
    const probed = this.#probed;
    if (probed === undefined || wanted.size === 0) return this.#plain.run(...args);
    const asked = askedOutputs(args, this.#plain.outputNames);
    // What onnxruntime refuses it is to refuse here too.
    if (asked === undefined) return this.#plain.run(...args);
    const outputs = await this.#runProbed(probed, args, asked, wanted).catch(toFailure);
    if (outputs instanceof FailedRun) {
      // Where the plain run fails as well, it is the caller's mistake, and the caller's error.
      const plain = await this.#plain.run(...args);
      this.#giveUp(watches, 'probe_failed', `its instrumented model fails (${outputs.message})`);
      return plain;
    }
    // Preallocated outputs are the caller's memory, which only a plain run uses. Random numbers and running means go on
    // from run to run, in each session by itself: the caller's are those of the plain one.
    const isTrusted = this.#isTrusted && asked.isPlain;
    const plain = isTrusted ? undefined : await this.#plain.run(...args);
    if (plain !== undefined && asked.isPlain && this.#settings.verify !== 'never') {
      const found = await compare(plain, outputs);
      if (found === 'different') {
        this.#giveUp(
          watches,
          'outputs_differ',
          'its instrumented model gives other outputs than the model itself, as happens on a device that has run out of a limit',
        );
        return plain;
      }
      this.#isTrusted = found === 'identical' && this.#settings.verify === 'first';
    }
    this.#show(watches, outputs);
    if (plain !== undefined) {
      for (const name of asked.names) disposeOnDevice(outputs[name]);
      return plain;
    }
    return Object.fromEntries(
      asked.names.flatMap((name) => {
        const value = outputs[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  #runProbed(
    probed: OrtSession,
    args: RunArguments,
    asked: AskedOutputs,
    wanted: ReadonlySet<number>,
  ): Promise<OrtValues> {
    const fetches = new Set(asked.names);
    for (const [index, { outputName }] of this.#captures.entries())
      if (wanted.has(index)) fetches.add(outputName);
    const call: RunArguments = [args[0], [...fetches]];
    if (asked.options !== undefined) call.push(asked.options);
    return probed.run(...call);
  }

  #show(watches: readonly LayerWatch[], outputs: OrtValues): void {
    for (const watch of watches) {
      for (const layer of watch.layers) {
        const name = this.#captures[layer]?.outputName ?? '';
        const tensor = outputs[name];
        // An output the caller keeps on a device is not brought to the host on our account.
        if (tensor === undefined || !isTensorOnHost(tensor)) continue;
        const callIndex = watch.beginCall(layer);
        const ref = hostRef(tensor);
        const { shape, dtype, data } = ref;
        const point = {
          layer,
          direction: 'forward',
          callIndex,
          outputIndex: 0,
          isTraining: this.#settings.isTraining,
        } as const;
        // What the caller gets may be written into by the caller: without `retain` it is copied.
        if (data !== undefined)
          watch.capture(point, this.#own.has(name) ? { shape, dtype, data } : ref);
      }
    }
  }

  #giveUp(watches: readonly LayerWatch[], reason: string, why: string): void {
    const probed = this.#probed;
    this.#probed = undefined;
    const message = `The layers of the ONNX model are no longer observed, because ${why}. The model itself runs as before.`;
    for (const watch of watches) watch.warn({ reason, message });
    probed?.release().catch(() => undefined);
  }
}

class FailedRun {
  readonly message: string;

  constructor(error: unknown) {
    this.message = messageOf(error);
  }
}

const toFailure = (error: unknown): FailedRun => new FailedRun(error);

async function compare(plain: OrtValues, probed: OrtValues): Promise<Agreement> {
  let worst: Agreement = 'identical';
  for (const [name, tensor] of Object.entries(plain)) {
    const other = probed[name];
    const found = other === undefined ? 'different' : await agreement(tensor, other);
    if (found === 'different') return found;
    if (found === 'close') worst = found;
  }
  return worst;
}

function disposeOnDevice(tensor: OrtTensor | undefined): void {
  if (tensor !== undefined && !isTensorOnHost(tensor)) tensor.dispose();
}

function layerInfo({ layerName, layerType, unitAxis }: OnnxCapture): LayerInfo {
  return {
    name: layerName,
    type: layerType.slice(layerType.lastIndexOf('.') + 1),
    qualifiedType: layerType,
    isLeaf: true,
    unitAxis,
  };
}
