/** Builds `main.js` in the folder `root` into the folder `out`, and gives the file that Node runs. */
export type Builder = (root: string, out: string) => Promise<string>;
export declare const BUILDERS: Readonly<Record<string, Builder>>;
export declare const WITHOUT_NODE: Readonly<Record<string, Builder>>;
export declare const BUN: string;
