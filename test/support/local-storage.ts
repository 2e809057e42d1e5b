/** `localStorage` with room for so many characters: in one value, and in all. */
export function storageOf(
  room: number = Number.POSITIVE_INFINITY,
  roomInAll: number = Number.POSITIVE_INFINITY,
): Storage {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (at) => [...kept.keys()][at] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => {
      let others = key.length;
      for (const [name, value] of kept) if (name !== key) others += name.length + value.length;
      if (text.length > room || others + text.length > roomInAll)
        throw new DOMException('full', 'QuotaExceededError');
      kept.set(key, text);
    },
    removeItem: (key) => kept.delete(key),
    clear: () => kept.clear(),
  };
}
