/**
 * Characters that steer whatever shows a text: those of terminals (C0, DEL, C1, and with them every escape sequence), line ends of
 * Unicode, and those that turn the direction of what follows, by which a name can look like another one.
 */

const CONTROLS = String.raw`\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060\u2066-\u206f\ufeff\ufff9-\ufffb`;
const RUNS = new RegExp(`[${CONTROLS}]+`, 'g');
/** All but line ends and tabs. */
const INNER = new RegExp(String.raw`(?![\t\n\r])[${CONTROLS}]`, 'g');
/** A line of JSON is written with these escaped already, or has them between its tokens. */
const IN_JSON = new RegExp(String.raw`(?![\u0000-\u001f])[${CONTROLS}]`, 'g');
/** What this program writes itself: a colour, and a progress line that is drawn anew. */
// oxlint-disable-next-line no-control-regex -- the rule is about control characters
const OWN_SEQUENCE = /(\u001b\[(?:\d{1,2}m|2K))/;

/** Text on one line that steers nothing: control characters become blanks, several in a row one. */
export function onOneLine(text: string): string {
  return text.replace(RUNS, ' ');
}

/** Text of several lines that steers nothing: line ends and tabs stay, other control characters are written as `\u202e`. */
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
