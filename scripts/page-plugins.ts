// How the page is built from the source of the package: in one build with the workers that it starts, so that they share chunks with it
// and with each other. Built apart, as Vite does, each worker would carry the rules and the readers again.
import { dirname, resolve } from 'node:path';
import type { Plugin } from 'vite';
import { here, NO_NODE, WORKERS } from './vite-plugins.ts';

/** As the pages of the dashboard start their own workers. */
const OWN_WORKER = /new Worker\(new URL\('(\.[^']+)', import\.meta\.url\), \{ type: 'module' \}\)/g;
/** Where a worker has no document, it has nothing to preload. */
const PRELOADS = 'deps && deps.length > 0';
const PRELOAD_HELPER = '\0vite/preload-helper.js';

/** Fills the seams of the source that the page is built from, and makes an entry of each worker, which is added to `started`; of none without. */
export function pageSeams(started: Set<string> | undefined): Plugin {
  return {
    name: 'quark:page-seams',
    enforce: 'pre',
    resolveId: (id) => (id.startsWith('virtual:quark-inline-') ? `\0${id}` : undefined),
    // The files of the workers lie beside the page: there is no need of their texts.
    load: (id) =>
      id.startsWith('\0virtual:quark-inline-')
        ? "throw new Error('The page has its workers in files.');\nexport default '';"
        : undefined,
    transform(code, id) {
      if (!id.startsWith(here('src/')) && !id.startsWith(here('dashboard/'))) return undefined;
      const start = (entry: string): string => {
        if (started === undefined) return `new Worker('')`;
        started.add(entry);
        const file = this.emitFile({ type: 'chunk', id: entry, preserveSignature: false });
        return `new Worker(import.meta.ROLLUP_FILE_URL_${file}, { type: 'module' })`;
      };
      let filled = code.replaceAll('__QUARK_IMPORT_NODE__()', NO_NODE);
      for (const { entry, newSeam, urlSeam } of WORKERS) {
        if (!filled.includes(newSeam)) continue;
        // In a page the address says only that there is a file.
        filled = filled
          .replaceAll(newSeam, start(here(entry)))
          .replaceAll(urlSeam, 'import.meta.url');
      }
      filled = filled.replaceAll(OWN_WORKER, (_text, path: string) =>
        start(resolve(dirname(id), path)),
      );
      return filled === code ? undefined : { code: filled, map: null };
    },
  };
}

/** Lets workers load the chunks of the page, in which Vite preloads what a chunk needs by elements of the document. */
export function preloadsInPages(): Plugin {
  return {
    name: 'quark:preloads-in-pages',
    transform(code, id) {
      if (id !== PRELOAD_HELPER) return undefined;
      if (!code.includes(PRELOADS)) this.error(`${id} no longer has: ${PRELOADS}`);
      return {
        code: code.replace(PRELOADS, `typeof document !== 'undefined' && ${PRELOADS}`),
        map: null,
      };
    },
  };
}

/** How the package loads the store over HTTP where it is asked for. */
const HTTP_STORE =
  "const { openHttpStorage } = await loadStore(async () => import('../wire/http-store.ts'));";

/** Puts the store over HTTP beside what opens stores: a page that comes from a server needs it before its first row. */
export function httpStoreAtStart(): Plugin {
  return {
    name: 'quark:http-store-at-start',
    enforce: 'pre',
    transform(code, id) {
      if (id !== here('src/location/open-storage.ts')) return undefined;
      if (!code.includes(HTTP_STORE)) this.error(`${id} no longer has: ${HTTP_STORE}`);
      const rest = code.replace(HTTP_STORE, '');
      return {
        code: `import { openHttpStorage } from '../wire/http-store.ts';\n${rest}`,
        map: null,
      };
    },
  };
}
