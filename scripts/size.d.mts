export const CORE_BUDGET_BYTES: number;
export const SERVICE_BUDGET_BYTES: number;
export const UNPACK_BUDGET_BYTES: number;
export function sharesOf(entry: string): {
  readonly own: string[];
  readonly service: string[];
  readonly opfs: string[];
  readonly unpack: string[];
};
export function importsOf(file: string): { specifiers: string[]; computedImports: number };
export function closureOf(
  entry: string,
  leavesOut?: (file: string) => boolean,
): { files: string[]; bare: string[] };
export function transferBytes(files: readonly string[]): number;
export const START_BUDGET_BYTES: number;
export const FIRST_LOG_BUDGET_BYTES: number;
export const IN_ALL_BUDGET_BYTES: number;
