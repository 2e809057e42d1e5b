/** How a log ends: the error that broke a training off is the last thing a program prints. */
import type { RunSink } from '../sink/importer.ts';

/** An error after the last values that were read. */
export type LogError = {
  /** Class of the error: `torch.cuda.OutOfMemoryError`. */
  readonly name: string;
  /** Its line: class and message. */
  readonly message: string;
};

/** The head of a traceback, with the rank in front that torchrun writes; blanks in front are of a nested text. */
const TRACEBACK = /^(?:\[rank\d{1,6}\]:\s?)?Traceback \(most recent call last\):\s*$/;
/** Lines of the stack are set in. */
const STACK = /^(?:\[rank\d{1,6}\]:)?(?:\s{2}|\s*$)/;
/** The last line of a traceback. */
const ERROR = /^(?:\[rank\d{1,6}\]:\s?)?(?<name>[A-Za-z_][\w.]{0,200})(?::\s(?<message>.*))?$/;
/** Python prints the traceback of an error that it goes on after. */
const IGNORED = /^Exception ignored in/;
/** What a program prints that caught the error and went on. */
const FINISHED = /\b(?:done|finish(?:ed|ing)|complete(?:d)?|sav(?:ed|ing))\b/i;
/** Programs print these after an error, too. */
const AFTERWARDS = /^wandb:/;
const STOPPED = 'KeyboardInterrupt';
/** What torchrun raises after the error of a rank, which says more. */
const ABOUT_ANOTHER = /(?:^|\.)ChildFailedError$/;
const MAX_CHARS = 2000;

/** Takes the lines of a log in their order. */
export class LogEnding {
  #error: LogError | undefined;
  #isInside = false;
  #isIgnored = false;

  /** Takes a line; true where it is of a traceback: `KeyError: 17` is no value of a metric. */
  isTrace(line: string): boolean {
    if (TRACEBACK.test(line)) {
      this.#isInside = true;
      return true;
    }
    if (!this.#isInside) return false;
    if (STACK.test(line)) return true;
    this.#isInside = false;
    return this.#close(line);
  }

  /** Takes a line of no traceback that has no values. */
  pass(line: string): void {
    if (FINISHED.test(line) && !AFTERWARDS.test(line)) this.#error = undefined;
    this.#isIgnored = IGNORED.test(line);
  }

  /** The error after which nothing was read; what follows is after it no more. */
  end(): LogError | undefined {
    const error = this.#error;
    this.#error = undefined;
    this.#isInside = false;
    return error;
  }

  /** The first line that is not set in names the error. */
  #close(line: string): boolean {
    const groups = ERROR.exec(line.slice(0, MAX_CHARS))?.groups;
    const isIgnored = this.#isIgnored;
    this.#isIgnored = false;
    if (groups?.['name'] === undefined) return false;
    if (isIgnored || (this.#error !== undefined && ABOUT_ANOTHER.test(groups['name']))) return true;
    const message = groups['message'] === undefined ? '' : `: ${groups['message'].trim()}`;
    this.#error = { name: groups['name'], message: `${groups['name']}${message}` };
    return true;
  }
}

/** Says of a run that it was broken off by the error. */
export function breakOff(sink: RunSink, { message, name }: LogError): void {
  const isStopped = name === STOPPED;
  sink.status(isStopped ? 'interrupted' : 'failed');
  sink.event({
    eventType: isStopped ? 'run_interrupted' : 'run_failed',
    severity: isStopped ? 'warning' : 'error',
    payload: { error: name, message },
  });
}
