/** Declared options, parsed by `node:util` and checked; and the help text that follows from them. */
import { parseArgs } from 'node:util';
import { textWidth } from './text.ts';
import { closestTo } from '../../base/texts/closest.ts';

/** One option of a command. */
export type OptionSpec = {
  readonly kind: 'flag' | 'text' | 'list' | 'count';
  /** Name of the value in the help text, such as `DIR`. */
  readonly value?: string;
  readonly help: string;
  /** Values that are allowed; any unless given. */
  readonly choices?: readonly string[];
  /** Largest value of a count. */
  readonly max?: number;
};

/** What a command takes. */
export type CommandSpec = {
  readonly name: string;
  /** What it is for, in one line. */
  readonly summary: string;
  /** Names of the positional arguments; those in brackets may be left out, the last may end in "..." for one or more. */
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Paragraphs at the end of the help text. */
  readonly notes?: readonly string[];
};

/** What the user gave. Each getter takes an option of the matching kind. */
export class ParsedArgs {
  readonly positionals: readonly string[];
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(positionals: readonly string[], values: ReadonlyMap<string, unknown>) {
    this.positionals = positionals;
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : undefined;
  }

  list(name: string): readonly string[] | undefined {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value.map(String) : undefined;
  }

  count(name: string): number | undefined {
    const value = this.#values.get(name);
    return typeof value === 'number' ? value : undefined;
  }
}

/** The command line does not make sense; the message says what to write instead. */
export class UsageError extends Error {
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.name = 'UsageError';
    this.command = command;
  }
}

/** @throws {UsageError} */
export function parseCommand(spec: CommandSpec, args: readonly string[]): ParsedArgs {
  const options: Record<string, { type: 'boolean' | 'string'; multiple: boolean }> = {};
  for (const [name, { kind }] of Object.entries(spec.options)) {
    options[name] = { type: kind === 'flag' ? 'boolean' : 'string', multiple: kind === 'list' };
  }
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({
      args: withNegatives(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    // Node's messages name the option; what follows the first sentence is about writing positionals.
    const text = error instanceof Error ? error.message : String(error);
    const [, dashed] = /^Option '(?:-\w, )?(--[\w-]+)'? argument is ambiguous/.exec(text) ?? [];
    if (dashed !== undefined)
      throw new UsageError(
        `${dashed} needs a value; what follows it begins with a dash. Write ${dashed}=VALUE if that is the value`,
        spec.name,
      );
    const [, unknown = ''] = /^Unknown option '--([\w-]+)/.exec(text) ?? [];
    const closest = closestTo(unknown, Object.keys(options));
    const advice = closest === undefined ? '' : `. Did you mean --${closest}?`;
    throw new UsageError(`${text.split('. ')[0] ?? text}${advice}`, spec.name);
  }
  const { values, positionals } = parsed;
  const required = spec.positionals.filter((name) => !name.startsWith('['));
  if (positionals.length < required.length) {
    throw new UsageError(
      `"quark ${spec.name}" needs ${required.slice(positionals.length).join(' and ')}`,
      spec.name,
    );
  }
  const takesMore = spec.positionals.at(-1)?.endsWith('...') === true;
  if (positionals.length > spec.positionals.length && !takesMore) {
    throw new UsageError(
      `Unexpected argument "${positionals[spec.positionals.length] ?? ''}"`,
      spec.name,
    );
  }
  const checked = new Map<string, unknown>();
  for (const [name, option] of Object.entries(spec.options)) {
    if (values[name] !== undefined)
      checked.set(name, checkOption(spec, name, option, values[name]));
  }
  return new ParsedArgs(positionals, checked);
}

/** `--days -3` as `--days=-3`, so that the option refuses the number and not Node the dash. */
function withNegatives(
  args: readonly string[],
  options: Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>,
): string[] {
  const end = args.indexOf('--');
  const joined: string[] = [];
  for (const [i, arg] of args.entries()) {
    const before = joined.at(-1) ?? '';
    const isValue =
      /^-\d/.test(arg) &&
      (end < 0 || i < end) &&
      before.startsWith('--') &&
      options[before.slice(2)]?.type === 'string';
    if (isValue) joined[joined.length - 1] = `${before}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

function checkOption(spec: CommandSpec, name: string, option: OptionSpec, value: unknown): unknown {
  for (const item of Array.isArray(value) ? value : [value]) {
    if (option.choices !== undefined && !option.choices.includes(String(item))) {
      throw new UsageError(
        `--${name} must be one of ${option.choices.join(', ')}; got "${String(item)}"`,
        spec.name,
      );
    }
    if (item === '') throw new UsageError(`--${name} must not be empty`, spec.name);
  }
  if (option.kind !== 'count') return value;
  const text = String(value);
  const number = Number(text);
  const max = option.max ?? Number.MAX_SAFE_INTEGER;
  if (!/^\d+$/.test(text) || number > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? '0 or more' : `from 0 to ${max}`;
    throw new UsageError(`--${name} must be a whole number, ${range}; got "${text}"`, spec.name);
  }
  return number;
}

/** `quark NAME ARGUMENTS [options]` */
export function usageLine(spec: CommandSpec): string {
  return ['quark', spec.name, ...spec.positionals, '[options]'].join(' ');
}

const HELP_OPTION: OptionSpec = { kind: 'flag', help: 'Show this text.' };

/** The help text of a command. */
export function helpText(spec: CommandSpec): string {
  const rows = Object.entries({
    ...spec.options,
    help: HELP_OPTION,
  }).map(([name, option]): [string, string] => [
    `--${name}${option.kind === 'flag' ? '' : ` ${option.value ?? 'VALUE'}`}`,
    optionHelp(option),
  ]);
  const notes = (spec.notes ?? []).map((note) => `${note}\n`);
  return [
    `${spec.summary}\n`,
    `Usage: ${usageLine(spec)}\n`,
    `Options:\n${columns(rows)}`,
    ...notes,
  ].join('\n');
}

/** Two columns, the first as wide as its widest cell. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => textWidth(left)));
  return rows
    .map(([left, right]) => `  ${left}${' '.repeat(width - textWidth(left))}  ${right}\n`)
    .join('');
}

function optionHelp(option: OptionSpec): string {
  const choices = option.choices === undefined ? '' : ` One of ${option.choices.join(', ')}.`;
  return `${option.help}${choices}${option.kind === 'list' ? ' May be repeated.' : ''}`;
}
