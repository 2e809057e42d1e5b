export type SizeRow = {
  readonly name: string;
  readonly bytes: number;
  readonly files?: number;
  readonly allowed?: number | undefined;
};
export function tarballRows(): SizeRow[];
export function writeSizes(rows: readonly SizeRow[]): void;
export function readSizes(): Map<string, number>;
export function differencesFrom(
  written: ReadonlyMap<string, number>,
  rows: readonly SizeRow[],
): string[];
