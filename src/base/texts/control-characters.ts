/**
 * Characters that control a display: terminal controls (C0, DEL, C1, and with them every escape sequence), line separators of
 * Unicode, and bidirectional controls, which can make one name look like another.
 */

const CONTROLS = String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060\u2066-\u206f\ufeff\ufff9-\ufffb`;
const RUNS = new RegExp(`[${CONTROLS}]+`, 'g');
/** All but line ends and tabs. */
const INNER = new RegExp(String.raw`(?![\t\n\r])[${CONTROLS}]`, 'g');
/** A line of JSON is written with these escaped already, or has them between its tokens. */
const IN_JSON = new RegExp(String.raw`(?![\u0000-\u001f])[${CONTROLS}]`, 'g');
/** The escape sequences that this program writes itself: colours, and erasing a progress line. */
// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const OWN_SEQUENCE = /(\u001b\[(?:\d{1,2}m|2K))/;

/** Text on one line without control characters: each run of them becomes one blank. */
export function onOneLine(text: string): string {
  return text.replace(RUNS, ' ');
}

/** Text of several lines without control characters: line ends and tabs stay, others are written as escapes such as `\u202e`. */
export function withControlsShown(text: string): string {
  return text.replace(INNER, escapeOf);
}

/** What {@link withControlsShown} gives, where the colours that this program sets stay. */
export function withOwnSequences(text: string): string {
  return text
    .split(OWN_SEQUENCE)
    .map((part, at) => (at % 2 === 1 ? part : withControlsShown(part)))
    .join('');
}

/** JSON with the same value that steers nothing: `JSON.stringify` escapes those of ASCII only. */
export function escapeInJson(json: string): string {
  return json.replace(IN_JSON, escapeOf);
}

function escapeOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
