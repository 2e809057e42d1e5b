/**
 * Options, declared once: a rule for each name gives its check and its default, and the names that are known, the type of the
 * settings and the errors derive from it.
 *
 *     const settings = readOptions('options', options, {
 *       buckets: positive(1_000),
 *       join: literal(JOINS, 'inner'),
 *       signal: asGiven,
 *     });
 */
import {
  checkCount,
  checkFlag,
  checkLiteral,
  checkOptionNames,
  checkPositive,
  isGiven,
} from './assert.ts';
import { invalidInput } from './errors.ts';

/** Checks the value of an option and gives the setting; undefined asks for the default. */
export type OptionRule<V, S> = (field: string, value: V) => S;

type Rules<T> = { readonly [K in keyof T]-?: OptionRule<T[K], unknown> };
type Settings<R> = { readonly [K in keyof R]: R[K] extends OptionRule<never, infer S> ? S : never };

/**
 * The settings that options ask for.
 *
 * @param what the name of the argument, as errors name it
 * @param rules one for every option of `T`: the compiler finds what is missing
 * @param prefix what errors put before the name of an option; default `what` and a dot
 * @throws {QuarkError} `invalid_input` that names the option: an unknown name, or a value its rule refuses
 */
export function readOptions<T extends object, const R extends Rules<T>>(
  what: string,
  given: T | undefined,
  rules: R & Rules<T>,
  prefix?: string,
): Settings<R>;
export function readOptions(
  what: string,
  given: Readonly<Record<string, unknown>> = {},
  rules: Readonly<Record<string, OptionRule<unknown, unknown>>>,
  prefix = `${what}.`,
): Record<string, unknown> {
  checkOptionNames(what, given, Object.keys(rules));
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, rule(`${prefix}${name}`, given[name])]),
  );
}

/** A value that needs no check here. */
export const asGiven = <V>(_field: string, value: V): V => value;

/** A value with a default that needs no other check. */
export const asGivenOr =
  <D>(fallback: D) =>
  <V>(_field: string, value: V): Exclude<V, undefined> | D => {
    return isDefined(value) ? value : fallback;
  };

/** `rule` where a value was given, else undefined. */
export const optional =
  <V, S>(rule: OptionRule<V, S>) =>
  (field: string, value: V | undefined): S | undefined =>
    isDefined<V | undefined>(value) ? rule(field, value) : undefined;

/** `rule` where a value that is not null was given; null stays null. */
export const orNull =
  <V, S, D = null>(rule: OptionRule<V, S>, fallback: D | null = null) =>
  (field: string, value: V | null | undefined): S | D | null => {
    if (value === undefined) return fallback;
    return value === null ? null : rule(field, value);
  };

/** `rule` where a value was given, else `fallback`. Null means that none was: see {@link isGiven}. */
export const orDefault =
  <V, S, const D>(rule: OptionRule<V, S>, fallback: D) =>
  (field: string, value: V | null | undefined): S | D =>
    isGiven(value) ? rule(field, value) : fallback;

/** One of a list of texts. */
export const literal =
  <const L extends string, const D extends L | null = never>(known: readonly L[], fallback?: D) =>
  (field: string, value: unknown): L | D =>
    value === undefined && fallback !== undefined ? fallback : checkLiteral(field, value, known);

/** True or false. */
export const flag =
  (fallback?: boolean) =>
  (field: string, value: unknown): boolean =>
    checkFlag(field, value === undefined ? fallback : value);

/** An integer from 0 on. */
export const count =
  (fallback?: number) =>
  (field: string, value: unknown): number =>
    checkCount(field, value === undefined ? fallback : value);

/** An integer from 1 on. */
export const positive =
  (fallback?: number) =>
  (field: string, value: unknown): number =>
    checkPositive(field, value === undefined ? fallback : value);

/** A number that `accepts` likes; `rule` says which those are. */
export const numberWhere =
  (accepts: (value: number) => boolean, rule: string, fallback?: number) =>
  (field: string, value: unknown): number => {
    const chosen = value === undefined ? fallback : value;
    if (typeof chosen !== 'number' || !accepts(chosen)) throw invalidInput(field, chosen, rule);
    return chosen;
  };

/** A text that `accepts` likes; `rule` says which those are. Default: any text that is not empty. */
export const text =
  (
    fallback?: string,
    rule = 'a text that is not empty',
    accepts = (value: string) => value !== '',
  ) =>
  (field: string, value: unknown): string => {
    const chosen = value === undefined ? fallback : value;
    if (typeof chosen !== 'string' || !accepts(chosen)) throw invalidInput(field, chosen, rule);
    return chosen;
  };

/** A function. */
export const callable = <V>(field: string, value: V): V => {
  if (typeof value !== 'function') throw invalidInput(field, value, 'a function');
  return value;
};

function isDefined<V>(value: V): value is Exclude<V, undefined> {
  return value !== undefined;
}
