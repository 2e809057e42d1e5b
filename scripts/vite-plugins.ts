// The seams between the source and whatever loads it. The source names three things it cannot spell itself, because
// Vite would resolve them here and the user's bundler would never see them:
//   __QUARK_NEW_WORKER__     an expression: the kernel worker, started by the browser
//   __QUARK_WORKER_URL__     an expression: the URL of the same file, for worker_threads
//   __QUARK_IMPORT_NODE__()  a call: the Node entry, which no bundler may follow
// and one module, `virtual:quark-inline-worker`, whose default export is the worker's whole text.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin, type Rolldown } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

const INLINE_ID = 'virtual:quark-inline-worker';
const PLACEHOLDER = /__QUARK_(?:NEW_WORKER__|WORKER_URL__|IMPORT_NODE__\(\))/g;

let workerText: Promise<string> | undefined;

/** The kernel worker as one minified module without imports. Built once per process. */
function buildWorker(): Promise<string> {
  workerText ??= (async () => {
    const built = await build({
      configFile: false,
      root: here(''),
      logLevel: 'error',
      build: {
        write: false,
        minify: 'oxc',
        target: 'es2022',
        lib: { entry: here('worker/kernel-worker.ts'), formats: ['es'], fileName: 'worker' },
        rolldownOptions: { output: { codeSplitting: false, minify: true } },
      },
    });
    const [output] = [built].flat() as Rolldown.RolldownOutput[];
    const [chunk, ...others] = output?.output ?? [];
    if (chunk?.type !== 'chunk' || others.some((other) => other.type === 'chunk')) {
      throw new Error('The worker must become exactly one chunk: see what it imports.');
    }
    return chunk.code;
  })();
  return workerText;
}

/** `virtual:quark-inline-worker`, in the library as in tests. */
export function inlineWorker(): Plugin {
  return {
    name: 'quark:inline-worker',
    resolveId: (id) => (id === INLINE_ID ? `\0${INLINE_ID}` : undefined),
    load: async (id) =>
      id === `\0${INLINE_ID}`
        ? `export default ${JSON.stringify(await buildWorker())};`
        : undefined,
  };
}

/**
 * Fills the seams when the source itself is loaded, by tests and by the development server. The worker is built to a
 * file named by its content, so that test runs beside each other do not overwrite what the other one loads.
 */
export function sourceSeams(): Plugin {
  const workerFile = async (): Promise<string> => {
    const code = await buildWorker();
    const name = `kernel-worker-${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`;
    const file = here(`build/worker/${name}`);
    if (!existsSync(file)) {
      mkdirSync(here('build/worker'), { recursive: true });
      writeFileSync(`${file}.${process.pid}`, code);
      renameSync(`${file}.${process.pid}`, file);
    }
    return file;
  };
  return {
    name: 'quark:source-seams',
    enforce: 'pre',
    async transform(code, id) {
      if (!id.startsWith(here('src/')) || !code.includes('__QUARK_')) return undefined;
      const onServer = this.environment.config.consumer === 'server';
      const file = /__QUARK_(?:NEW_WORKER|WORKER_URL)__/.test(code) ? await workerFile() : '';
      const url = onServer
        ? `new URL(${JSON.stringify(pathToFileURL(file).href)})`
        : `new URL(${JSON.stringify(`/@fs/${file.replace(/^\//, '')}`)}, globalThis.location.href)`;
      const node = onServer
        ? `import(${JSON.stringify(here('src/node.ts'))})`
        : `Promise.reject(new Error('The Node entry was asked for in a browser.'))`;
      return replaceSeams(code, {
        newWorker: `new Worker(${url}, { type: 'module' })`,
        workerUrl: url,
        importNode: node,
      });
    },
  };
}

/**
 * Writes the canonical worker text after all of Vite's own transforms, so that the user's bundler recognises it. The
 * other two go through a variable on purpose: Vite and webpack would emit worker.js a second time, as a plain asset,
 * and follow node.js into its `node:` imports.
 */
export function librarySeams(): Plugin {
  return {
    name: 'quark:library-seams',
    enforce: 'post',
    renderChunk(code) {
      if (!code.includes('__QUARK_')) return null;
      const hidden = (name: string): string =>
        `((name, base) => new URL(name, base))('./${name}', import.meta.url)`;
      return replaceSeams(code, {
        newWorker: `new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })`,
        workerUrl: hidden('worker.js'),
        importNode: `import(/* @vite-ignore */ /* webpackIgnore: true */ ${hidden('node.js')}.href)`,
      });
    },
  };
}

function replaceSeams(
  code: string,
  texts: { newWorker: string; workerUrl: string; importNode: string },
): { code: string; map: null } {
  const replaced = code.replace(PLACEHOLDER, (found) => {
    if (found.startsWith('__QUARK_NEW')) return texts.newWorker;
    return found.startsWith('__QUARK_WORKER') ? texts.workerUrl : texts.importNode;
  });
  return { code: replaced, map: null };
}
