/** What the package build puts into spawn.ts (see vite.config.ts). Not defined when the sources run as they are. */

// oxlint-disable no-underscore-dangle -- names that no user's code can have

/** Where the worker's file lies, in an expression that the bundlers of users do not recognise: for Node. */
declare const __QUARK_WORKER_URL__: URL;
/** `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`, the text that the bundlers of users look for. */
declare const __QUARK_NEW_WORKER__: Worker;

declare module 'virtual:quark-inline-worker' {
  /** The text of the self-contained worker. */
  const source: string;
  export default source;
}
