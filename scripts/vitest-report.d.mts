export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** `FILE: NAME` of each. */
  readonly failures: readonly string[];
  /** Of `failures` of the first run, those that passed in the second. */
  readonly unsure?: readonly string[];
}
export function countReport(file: string, exitCode: number, root: string): Report;
export function filesToRepeat(file: string, root: string): string[];
export function withSecond(first: Report, second: Report): Report;
