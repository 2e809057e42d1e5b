// The seams between the source and whatever loads it. The source names things it cannot spell itself, because Vite
// would resolve them here and the user's bundler would never see them:
//   __QUARK_NEW_WORKER__     an expression: the kernel worker, started by a page
//   __QUARK_WORKER_URL__     an expression: the URL of the same file, for worker_threads
//   __QUARK_IMPORT_NODE__()  a call: the Node entry, which no bundler may follow
// and one module, `virtual:quark-inline-worker`, whose default export is the worker's whole text. Loaded as source,
// the first two stay undefined and the kernels start their worker from that text.
import { fileURLToPath } from 'node:url';
import { build, type Plugin, type Rolldown } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

const INLINE_ID = 'virtual:quark-inline-worker';

/** The URL of a file beside this one, spelled so that no bundler follows it. */
const hidden = (name: string): string =>
  `((file, base) => new URL(file, base))('./${name}', import.meta.url)`;

type WorkerFile = { readonly code: string; readonly map: string };

let workerFile: Promise<WorkerFile> | undefined;

/** The kernel worker as one minified module without imports. Built once per process. */
function buildWorker(): Promise<WorkerFile> {
  workerFile ??= (async () => {
    const built = await build({
      configFile: false,
      root: here(''),
      logLevel: 'error',
      build: {
        write: false,
        sourcemap: 'hidden',
        target: 'es2022',
        lib: { entry: here('worker/kernel-worker.ts'), formats: ['es'], fileName: 'worker' },
        rolldownOptions: { output: { minify: true } },
      },
    });
    const [output] = [built].flat() as Rolldown.RolldownOutput[];
    const chunks = (output?.output ?? []).flatMap((file) => (file.type === 'chunk' ? [file] : []));
    const [chunk] = chunks;
    if (chunk === undefined || chunks.length > 1 || chunk.imports.length > 0) {
      throw new Error('The worker must become one file without imports: see what it pulls in.');
    }
    return { code: chunk.code, map: chunk.map?.toString() ?? '' };
  })();
  return workerFile;
}

/** `virtual:quark-inline-worker`, in the library as in tests. */
export function inlineWorker(): Plugin {
  return {
    name: 'quark:inline-worker',
    resolveId: (id) => (id === INLINE_ID ? `\0${INLINE_ID}` : undefined),
    load: async (id) =>
      id === `\0${INLINE_ID}`
        ? `export default ${JSON.stringify((await buildWorker()).code)};`
        : undefined,
  };
}

/** Fills the Node seam when the source itself is loaded, by tests and by the development server. */
export function sourceSeams(): Plugin {
  return {
    name: 'quark:source-seams',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(here('src/')) || !code.includes('__QUARK_IMPORT_NODE__()')) {
        return undefined;
      }
      const node =
        this.environment.config.consumer === 'server'
          ? `import(${JSON.stringify(here('src/node.ts'))})`
          : `Promise.reject(new Error('The Node entry was asked for in a browser.'))`;
      return { code: code.replaceAll('__QUARK_IMPORT_NODE__()', node), map: null };
    },
  };
}

/**
 * Fills the seams of the library, and puts worker.js beside it. The text of the page's worker is written after all of
 * Vite's own transforms and in the one spelling that bundlers recognise. The other two go through a variable on
 * purpose: Vite and webpack would emit worker.js a second time, as a plain asset, and follow node.js into `node:`.
 */
export function librarySeams(): Plugin {
  const texts: Readonly<Record<string, string>> = {
    __QUARK_NEW_WORKER__: `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`,
    __QUARK_WORKER_URL__: hidden('worker.js'),
    '__QUARK_IMPORT_NODE__()': `import(/* @vite-ignore */ /* webpackIgnore: true */ ${hidden('node.js')}.href)`,
  };
  return {
    name: 'quark:library-seams',
    enforce: 'post',
    renderChunk(code) {
      if (!code.includes('__QUARK_')) return null;
      let filled = code;
      for (const [seam, text] of Object.entries(texts)) filled = filled.replaceAll(seam, text);
      return { code: filled, map: null };
    },
    async generateBundle() {
      const { code, map } = await buildWorker();
      const source = `${code.trimEnd()}\n//# sourceMappingURL=worker.js.map\n`;
      this.emitFile({ type: 'asset', fileName: 'worker.js', source });
      this.emitFile({ type: 'asset', fileName: 'worker.js.map', source: map });
    },
  };
}
