export const ENTRIES: readonly string[];
export const BROWSER_ENTRIES: readonly string[];
export function subpathsOf(names: readonly string[]): string[];
/** The source of an entry, in `src/`. */
export const sourceOf: (name: string) => string;
