/** What a tool of `quark mcp` is, and how it reads its arguments and bounds its answer. */
import { QuarkError, type JsonObject, type JsonValue, type Store } from '../../index.ts';

/** A tool that an assistant can call. */
export type McpTool = {
  readonly name: string;
  readonly title: string;
  /** For the assistant: what it is for, and when. */
  readonly description: string;
  /** JSON Schema of an argument each. */
  readonly properties: Readonly<Record<string, JsonObject>>;
  readonly required: readonly string[];
  /** Whether it changes what is stored: such tools are offered with `--allow-write` only. */
  readonly isWriting: boolean;
  readonly run: (store: Store, args: ToolArguments) => Promise<JsonValue>;
};

/** Arguments as an assistant gave them, checked one by one. */
export class ToolArguments {
  readonly #given: Readonly<Record<string, unknown>>;

  /** @throws {QuarkError} `invalid_input` for an argument that the tool does not have */
  constructor(tool: McpTool, given: Readonly<Record<string, unknown>>) {
    for (const name of Object.keys(given))
      if (!Object.hasOwn(tool.properties, name))
        throw refused(name, given[name], `one of ${Object.keys(tool.properties).join(', ')}`);
    this.#given = given;
  }

  /** @throws {QuarkError} `invalid_input` when it is no text, or is missing */
  text(name: string): string {
    const found = this.optionalText(name);
    if (found === undefined) throw refused(name, undefined, 'a text');
    return found;
  }

  optionalText(name: string): string | undefined {
    const value = this.#given[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'string') throw refused(name, value, 'a text');
    return value;
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#given[name];
    if (value === undefined || value === null) return undefined;
    if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
      throw refused(name, value, 'a list of texts');
    return value;
  }

  /** A whole number from 1 to `most`. */
  count(name: string, unlessGiven: number, most: number): number {
    const value = this.#given[name] ?? unlessGiven;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
      throw refused(name, value, `a whole number from 1 to ${most}`);
    return value;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#given[name];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw refused(name, value, 'a finite number');
    return value;
  }

  flag(name: string, unlessGiven: boolean): boolean {
    const value = this.#given[name] ?? unlessGiven;
    if (typeof value !== 'boolean') throw refused(name, value, 'true or false');
    return value;
  }
}

/** A refusal that names the argument, the value and the rule. */
export function refused(field: string, value: unknown, rule: string): QuarkError {
  const shown = JSON.stringify(value) ?? 'nothing';
  return new QuarkError('invalid_input', `${field} is to be ${rule}; got ${shown.slice(0, 200)}`, {
    details: { field, value: shown.slice(0, 200), rule },
  });
}

const DIGITS = 6;

/** A number as a model reads it: few digits; NaN and Infinity by name. */
export function shownNumber(value: number): number | string {
  return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : String(value);
}

/** A text of at most `most` characters. */
export function shownText(text: string, most: number = 2000): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;
}

/** An answer in which a list is cut so that the whole has at most `most` characters; `left_out` says how many items that left out. */
export function fitted(
  answer: { readonly [name: string]: JsonValue },
  listName: string,
  items: readonly JsonValue[],
  most: number = 24_000,
): JsonValue {
  let room = most - JSON.stringify(answer).length;
  let count = 0;
  for (const item of items) {
    room -= JSON.stringify(item).length + 1;
    if (room < 0 && count > 0) break;
    count += 1;
  }
  const left = items.length - count;
  return {
    ...answer,
    [listName]: items.slice(0, count),
    ...(left > 0 && { left_out: left }),
  };
}
