export function reachedTypes(entries: readonly string[]): Map<string, string>;
