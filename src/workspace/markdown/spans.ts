/** Markdown within a block: one pass over the text, in time that grows with its length, whatever the text is. */
import type { MarkdownBudget, MarkdownSpan } from './tree.ts';

/** What is open at one time; deeper marks are text. */
const MAX_DEPTH = 16;
/** The only addresses that a link may have: pages, mail, and views of this page. */
const LINKED = /^(?:https?:\/\/[^/\s]|mailto:[^\s]|#\/)/i;
/** What follows the text of a link: an address, and perhaps a title, which is passed over. */
const TARGET =
  /\(\s{0,9}<?((?:[^\s()<>]|\([^\s()<>]*\))*)>?(?:\s{1,9}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,9}\)/y;
const BARE_ADDRESS = /https?:\/\/[^\s<>"'`|\\^{}]{1,2000}/y;
const ANGLE_ADDRESS = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;

type Mark = '*' | '**' | '_' | '__' | '~~';
type Frame = { readonly mark: Mark | '[' | '![' | ''; readonly spans: MarkdownSpan[] };

const KINDS: Readonly<Record<Mark, 'strong' | 'em' | 'strike'>> = {
  '*': 'em',
  _: 'em',
  '**': 'strong',
  __: 'strong',
  '~~': 'strike',
};

/** The address of a link as it may be followed; undefined for every other one. */
export function linkAddress(address: string): string | undefined {
  return LINKED.test(address) ? address : undefined;
}

/** The spans of a text. */
export function parseSpans(text: string, budget: MarkdownBudget): readonly MarkdownSpan[] {
  return new SpanParser(text, budget).parse();
}

class SpanParser {
  readonly #text: string;
  readonly #budget: MarkdownBudget;
  readonly #frames: Frame[] = [{ mark: '', spans: [] }];
  /** By the length of a run of backticks, where the last such run begins. */
  readonly #lastTicks = new Map<number, number>();
  #at = 0;
  #plain = '';

  constructor(text: string, budget: MarkdownBudget) {
    this.#text = text;
    this.#budget = budget;
    for (const run of text.matchAll(/`+/g)) this.#lastTicks.set(run[0].length, run.index);
  }

  parse(): readonly MarkdownSpan[] {
    while (this.#at < this.#text.length) {
      if (this.#budget.left <= 0) {
        this.#plain += this.#text.slice(this.#at);
        break;
      }
      this.#step(this.#text.charAt(this.#at));
    }
    while (this.#frames.length > 1) this.#flatten();
    this.#endPlain();
    return this.#top.spans;
  }

  get #top(): Frame {
    return this.#frames.at(-1) ?? { mark: '', spans: [] };
  }

  #step(char: string): void {
    switch (char) {
      case '\\':
        return this.#escape();
      case '`':
        return this.#code();
      case '\n':
        return this.#newLine();
      case '[':
        return this.#open('[');
      case '!':
        return this.#text.charAt(this.#at + 1) === '[' ? this.#open('![') : this.#take(1);
      case ']':
        return this.#closeBracket();
      case '<':
        return this.#address(ANGLE_ADDRESS);
      case 'h':
        return this.#address(BARE_ADDRESS);
      case '*':
      case '_':
      case '~':
        return this.#emphasis(char);
      default:
        return this.#take(1);
    }
  }

  /** The next characters as they are. */
  #take(count: number): void {
    this.#plain += this.#text.slice(this.#at, this.#at + count);
    this.#at += count;
  }

  #add(span: MarkdownSpan): void {
    this.#endPlain();
    this.#budget.left -= 1;
    this.#push(span);
  }

  #endPlain(): void {
    if (this.#plain === '') return;
    const text = this.#plain;
    this.#plain = '';
    this.#push({ kind: 'text', text });
  }

  /** Texts beside each other are one. */
  #push(span: MarkdownSpan): void {
    const { spans } = this.#top;
    const last = spans.at(-1);
    if (span.kind === 'text' && last?.kind === 'text')
      spans[spans.length - 1] = { kind: 'text', text: last.text + span.text };
    else spans.push(span);
  }

  #escape(): void {
    const next = this.#text.charAt(this.#at + 1);
    if (next === '\n') {
      this.#at += 2;
      this.#add({ kind: 'break' });
      return;
    }
    if (ESCAPABLE.test(next)) this.#at += 1;
    this.#take(1);
  }

  /** Two blanks before the end of a line are a new line; else lines flow. */
  #newLine(): void {
    const isHard = this.#plain.endsWith('  ');
    this.#at += 1;
    if (!isHard) this.#plain += '\n';
    else {
      this.#plain = this.#plain.trimEnd();
      this.#add({ kind: 'break' });
    }
  }

  #code(): void {
    const run = /`+/y;
    run.lastIndex = this.#at;
    const { length } = run.exec(this.#text)?.[0] ?? '`';
    const from = this.#at + length;
    if ((this.#lastTicks.get(length) ?? -1) < from) return this.#take(length);
    for (const other of this.#text.slice(from).matchAll(/`+/g)) {
      if (other[0].length !== length) continue;
      const text = this.#text.slice(from, from + other.index).replaceAll('\n', ' ');
      const isPadded = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== '';
      this.#add({ kind: 'code', text: isPadded ? text.slice(1, -1) : text });
      this.#at = from + other.index + length;
      return;
    }
  }

  #address(pattern: RegExp): void {
    const before = this.#text.charAt(this.#at - 1);
    pattern.lastIndex = this.#at;
    const found = pattern === BARE_ADDRESS && WORD.test(before) ? null : pattern.exec(this.#text);
    const isInLink = this.#frames.some(({ mark }) => mark === '[' || mark === '![');
    if (found === null || isInLink) return this.#take(1);
    // A sentence goes on behind an address.
    const whole = found[1] === undefined ? found[0].replace(/[.,;:!?)\]*_~]+$/, '') : found[0];
    const address = found[1] ?? whole;
    const href = linkAddress(address);
    if (href === undefined) return this.#take(1);
    this.#add({ kind: 'link', href, spans: [{ kind: 'text', text: address }] });
    this.#at += whole.length;
  }

  #open(mark: Frame['mark']): void {
    if (this.#frames.length > MAX_DEPTH) return this.#take(mark.length);
    this.#endPlain();
    this.#frames.push({ mark, spans: [] });
    this.#at += mark.length;
  }

  /** What the last mark opened was not closed: the mark is text. */
  #flatten(): void {
    this.#endPlain();
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    this.#push({ kind: 'text', text: frame.mark });
    for (const span of frame.spans) this.#push(span);
  }

  #closeBracket(): void {
    const at = this.#frames.findLastIndex(({ mark }) => mark === '[' || mark === '![');
    if (at < 0) return this.#take(1);
    while (this.#frames.length > at + 1) this.#flatten();
    TARGET.lastIndex = this.#at + 1;
    const target = TARGET.exec(this.#text);
    const href = linkAddress(target?.[1] ?? '');
    if (target === null || href === undefined || this.#isInLink(at)) {
      this.#flatten();
      this.#take(1);
      return;
    }
    this.#endPlain();
    const { mark, spans } = this.#top;
    this.#frames.pop();
    // A picture of somebody else's would tell them who reads this: it is a link to the picture.
    const words = spans.length === 0 ? [{ kind: 'text', text: href } as const] : spans;
    this.#add({
      kind: 'link',
      href,
      spans: mark === '![' ? [{ kind: 'text', text: '🖼 ' }, ...words] : words,
    });
    this.#at = TARGET.lastIndex;
  }

  /** A link has no link inside. */
  #isInLink(at: number): boolean {
    return this.#frames.slice(0, at).some(({ mark }) => mark === '[' || mark === '![');
  }

  #emphasis(char: '*' | '_' | '~'): void {
    const isTwo = this.#text.charAt(this.#at + 1) === char;
    if (char === '~' && !isTwo) return this.#take(1);
    const two = char === '*' ? '**' : char === '_' ? '__' : '~~';
    const wanted: readonly Mark[] = !isTwo
      ? char === '~'
        ? []
        : [char]
      : char === '~'
        ? [two]
        : [two, char];
    const top = this.#top.mark;
    // `***` closes first what was opened last.
    const mark = wanted.find((one) => one === top) ?? wanted[0];
    if (mark === undefined) return this.#take(1);
    const before = this.#text.charAt(this.#at - 1);
    const after = this.#text.charAt(this.#at + mark.length);
    if (this.#canClose(mark, before, after) && this.#close(mark)) return;
    const isOpening = after !== '' && !/\s/.test(after) && !(char === '_' && WORD.test(before));
    if (isOpening) this.#open(mark);
    else this.#take(mark.length);
  }

  #canClose(mark: Mark, before: string, after: string): boolean {
    return before !== '' && !/\s/.test(before) && !(mark.startsWith('_') && WORD.test(after));
  }

  #close(mark: Mark): boolean {
    const at = this.#frames.findLastIndex((frame) => frame.mark === mark);
    const bracket = this.#frames.findLastIndex((frame) => frame.mark.endsWith('['));
    if (at < 0 || at < bracket) return false;
    while (this.#frames.length > at + 1) this.#flatten();
    this.#endPlain();
    const { spans } = this.#top;
    if (spans.length === 0) return false;
    this.#frames.pop();
    this.#add({ kind: KINDS[mark], spans });
    this.#at += mark.length;
    return true;
  }
}
