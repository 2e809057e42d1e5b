/** What Markdown is parsed to: texts and their form. No HTML, no attributes, no addresses but those of links. */

/** Text within a block. */
export type MarkdownSpan =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em' | 'strike'; readonly spans: readonly MarkdownSpan[] }
  | { readonly kind: 'link'; readonly href: string; readonly spans: readonly MarkdownSpan[] }
  | { readonly kind: 'break' };

/** An item of a list; `isDone` of a task is null for items that are no tasks. */
export type MarkdownItem = {
  readonly isDone: boolean | null;
  readonly blocks: readonly MarkdownBlock[];
};

/** A part of a text that stands by itself. */
export type MarkdownBlock =
  | {
      readonly kind: 'heading';
      /** 1 to 6. */
      readonly level: number;
      readonly spans: readonly MarkdownSpan[];
    }
  | { readonly kind: 'paragraph'; readonly spans: readonly MarkdownSpan[] }
  | { readonly kind: 'code'; readonly text: string; readonly language: string }
  | { readonly kind: 'quote'; readonly blocks: readonly MarkdownBlock[] }
  | {
      readonly kind: 'list';
      /** The number of the first item; null for a list without numbers. */
      readonly start: number | null;
      readonly items: readonly MarkdownItem[];
    }
  | {
      readonly kind: 'table';
      readonly head: readonly (readonly MarkdownSpan[])[];
      /** As many cells a row as the head has. */
      readonly rows: readonly (readonly (readonly MarkdownSpan[])[])[];
    }
  | { readonly kind: 'rule' };

/** Counts down the elements that are left for a text. Beyond it, text stays text: a page draws thousands of elements, and not a hundred thousand. */
export type MarkdownBudget = { left: number };
