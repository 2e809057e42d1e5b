/** Builds `index.html` in the folder `root`, and gives the folder that is served. */
export type AppBuilder = (root: string) => Promise<string>;
export declare const APP_BUILDERS: Readonly<Record<string, AppBuilder>>;
export declare const WORKER_BUILDERS: Readonly<Record<string, AppBuilder>>;
