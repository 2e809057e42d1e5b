/** Runs a file of the matrix through every stage: what a user of the package does with it, one after the other. */
import * as ort from 'onnxruntime-web';
import { isQuarkError, messageOf } from '../../src/base/errors.ts';
import {
  buildOnnxTraining,
  freeOnnxBatch,
  joinOnnxData,
  openOnnxModel,
  openOnnxTrainer,
  type OnnxTrainer,
} from '../../src/onnx.ts';
import { KeptLayers } from '../support/layer-watch.ts';
import { withDataOutside } from './data-outside.ts';
import { configOf, targetFeed, tensorOf } from './case-feeds.ts';
import { gradientError } from './gradient-stage.ts';
import type { ModelCase } from './model-case.ts';

/** The stages in the order in which they are run. */
export const STAGES = [
  'opens',
  'looks inside',
  'trains',
  'loss goes down',
  'gradient right',
  'exports',
  'export runs alike',
] as const;
export type Stage = (typeof STAGES)[number];

/** What came of a file. */
export type CaseResult = {
  readonly name: string;
  readonly exporter: string;
  /** What was found, or why it failed; stages that were not reached are missing. */
  readonly found: Readonly<Partial<Record<Stage, string>>>;
  readonly failed: Stage | null;
  /** Of a file that cannot be trained: what it is told. */
  readonly refusal: string | null;
};

const QUIET = { logSeverityLevel: 3 } as const;
const STEPS = 20;
/** Largest error of a gradient, by its largest component. */
const GRADIENT_TOLERANCE = 1e-3;

class Failure extends Error {}
const check = (isTrue: boolean, what: string): void => {
  if (!isTrue) throw new Failure(what);
};

const feedsOf = (test: ModelCase): Record<string, ort.Tensor> =>
  Object.fromEntries(
    Object.entries(test.feeds).map(([name, feed]) => [name, tensorOf(name, feed)]),
  );

async function plainRun(bytes: Uint8Array, feeds: Record<string, ort.Tensor>) {
  const session = await ort.InferenceSession.create(bytes, QUIET);
  try {
    const wanted = Object.fromEntries(
      session.inputNames.flatMap((name) => {
        const tensor = feeds[name];
        return tensor === undefined ? [] : [[name, tensor] as const];
      }),
    );
    const outputs = await session.run(wanted);
    return { outputs, inputNames: session.inputNames, outputNames: session.outputNames };
  } finally {
    await session.release();
  }
}

/** Largest difference by the largest number; NaN where one is not finite, or sizes differ. */
function difference(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  if (found.length !== wanted.length || wanted.length === 0) return Number.NaN;
  let largest = 1e-6;
  let most = 0;
  for (let i = 0; i < wanted.length; i += 1) {
    const [p = Number.NaN, q = Number.NaN] = [found[i], wanted[i]];
    if (!Number.isFinite(p) || !Number.isFinite(q)) return Number.NaN;
    largest = Math.max(largest, Math.abs(q));
    most = Math.max(most, Math.abs(p - q));
  }
  return most / largest;
}

const floatsOf = (tensor: { readonly data: unknown } | undefined): Float32Array => {
  check(tensor?.data instanceof Float32Array, 'gives no float32 numbers');
  return tensor?.data instanceof Float32Array ? tensor.data : new Float32Array();
};

const short = (value: number): string =>
  value === 0 ? '0' : value < 0.001 ? value.toExponential(0) : value.toPrecision(3);

class CaseRun {
  readonly found: Partial<Record<Stage, string>> = {};
  readonly #test: ModelCase;
  #bytes: Uint8Array<ArrayBuffer>;
  #refusal: string | null = null;

  constructor(test: ModelCase) {
    this.#test = test;
    this.#bytes = test.make();
  }

