/** Text of other people within HTML and Markdown. */
import { withControlsShown } from '../../base/texts/control-characters.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text as HTML, in an element or in a quoted attribute. Control characters, which HTML does not know, are left out. */
export function escapeHtml(text: string): string {
  return withoutControls(text).replace(/[&<>"']/gu, (char) => ENTITIES[char] ?? char);
}

/** Text within a line of Markdown: nothing in it is markup, or HTML, or ends a cell of a table. */
export function escapeMarkdown(text: string): string {
  return withoutControls(text)
    .replace(/\s+/gu, ' ')
    .replace(/[\\`*_[\]|~]/gu, String.raw`\$&`)
    .replace(/[&<>]/gu, (char) => ENTITIES[char] ?? char)
    .replace(/^(\d+)([.)])(?=\s|$)/u, String.raw`$1\$2`)
    .replace(/^([-=+#])/u, String.raw`\$1`);
}

/** Text without control characters, but tabs and line ends; those that turn the direction of a text are shown. */
export function withoutControls(text: string): string {
  // Tabs and line ends stay. Lone surrogates are no text that can be written. What turns the direction of a text is shown.
  return withControlsShown(text.replace(/\p{Cs}/gu, '\uFFFD').replace(/[^\P{Cc}\t\n\r]/gu, ''));
}
