/** Sinks that are functions: any function, and one that prints. */
import { invalidInput } from '../base/errors.ts';
import type { Sink, SinkBatch } from './sink.ts';

const NAME = /^[a-z][a-z0-9_-]{0,63}$/;

/** The name of a sink. @throws {QuarkError} `invalid_input` */
export function checkSinkName(field: string, value: unknown): string {
  if (typeof value !== 'string' || !NAME.test(value))
    throw invalidInput(field, value, 'a lowercase letter, then letters, digits, "_" and "-"');
  return value;
}

/**
 * Gives each batch to a function. What it throws, or rejects with, is told, and the same batch comes again with `isRepeated`.
 *
 * @param name what its position with the run is stored under
 * @throws {QuarkError} `invalid_input`
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { functionSink, mirrorRun } from 'quark-sdk/tracker';
 *
 * const sent = [];
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => {
 *   mirrorRun(session, functionSink('queue', ({ scalars }) => void sent.push(...Array.from(scalars.values))));
 *   new MetricsLogger(session).logColumns('train/loss', [0, 1], [0.9, 0.5]);
 * });
 * console.log(sent); // [ 0.9, 0.5 ]
 * ```
 */
export function functionSink(name: string, send: (batch: SinkBatch) => Promise<void> | void): Sink {
  checkSinkName('name', name);
  if (typeof send !== 'function') throw invalidInput('send', send, 'a function');
  return {
    name,
    write: async (batch) => {
      await send(batch);
    },
  };
}

/**
 * Prints a line a step, when it is over: `step 12: loss 0.31, accuracy 0.9`. Texts, images and sounds have a line each, distributions none.
 *
 * @param write gets each line; default `console.log`
 * @example
 * ```js
 * import { MetricsLogger, TrainingSession } from 'quark-sdk';
 * import { lineSink, mirrorRun } from 'quark-sdk/tracker';
 *
 * const lines = [];
 * await TrainingSession.run({ project: 'digits', storageDir: 'quark-runs' }, (session) => {
 *   mirrorRun(session, lineSink((line) => lines.push(line)));
 *   new MetricsLogger(session).logMany({ loss: 0.31, accuracy: 0.9 }, { step: 12 });
 * });
 * console.log(lines); // [ 'step 12: loss 0.31, accuracy 0.9' ]
 * ```
 */
export function lineSink(
  write: (line: string) => void = (line) => {
    // oxlint-disable-next-line no-console -- a tracker that prints is asked for
    console.log(line);
  },
): Sink {
  if (typeof write !== 'function') throw invalidInput('write', write, 'a function');
  return {
    name: 'console',
    write: (batch) => {
      for (const line of linesOf(batch)) write(line);
      return Promise.resolve();
    },
  };
}

/** What a batch prints as. */
export function linesOf({
  images,
  parameters,
  scalars,
  sounds,
  texts,
}: SinkBatch): readonly string[] {
  const lines = parameters === null ? [] : [`parameters: ${JSON.stringify(parameters)}`];
  const steps = new Map<string, string[]>();
  for (let row = 0; row < scalars.rowCount; row++) {
    const key = scalars.keys[scalars.keyIndex[row] ?? 0] ?? '';
    const [step, epoch] = [scalars.steps[row] ?? Number.NaN, scalars.epochs[row] ?? Number.NaN];
    const at = Number.isNaN(step)
      ? Number.isNaN(epoch)
        ? 'run'
        : `epoch ${epoch}`
      : `step ${step}`;
    const values = steps.get(at) ?? [];
    steps.set(at, values);
    values.push(`${key} ${shortNumber(scalars.values[row] ?? Number.NaN)}`);
  }
  for (const [at, values] of steps) lines.push(`${at}: ${values.join(', ')}`);
  const add = (step: number | null, key: string, what: string): void =>
    void lines.push(`${step === null ? 'run' : `step ${step}`}: ${key}: ${what}`);
  for (const { key, step, text } of texts) add(step, key, printable(text));
  for (const { height, key, step, width } of images)
    add(step, key, `an image of ${width} x ${height} pixels`);
  for (const { bytes, key, step } of sounds) add(step, key, `a sound of ${bytes.length} bytes`);
  return lines;
}

function shortNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

/** One line, without what moves the cursor of a terminal. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
