/** Cuts secrets out of printed lines: known forms of keys and tokens, values that are named as such, and what the user names. */
import { invalidInput } from '../../base/errors.ts';
import type { ConsoleSpan } from './console-line.ts';

/** What stands for a secret. */
export const SECRET_MARK = '[secret]';

/** A shorter text would cut words of any line. */
const MIN_SECRET_CHARS = 4;
/** Values of environment variables that are taken for secrets are at least that long. */
const MIN_ENVIRONMENT_CHARS = 8;
const SECRET_NAME = /key|token|secret|passw|credential/i;
/** A private key has fewer lines; what follows after that is no part of one. */
const MAX_KEY_LINES = 200;

/** A line without any of these has no secret of a known form: one test instead of ten. */
const MAY_HAVE =
  /qk_|sk-|gh[opsur]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox[abeprs]-|hf_|npm_|eyJ|bearer|basic |key|token|secret|passw|authorization|:\/\/[^\s/@]*@|PRIVATE KEY/i;

/** Forms of secrets; group 1, where there is one, is what to cut. None takes more than linear time: lines are hostile. */
const FORMS: readonly RegExp[] = [
  /\bqk_[\w-]{8,}/dg,
  /\bsk-[\w-]{16,}/dg,
  /\bgh[opsur]_\w{16,}/dg,
  /\bgithub_pat_\w{16,}/dg,
  /\bglpat-[\w-]{16,}/dg,
  /\b(?:AKIA|ASIA)[A-Z\d]{12,}/dg,
  /\bAIza[\w-]{30,}/dg,
  /\bxox[abeprs]-[\w-]{8,}/dg,
  /\b(?:hf|npm)_\w{16,}/dg,
  /\beyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?/dg,
  /\b(?:bearer|basic) {1,4}([\w.~+/=-]{8,})/dgi,
  /:\/\/[^\s/:@]*:([^\s/@]+)@/dg,
  /(?:api[-_]?key|access[-_]?key|secret|passw(?:or)?d|passwd|private[-_]?key|auth[-_]?token|access[-_]?token)[\w-]{0,40}["']?\s{0,4}[:=]\s{0,4}["']?([^\s"',;]{4,})/dgi,
  // The count of tokens that a language model reads is no secret.
  /\btoken["']?\s{0,4}[:=]\s{0,4}["']?(?=[^\s"',;]*[A-Za-z])([^\s"',;]{6,})/dgi,
];

/** A line with its colours. */
export type ColoredLine = { readonly text: string; readonly spans: readonly ConsoleSpan[] };

/** Cuts secrets out of lines, one after the other: the lines of a private key are several. */
export class SecretCutter {
  readonly #forms: readonly RegExp[];
  readonly #texts: readonly string[];
  /** The longest text that the user named. */
  readonly longest: number;
  #keyLines = 0;
  #cuts = 0;

  /**
   * @param secrets texts and patterns of the user
   * @param environment variables of the process
   * @throws {QuarkError} `invalid_input`
   */
  constructor(
    secrets: readonly (string | RegExp)[],
    environment: Readonly<Record<string, string | undefined>> = {},
  ) {
    const texts = new Set<string>();
    const forms: RegExp[] = [];
    for (const [i, secret] of secrets.entries()) {
      if (secret instanceof RegExp)
        forms.push(new RegExp(secret.source, `${secret.flags.replace(/[dgy]/g, '')}dg`));
      else if (typeof secret === 'string' && secret.length >= MIN_SECRET_CHARS)
        for (const line of linesOf(secret, MIN_SECRET_CHARS)) texts.add(line);
      else
        throw invalidInput(
          `options.secrets[${i}]`,
          typeof secret,
          `a text of at least ${MIN_SECRET_CHARS} characters, or a RegExp`,
        );
    }
    for (const [name, value = ''] of Object.entries(environment))
      if (SECRET_NAME.test(name))
        for (const line of linesOf(value, MIN_ENVIRONMENT_CHARS)) texts.add(line);
    this.#texts = [...texts];
    this.#forms = forms;
    this.longest = Math.max(0, ...this.#texts.map(({ length }) => length));
  }

  /** How many secrets were cut. */
  get cuts(): number {
    return this.#cuts;
  }

  /** The line without its secrets; `isCut` says that its end is missing, and with it perhaps that of a secret. */
  cut(line: ColoredLine, isCut: boolean): ColoredLine {
    const { text } = line;
    const mayHave = MAY_HAVE.test(text);
    if (this.#isOfKey(text, mayHave)) {
      this.#cuts++;
      return { text: SECRET_MARK, spans: [] };
    }
    const found: [number, number][] = [];
    for (const secret of this.#texts)
      for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length))
        found.push([at, at + secret.length]);
    for (const form of this.#forms) addMatches(found, form, text);
    if (mayHave) for (const form of FORMS) addMatches(found, form, text);
    if (isCut && this.longest > 0)
      found.push([Math.max(0, text.length - this.longest), text.length]);
    if (found.length === 0) return line;
    const merged = mergeRanges(found);
    this.#cuts += merged.length;
    return withoutRanges(line, merged);
  }

  /** Whether the line belongs to a private key in PEM. */
  #isOfKey(text: string, mayHave: boolean): boolean {
    if (mayHave && /-----BEGIN [A-Z\d ]*PRIVATE KEY/.test(text)) this.#keyLines = MAX_KEY_LINES;
    if (this.#keyLines === 0) return false;
    this.#keyLines = /-----END [A-Z\d ]*PRIVATE KEY/.test(text) ? 0 : this.#keyLines - 1;
    return true;
  }
}

function linesOf(secret: string, least: number): string[] {
  return secret
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= least);
}

function addMatches(found: [number, number][], form: RegExp, text: string): void {
  for (const match of text.matchAll(form)) {
    const range = match.indices?.[1] ?? match.indices?.[0];
    if (range !== undefined && range[1] > range[0]) found.push([range[0], range[1]]);
  }
}

function mergeRanges(ranges: readonly [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

function withoutRanges(
  { spans, text }: ColoredLine,
  ranges: readonly [number, number][],
): ColoredLine {
  let cut = '';
  let from = 0;
  /** Where the positions of the text are in what is left. */
  const moves: { readonly end: number; readonly by: number; readonly start: number }[] = [];
  for (const [start, end] of ranges) {
    cut += text.slice(from, start) + SECRET_MARK;
    from = end;
    moves.push({ start, end, by: cut.length - end });
  }
  cut += text.slice(from);
  const moved = (position: number, isEnd: boolean): number => {
    let by = 0;
    for (const move of moves) {
      if (position <= move.start) break;
      if (position < move.end)
        return isEnd ? move.end + move.by : move.end + move.by - SECRET_MARK.length;
      by = move.by;
    }
    return position + by;
  };
  return {
    text: cut,
    spans: spans.map((span) => ({
      ...span,
      start: moved(span.start, false),
      end: moved(span.end, true),
    })),
  };
}
