/** The state of the field in which runs are searched: its text, its suggestions, and when what was typed is asked for. */
import { computed, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { QueryCompletion, QuerySuggestion, RunColumn } from 'quark-sdk/workspace';
import type { TableData } from './table-source.ts';

/** What was typed is asked for after a pause. */
const TYPING_MS = 180;
const MAX_SHOWN = 12;
const NOTHING: QueryCompletion = { from: 0, to: 0, suggestions: [] };

/** See the top of this file. */
export class QueryField {
  readonly text: Signal<string>;
  /** Characters before the caret. */
  readonly caret: Signal<number> = signal(0);
  readonly isOpen: Signal<boolean> = signal(false);
  /** The suggestion that the keys are at; -1 for none. */
  readonly chosen: Signal<number> = signal(-1);
  readonly #line: Signal<string>;
  readonly #completion: ReadonlySignal<QueryCompletion>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param line the query that the table shows */
  constructor(
    data: Pick<TableData, 'complete'>,
    line: Signal<string>,
    columns: ReadonlySignal<readonly RunColumn[]>,
  ) {
    this.#line = line;
    this.text = signal(line.peek());
    this.#completion = computed(() =>
      this.isOpen.value ? data.complete(this.text.value, this.caret.value, columns.value) : NOTHING,
    );
  }

  /** Suggestions at the caret. */
  get suggestions(): readonly QuerySuggestion[] {
    return this.#completion.value.suggestions.slice(0, MAX_SHOWN);
  }

  /** Takes the text over: at once, or after a pause, as somebody types on. */
  apply(text: string, isNow: boolean): void {
    this.text.value = text;
    clearTimeout(this.#timer);
    const commit = (): void => {
      this.#line.value = text;
    };
    if (isNow) commit();
    else this.#timer = setTimeout(commit, TYPING_MS);
  }

  /** Somebody has typed. */
  type(text: string, caret: number): void {
    this.isOpen.value = true;
    this.chosen.value = -1;
    this.apply(text, false);
    this.caret.value = caret;
  }

  /** The query was changed elsewhere: by the address, or by a button. */
  follow(text: string): void {
    if (text !== this.text.peek()) this.text.value = text;
  }

  /** Puts a suggestion into the text; the caret is behind it then. */
  take(suggestion: QuerySuggestion): number {
    const { from, to } = this.#completion.peek();
    const text = this.text.peek();
    this.apply(text.slice(0, from) + suggestion.text + text.slice(to), false);
    this.chosen.value = -1;
    this.caret.value = from + suggestion.text.length;
    return this.caret.value;
  }

  /** Goes through the suggestions. False: there are none. */
  step(shift: 1 | -1): boolean {
    const count = this.suggestions.length;
    if (count === 0) return false;
    const from = this.chosen.value < 0 && shift < 0 ? 0 : this.chosen.value;
    this.chosen.value = (from + shift + count) % count;
    return true;
  }

  /** Shows no suggestions. False: none were shown. */
  close(): boolean {
    const wasOpen = this.isOpen.peek();
    this.isOpen.value = false;
    this.chosen.value = -1;
    return wasOpen;
  }

  /** Ends the pause without asking. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
