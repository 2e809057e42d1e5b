// The seams between the source and whatever loads it. The source names things it cannot spell itself, because Vite
// would resolve them here and the user's bundler would never see them:
//   __QUARK_NEW_WORKER__     an expression: a worker, started by a page
//   __QUARK_WORKER_URL__     an expression: the URL of the same file, for worker_threads
//   __QUARK_IMPORT_NODE__()  a call: what only Node has, `#node` in `imports` of package.json; bundlers for pages take another file
// and one module, `virtual:quark-inline-worker`, whose default export is the worker's whole text; all but the last seam
// once for each worker of the table below. The program of a process has the module alone. Loaded as source, the seams of the workers stay undefined and the kernels
// start their workers from that text.
import { fileURLToPath } from 'node:url';
import { build, type Plugin, type Rolldown } from 'vite';

export const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

type WorkerSpec = {
  readonly entry: string;
  /** In dist/. */
  readonly file: string;
  readonly inlineId: string;
  readonly newSeam: string;
  readonly urlSeam: string;
};

export const WORKERS: readonly WorkerSpec[] = [
  {
    entry: 'worker/kernel-worker.ts',
    file: 'worker.js',
    inlineId: 'virtual:quark-inline-worker',
    newSeam: '__QUARK_NEW_WORKER__',
    urlSeam: '__QUARK_WORKER_URL__',
  },
  {
    entry: 'worker/series-worker.ts',
    file: 'series-worker.js',
    inlineId: 'virtual:quark-inline-series-worker',
    newSeam: '__QUARK_NEW_SERIES_WORKER__',
    urlSeam: '__QUARK_SERIES_WORKER_URL__',
  },
  {
    entry: 'worker/watch-worker.ts',
    file: 'watch-worker.js',
    inlineId: 'virtual:quark-inline-watch-worker',
    newSeam: '__QUARK_NEW_WATCH_WORKER__',
    urlSeam: '__QUARK_WATCH_WORKER_URL__',
  },
  {
    entry: 'worker/opfs-worker.ts',
    file: 'opfs-worker.js',
    inlineId: 'virtual:quark-inline-opfs-worker',
    newSeam: '__QUARK_NEW_OPFS_WORKER__',
    urlSeam: '__QUARK_OPFS_WORKER_URL__',
  },
  {
    entry: 'worker/service-worker.ts',
    file: 'service-worker.js',
    inlineId: 'virtual:quark-inline-service-worker',
    newSeam: '__QUARK_NEW_SERVICE_WORKER__',
    urlSeam: '__QUARK_SERVICE_WORKER_URL__',
  },
  {
    entry: 'worker/merge-worker.ts',
    file: 'merge-worker.js',
    inlineId: 'virtual:quark-inline-merge-worker',
    newSeam: '__QUARK_NEW_MERGE_WORKER__',
    urlSeam: '__QUARK_MERGE_WORKER_URL__',
  },
];

/** What is only there as a text: the programs of processes. */
const PROGRAMS: readonly Pick<WorkerSpec, 'entry' | 'inlineId'>[] = [
  { entry: 'worker/query-process.ts', inlineId: 'virtual:quark-inline-query-process' },
];
const INLINED = [...WORKERS, ...PROGRAMS];

/** What a page has instead of the parts of Node. */
export const NO_NODE = `Promise.reject(new Error('The Node entry was asked for in a browser.'))`;

/** The URL of a file beside this one, spelled so that no bundler follows it. */
const hidden = (name: string): string =>
  `((file, base) => new URL(file, base))('./${name}', import.meta.url)`;

type BuiltWorker = { readonly code: string; readonly map: string };

const builtWorkers = new Map<string, Promise<BuiltWorker>>();

/** A worker as one minified module without imports. Built once per process. */
async function buildWorker(entry: string): Promise<BuiltWorker> {
  const found = builtWorkers.get(entry) ?? bundleWorker(entry);
  builtWorkers.set(entry, found);
  return found;
}

async function bundleWorker(entry: string): Promise<BuiltWorker> {
  const built = await build({
    configFile: false,
    root: here(''),
    logLevel: 'error',
    build: {
      write: false,
      sourcemap: 'hidden',
      target: 'es2022',
      lib: { entry: here(entry), formats: ['es'], fileName: 'worker' },
      // What a page loads when it needs it is part of the one file here.
      rolldownOptions: { output: { minify: true, codeSplitting: false } },
    },
  });
  const [output] = [built].flat() as Rolldown.RolldownOutput[];
  const chunks = (output?.output ?? []).flatMap((file) => (file.type === 'chunk' ? [file] : []));
  const [chunk] = chunks;
  if (chunk === undefined || chunks.length > 1 || chunk.imports.length > 0) {
    throw new Error('The worker must become one file without imports: see what it pulls in.');
  }
  return { code: chunk.code, map: chunk.map?.toString() ?? '' };
}

/** `virtual:quark-inline-worker` and the like, in the library as in tests. */
export function inlineWorker(): Plugin {
  return {
    name: 'quark:inline-worker',
    resolveId: (id) => (INLINED.some(({ inlineId }) => id === inlineId) ? `\0${id}` : undefined),
    load: async (id) => {
      const worker = INLINED.find(({ inlineId }) => id === `\0${inlineId}`);
      if (worker === undefined) return undefined;
      return `export default ${JSON.stringify((await buildWorker(worker.entry)).code)};`;
    },
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
          ? `import(${JSON.stringify(here('src/node-platform.ts'))}).then((found) => found.default)`
          : NO_NODE;
      return { code: code.replaceAll('__QUARK_IMPORT_NODE__()', node), map: null };
    },
  };
}

