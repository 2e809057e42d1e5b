/** Parts that the patterns of text logs are made of. Every repetition has a bound, so that no line takes long. */
import type { TextLogPattern } from '../sink/importer.ts';

/** A number with bounds on its digits. */
export const NUMBER = String.raw`[-+]?(?:(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,5})?|[nN]a[nN]|NAN|[iI]nf(?:inity)?|INF)`;
/** What may be directly after a number: a unit, but neither more digits nor another part of a date or a path. */
export const END = String.raw`(?:%|ms|s|x)?(?![\w:/-]|\.\d)`;
/** A counter. */
export const COUNT = String.raw`\d{1,16}`;
/** What loggers write in front of a line: a time, a level, the name of a module. */
export const PREFIX = String.raw`^(?:.{0,200}?[\]\s:|)-])?`;

/** A known program: beside what a user's pattern has, what only the known ones need. */
export type ProgramPattern = TextLogPattern & {
  /** Lines that are states of one bar, of which the last counts: those that share a name here. */
  readonly bar?: string | undefined;
  /** The name of values of `pairs` that have none: they are numbered. */
  readonly items?: string | undefined;
  /** What the group `step` counts where it is no step of the optimizer. */
  readonly stepUnit?: 'samples' | undefined;
  /** Put before the names of metrics as it is. */
  readonly prefix?: string | undefined;
  /** Whether the line is about the end of its epoch, and so at the last step that was read of it. */
  readonly isEndOfEpoch?: boolean | undefined;
  /** Whether other programs write such a line, too: it does not tell which one wrote the log. */
  readonly isCommon?: boolean | undefined;
};

/** A pattern that is found once in a line. */
export function pattern(source: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  return new RegExp(String.raw({ raw: source.raw }, ...parts));
}

/** A pattern that is found again and again. */
export function pairs(source: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  return new RegExp(String.raw({ raw: source.raw }, ...parts), 'g');
}
