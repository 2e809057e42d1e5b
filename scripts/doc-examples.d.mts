export type DocExample = {
  readonly entry: string;
  /** Exported name whose comment has the example. */
  readonly name: string;
  /** Which example of the name it is, from 0. */
  readonly index: number;
  /** What stands behind the fence: `js`, `js not-run="reason"`. */
  readonly info: string;
  readonly code: string;
};
export function examplesIn(comment: string): { readonly info: string; readonly code: string }[];
export function docExamples(): DocExample[];
export function callableNames(): Promise<{ readonly entry: string; readonly name: string }[]>;
export function namesWithoutExample(): Promise<string[]>;
export function namesWithUnfencedExample(): string[];
