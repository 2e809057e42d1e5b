export type PageBytes = {
  readonly minified: number;
  readonly atOnce: number;
  readonly untilFirstLog: number;
  readonly inAll: number;
};
export function pageBytes(names: readonly string[]): Promise<PageBytes>;
export function withPage<T>(
  names: readonly string[],
  work: (root: string) => Promise<T>,
): Promise<T>;