  async result(): Promise<CaseResult> {
    const { name, exporter } = this.#test;
    let failed: Stage | null = null;
    let stage: Stage = 'opens';
    try {
      for (stage of STAGES) {
        this.found[stage] = await this.#run(stage);
        if (this.#refusal !== null) break;
      }
    } catch (error) {
      failed = stage;
      this.found[stage] = messageOf(error);
    } finally {
      await this.#trainer?.close();
    }
    return { name, exporter, found: this.found, failed, refusal: this.#refusal };
  }

  #trainer: OnnxTrainer | undefined;
  #original: Awaited<ReturnType<typeof plainRun>> | undefined;
  #exported = new Uint8Array();

  #run(stage: Stage): Promise<string> {
    switch (stage) {
      case 'opens':
        return this.#opens();
      case 'looks inside':
        return this.#looksInside();
      case 'trains':
        return this.#trains();
      case 'loss goes down':
        return this.#lossGoesDown();
      case 'gradient right':
        return this.#gradientRight();
      case 'exports':
        return this.#exports();
      case 'export runs alike':
        return this.#runsAlike();
    }
  }

  async #opens(): Promise<string> {
    const { isFreed = false, isSplit = false } = this.#test;
    if (isSplit) {
      const { model, data } = withDataOutside(this.#bytes);
      this.#bytes = await joinOnnxData(model, () => data);
    }
    if (isFreed) this.#bytes = await freeOnnxBatch(ort, this.#bytes, { sessionOptions: QUIET });
    this.#original = await plainRun(this.#bytes, feedsOf(this.#test));
    if (isSplit) return 'joined';
    return isFreed ? 'freed' : 'yes';
  }

  async #looksInside(): Promise<string> {
    const model = await openOnnxModel(ort, this.#bytes, { strict: true, sessionOptions: QUIET });
    try {
      const watch = new KeptLayers(model.source);
      const outputs = await model.session.run(feedsOf(this.#test));
      for (const name of this.#original?.outputNames ?? []) {
        const [p, q] = [outputs[name]?.data, this.#original?.outputs[name]?.data];
        if (p instanceof Float32Array && q instanceof Float32Array)
          check(difference(p, q) < 1e-5, `the probed run gives another "${name}"`);
      }
      check(watch.seen.size > 0, 'no layer was seen');
      for (const { message } of watch.troubles)
        check(this.#test.notObserved?.test(message) === true, message);
      return `${watch.seen.size} layers`;
    } finally {
      await model.close();
    }
  }

  async #trains(): Promise<string> {
    const { refused } = this.#test;
    try {
      const training = buildOnnxTraining(this.#bytes, configOf(this.#test));
      this.#trainer = await openOnnxTrainer(ort, training, { sessionOptions: QUIET });
      if (refused === undefined) return await this.#agreesBefore(training.prediction);
    } catch (error) {
      if (refused === undefined || !isQuarkError(error)) throw error;
      const { code, message } = error;
      check(code === refused.code && refused.message.test(message), `is refused with: ${message}`);
      this.#refusal = message;
      return 'refused';
    }
    throw new Failure('is trained, and should be refused');
  }

  /** What the training computes before the first step is what the file computes in onnxruntime. */
  async #agreesBefore(prediction: string): Promise<string> {
    const predicted = await this.#trainer?.predict(feedsOf(this.#test));
    const plain = this.#original?.outputs[this.#test.shownAs ?? prediction];
    const apart = difference(floatsOf(predicted), floatsOf(plain));
    check(
      apart < (this.#test.exportTolerance ?? 1e-4),
      `predicts otherwise than the file: ${apart}`,
    );
    return 'yes';
  }

  async #lossGoesDown(): Promise<string> {
    const losses: number[] = [];
    const batch = {
      ...feedsOf(this.#test),
      [this.#target()]: tensorOf('targets', targetFeed(this.#test)),
    };
    for (let step = 0; step <= STEPS; step += 1)
      losses.push((await this.#trainer?.step(batch)) ?? Number.NaN);
    const [first = Number.NaN, last = Number.NaN] = [losses[0], losses.at(-1)];
    const said = `${short(first)} to ${short(last)}`;
    check(last < first * 0.98, `the loss went from ${said}`);
    return said;
  }

  #target(): string {
    return buildOnnxTraining(this.#bytes, configOf(this.#test)).target.name;
  }

  async #gradientRight(): Promise<string> {
    const { error, where, count } = await gradientError(this.#bytes, this.#test);
    check(error < GRADIENT_TOLERANCE, `the gradient of ${where} is ${error} apart`);
    return `${short(error)} (${count})`;
  }

  async #exports(): Promise<string> {
    this.#exported = (await this.#trainer?.exportModel()) ?? this.#exported;
    check(this.#exported.length > 0, 'nothing was saved');
    return `${Math.ceil(this.#exported.length / 1024)} KiB`;
  }

  async #runsAlike(): Promise<string> {
    const { prediction } = buildOnnxTraining(this.#bytes, configOf(this.#test));
    const feeds = feedsOf(this.#test);
    const saved = await plainRun(this.#exported, feeds);
    const [names, own] = [saved.outputNames.join(), this.#original?.outputNames.join()];
    check(names === own, `its outputs are ${names}, and were ${own}`);
    check(saved.inputNames.join() === this.#original?.inputNames.join(), 'its inputs are others');
    const shown = this.#test.shownAs ?? prediction;
    const before = this.#original?.outputs[shown]?.data;
    const predicted = floatsOf(await this.#trainer?.predict(feeds));
    const apart = difference(floatsOf(saved.outputs[shown]), predicted);
    check(apart < (this.#test.exportTolerance ?? 1e-4), `it gives ${apart} of the largest more`);
    check(before instanceof Float32Array, 'the file had no such output');
    if (before instanceof Float32Array)
      check(difference(before, predicted) > 0, 'it is what it was before the training');
    return short(apart);
  }
}

/** Runs one file through all stages. */
export function runCase(test: ModelCase): Promise<CaseResult> {
  return new CaseRun(test).result();
}
