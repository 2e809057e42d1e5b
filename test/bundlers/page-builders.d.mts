/** The bytes, minified, that a page loads at once which imports these names of the package. */
export type PageBuilder = (names: readonly string[]) => Promise<number>;
export declare const PAGE_BUILDERS: Readonly<Record<string, PageBuilder>>;