/** \`dist/quark.min.js\`: recording in one file, which starts its workers from the texts that it has. */
export function oneFile(): Plugin {
  return {
    name: 'quark:one-file',
    async generateBundle() {
      const built = await build({
        configFile: false,
        root: here(''),
        logLevel: 'error',
        plugins: [inlineWorker(), withoutNode(), withoutFiles()],
        build: {
          write: false,
          target: 'es2022',
          lib: { entry: here('src/one-file.ts'), formats: ['es'], fileName: 'quark' },
          rolldownOptions: { output: { codeSplitting: false, minify: true } },
        },
      });
      const [output] = [built].flat() as Rolldown.RolldownOutput[];
      const [file, ...rest] = output?.output ?? [];
      if (file === undefined || rest.length > 0 || file.imports.length > 0)
        throw new Error('quark.min.js must become one file without imports: see what it pulls in.');
      this.emitFile({ type: 'asset', fileName: 'quark.min.js', source: file.code });
    },
  };
}

function withoutNode(): Plugin {
  return {
    name: 'quark:without-node',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(here('src/')) || !code.includes('__QUARK_IMPORT_NODE__()'))
        return undefined;
      return { code: code.replaceAll('__QUARK_IMPORT_NODE__()', NO_NODE), map: null };
    },
  };
}

/** The store in files of a browser, with the text of its worker, is a tenth of all: one who needs it imports the package. */
const NO_FILES = `
import { QuarkError } from '${here('src/base/errors.ts')}';
export const openOpfsStorage = async (uri) => {
  throw new QuarkError('unsupported', \`\${uri} needs the store in files, which quark.min.js lacks: import quark-sdk instead.\`);
};`;

function withoutFiles(): Plugin {
  return {
    name: 'quark:without-files',
    load: (id) => (id === here('src/store/opfs/opfs-store.ts') ? NO_FILES : undefined),
  };
}

/**
 * Fills the seams of the library, and puts the workers' files beside it. The text of a page's worker is written after all
 * of Vite's own transforms and in the one spelling that bundlers recognise. Those of Node go through a variable on purpose:
 * Vite and webpack would emit the worker a second time, as a plain asset.
 */
export function librarySeams(): Plugin {
  const texts: Record<string, string> = {
    '__QUARK_IMPORT_NODE__()': `import('#node').then((found) => found.default)`,
  };
  for (const { file, newSeam, urlSeam } of WORKERS) {
    texts[newSeam] = `new Worker(new URL('./${file}', import.meta.url), { type: 'module' })`;
    texts[urlSeam] = hidden(file);
  }
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
      for (const { entry, file } of WORKERS) {
        const { code, map } = await buildWorker(entry); // oxlint-disable-line no-await-in-loop -- five
        this.emitFile({ type: 'asset', fileName: file, source: code });
        this.emitFile({ type: 'asset', fileName: `${file}.map`, source: map });
      }
    },
  };
}

/** Where rolldown asks which chunk a module goes to. */
export type ModuleGraph = {
  getModuleInfo(id: string): {
    readonly importedIds: readonly string[];
    readonly dynamicallyImportedIds: readonly string[];
    readonly isEntry: boolean;
  } | null;
};

/** A chunk, and the modules whose static imports it has: all of them, or those that other modules reach statically as well. */
type ChunkRoots = {
  readonly name: string;
  readonly roots: readonly string[];
  readonly within?: readonly string[] | undefined;
};

/**
 * Keeps what some modules import statically in one chunk for each list of them: a module goes to the first that needs it. Cut along
 * what entries share with each other, the same modules weigh a tenth more: each file is compressed by itself. What matches `without`
 * is cut as it would be.
 */
export function inChunks(chunks: readonly ChunkRoots[], without: RegExp) {
  let chunkOf: ReadonlyMap<string, string> | undefined;
  return chunks.map(({ name }, i) => ({
    debugName: name,
    // Those of a lower priority leave a module to this one, even where theirs import it.
    priority: chunks.length - i,
    name: (id: string, graph: ModuleGraph): string | null => {
      chunkOf ??= firstNeed(chunks, graph);
      return chunkOf.get(id) === name && !without.test(id) ? name : null;
    },
  }));
}

function firstNeed(chunks: readonly ChunkRoots[], graph: ModuleGraph): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, roots, within } of chunks) {
    const limit = within === undefined ? undefined : importedBy(within, graph);
    for (const id of importedBy(roots, graph))
      // What an entry imports would come along, though it matches `without`.
      if (!found.has(id) && limit?.has(id) !== false && graph.getModuleInfo(id)?.isEntry !== true)
        found.set(id, name);
  }
  return found;
}

/** Some modules and what they import statically; and dynamically, with `withDynamic`. */
export function importedBy(
  roots: readonly string[],
  graph: ModuleGraph,
  withDynamic = false,
): ReadonlySet<string> {
  const found = new Set(roots);
  const waiting = [...roots];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const module = graph.getModuleInfo(id);
    for (const imported of [
      ...(module?.importedIds ?? []),
      ...(withDynamic ? (module?.dynamicallyImportedIds ?? []) : []),
    ])
      if (!found.has(imported)) {
        found.add(imported);
        waiting.push(imported);
      }
  }
  return found;
}
