export function anchorsOf(text: string): Set<string>;
export function brokenLinks(files?: readonly string[], read?: (file: string) => string): string[];
