/** A text under a key of the browser's storage. A browser may refuse storage to a page: then nothing is there. */

/** Reads and writes the text. */
export type StoredText = {
  readonly get: () => string | undefined;
  /** Undefined removes it. */
  readonly set: (text: string | undefined) => void;
};

/** `localStorage` outlives the tab, `sessionStorage` does not. */
export function storedText(
  key: string,
  storage: 'localStorage' | 'sessionStorage' = 'localStorage',
): StoredText {
  return {
    get: () => {
      try {
        return globalThis[storage].getItem(key) ?? undefined;
      } catch {
        return undefined;
      }
    },
    set: (text) => {
      try {
        if (text === undefined) globalThis[storage].removeItem(key);
        else globalThis[storage].setItem(key, text);
      } catch {
        // It is remembered for this visit only.
      }
    },
  };
}
