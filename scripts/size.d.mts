export const CORE_BUDGET_BYTES: number;
export function importsOf(file: string): { specifiers: string[]; computedImports: number };
export function closureOf(entry: string): { files: string[]; bare: string[] };
export function transferBytes(files: readonly string[]): number;
