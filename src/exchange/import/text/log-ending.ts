/** How a log ends: what broke a training off is the last thing that a program, its shell or its scheduler prints. */
import type { RunSink } from '../sink/importer.ts';
import { stopIn, type Stop } from './stop-lines.ts';

/** The head of a traceback, with the rank in front that torchrun writes; blanks in front are of a nested text. */
const TRACEBACK = /^(?:\^C)*(?:\[rank\d{1,6}\]:\s?)?Traceback \(most recent call last\):\s*$/;
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
/** What is printed behind an error while a process ends; lines that are set in are of its stack. */
const AT_EXIT = /^(?:\s|$|wandb:|Node\.js v|at |srun:|slurmstepd:|\[W|[WI]\d{4} )/;
const MAX_CHARS = 2000;

/** What a C++ program prints of the error that ends it, in a line of its own. */
const WHAT = /^\s{1,8}what\(\):\s{1,8}(?<message>.{1,1500})$/;

/** Takes the lines of a log in their order. */
export class LogEnding {
  #stop: Stop | undefined;
  #isInside = false;
  #isIgnored = false;

  /** Takes a line; true where it is about an error or the end of the process: `KeyError: 17` is no value of a metric. */
  isTrace(line: string): boolean {
    if (TRACEBACK.test(line)) {
      this.#isInside = true;
      return true;
    }
    if (this.#isInside) {
      if (STACK.test(line)) return true;
      this.#isInside = false;
      return this.#close(line);
    }
    const what = this.#stop === undefined ? undefined : WHAT.exec(line)?.groups?.['message'];
    if (what !== undefined && this.#stop !== undefined) {
      this.#stop = { ...this.#stop, message: what };
      return true;
    }
    return this.#take(stopIn(line));
  }

  /** Takes a line of no traceback that has no values. */
  pass(line: string): void {
    const isEnd = FINISHED.test(line) && !AFTERWARDS.test(line);
    const isGoneOn = isEnd ? this.#stop?.isFinal !== true : this.#stop?.isLone === true;
    if (isGoneOn && !AT_EXIT.test(line)) this.#stop = undefined;
    this.#isIgnored = IGNORED.test(line);
  }

  /** What stopped the process, where nothing was read after it; what follows is after it no more. */
  end(): Stop | undefined {
    const stop = this.#stop;
    this.#stop = undefined;
    this.#isInside = false;
    return stop;
  }

  /** The first line that is not set in names the error. */
  #close(line: string): boolean {
    const groups = ERROR.exec(line.slice(0, MAX_CHARS))?.groups;
    const name = groups?.['name'];
    if (name === undefined) {
      this.#isIgnored = false;
      return false;
    }
    const { message } = groups ?? {};
    return this.#take({
      name,
      message: `${name}${message === undefined ? '' : `: ${message.trim()}`}`,
      status: name === STOPPED ? 'interrupted' : 'failed',
      isFinal: false,
      isLone: false,
    });
  }

  /** Of errors one after another the last counts; what only says that another failed, or that the process is gone, adds nothing. */
  #take(stop: Stop | undefined): boolean {
    const isIgnored = this.#isIgnored;
    this.#isIgnored = false;
    if (stop === undefined) return false;
    const known = this.#stop;
    if (isIgnored || (known !== undefined && addsNothing(stop))) return true;
    // The errors of a program that was told to end are no cause of it.
    if (known?.status === 'interrupted' && known.isFinal && !stop.isFinal) return true;
    this.#stop = known?.isFinal === true ? { ...stop, isFinal: true } : stop;
    return true;
  }
}

function addsNothing({ name }: Stop): boolean {
  return ABOUT_ANOTHER.test(name) || /^(?:exit code|Terminated|Aborted|Killed)$/.test(name);
}

/** Says of a run that it was broken off. */
export function breakOff(sink: RunSink, { message, name, status }: Stop): void {
  const isStopped = status === 'interrupted';
  sink.status(status);
  sink.event({
    eventType: isStopped ? 'run_interrupted' : 'run_failed',
    severity: isStopped ? 'warning' : 'error',
    payload: { error: name, message },
  });
}
