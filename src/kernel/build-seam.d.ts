/** What the package build puts into the files that name a worker (see scripts/vite-plugins.ts). Not defined when the sources run as they are. */

// oxlint-disable no-underscore-dangle -- names that no user's code can have

/** Where the worker's file lies, in an expression that the bundlers of users do not recognise: for Node. */
declare const __QUARK_WORKER_URL__: URL;
/** `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`, the text that the bundlers of users look for. */
declare const __QUARK_NEW_WORKER__: Worker;
/** The same two of the series worker. */
declare const __QUARK_SERIES_WORKER_URL__: URL;
declare const __QUARK_NEW_SERIES_WORKER__: Worker;
/** The same two of the worker of a watch. */
declare const __QUARK_WATCH_WORKER_URL__: URL;
declare const __QUARK_NEW_WATCH_WORKER__: Worker;
/** The same two of the worker of the store on the origin-private file system. */
declare const __QUARK_OPFS_WORKER_URL__: URL;
declare const __QUARK_NEW_OPFS_WORKER__: Worker;
/** Where the file of the worker of a service lies. Pages have none. */
declare const __QUARK_SERVICE_WORKER_URL__: URL;
/** Where the file of the worker that merges lies. Pages have none. */
declare const __QUARK_MERGE_WORKER_URL__: URL;

declare module 'virtual:quark-inline-worker' {
  /** The text of the self-contained worker. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-series-worker' {
  /** The text of the self-contained series worker. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-watch-worker' {
  /** The text of the self-contained worker of a watch. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-opfs-worker' {
  /** The text of the self-contained worker of the store on the origin-private file system. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-service-worker' {
  /** The text of the self-contained worker of a service. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-merge-worker' {
  /** The text of the self-contained worker that merges. */
  const source: string;
  export default source;
}

declare module 'virtual:quark-inline-query-process' {
  /** The text of the self-contained program that answers a query, for Node. */
  const source: string;
  export default source;
}
