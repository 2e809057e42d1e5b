export function anchorsOf(text: string): Set<string>;
export function brokenLinks(files?: readonly string[], read?: (file: string) => string): string[];
export function staleComments(files?: readonly string[], read?: (file: string) => string): string[];
