/** Keys as people read them. */

const NAMES: Readonly<Record<string, string>> = {
  ctrl: 'Ctrl',
  alt: 'Alt',
  shift: 'Shift',
  escape: 'Esc',
  enter: 'Enter',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
};

/** `ctrl+k` is `Ctrl K`, on a Mac `⌘ K`. */
export function keyWords(keys: string, isMac: boolean = hasCommandKey()): string {
  // The key itself may be `+`.
  return keys
    .split(/(?<=[^+])\+/)
    .map((part) => (isMac && part === 'ctrl' ? '⌘' : (NAMES[part] ?? part.toUpperCase())))
    .join(' ');
}

function hasCommandKey(): boolean {
  return typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent);
}
