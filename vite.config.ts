// One file for all of Vite: the library (`vite build`), the demo (`vite build --mode demo`, `vite --mode demo`) and
// the test projects (`vitest`).
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import type { Plugin } from 'vite';
import {
  defineConfig,
  type TestProjectConfiguration,
  type ViteUserConfig,
  type ViteUserConfigFnPromise,
} from 'vitest/config';
import { pagePolicy } from './src/service/node/page-policy.ts';
import { CHROMIUM_ARGS, WEBGL_ARGS, WEBGPU_ARGS, findChromium } from './scripts/chromium.mjs';
import { ENTRIES, sourceOf } from './scripts/entries.mjs';
import { modulesOf, pageChunks } from './scripts/page-chunks.ts';
import { httpStoreAtStart, pageSeams, preloadsInPages } from './scripts/page-plugins.ts';
import { pureInitialisers } from './scripts/pure-initialisers.ts';
import { statementLines } from './scripts/statement-lines.ts';
import {
  inlineWorker,
  inChunks,
  librarySeams,
  oneFile,
  sourceSeams,
} from './scripts/vite-plugins.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Cross-origin isolation: without it a page has no SharedArrayBuffer. */
const headers = {
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const subpaths = (names: readonly string[]): RegExp =>
  new RegExp(`^quark-sdk/(${names.join('|')})$`);

const sourceAlias = [
  { find: /^quark-sdk$/, replacement: here('./src/index.ts') },
  ...ENTRIES.map((name) => ({
    find: subpaths([name]),
    replacement: here(`./src/${sourceOf(name)}`),
  })),
];

/** What a page imports to record, what a session is, the store of most pages, and the whole entry. */
const START = ['src/session/functions.ts', 'src/session/metrics-logger.ts'];
const SESSION = ['src/session/open-session.ts'];
const IDB = ['src/store/idb/idb-store.ts'];
const INDEX = ['src/index.ts'];

/**
 * Chunks of the library and the modules that they begin from, in the order in which a page that records loads them: a module goes to the
 * first that needs it. `session` and `idb` have what the entry does not reach statically: esbuild counts what a chunk of the entry may
 * import as imported, and would have a page load all of it at once.
 */
const CHUNKS = [
  { name: 'version', roots: ['src/base/version.ts'] },
  { name: 'base', roots: ['src/base/errors.ts'] },
  { name: 'start', roots: START },
  { name: 'records', roots: SESSION, within: INDEX },
  { name: 'stores', roots: IDB, within: INDEX },
  { name: 'session', roots: SESSION },
  { name: 'idb', roots: IDB },
  { name: 'core', roots: INDEX },
].map(({ name, roots, within }) => ({
  name,
  roots: roots.map((path) => here(`./${path}`)),
  within: within?.map((path) => here(`./${path}`)),
}));

/**
 * dist/: plain modules side by side, because the worker's URL is relative to the file that names it. The browser
 * entries carry all they need; what only Node uses stays an import. Without white space and with short names of variables, as
 * a third of the package were those; names of functions and classes stay, a statement is a line, and so do the comments by which
 * bundlers know what to leave alone. The user's bundler does the rest.
 */
const library: ViteUserConfig = {
  plugins: [inlineWorker(), librarySeams(), pureInitialisers(), statementLines(), oneFile()],
  publicDir: false,
  build: {
    target: 'es2022',
    outDir: here('./dist'),
    emptyOutDir: true,
    // For tests and profiles here; the package leaves them out, and nothing names them.
    sourcemap: 'hidden',
    minify: false,
    reportCompressedSize: false,
    license: { fileName: 'third-party-licenses.md' },
    lib: {
      entry: {
        ...Object.fromEntries(ENTRIES.map((name) => [name, here(`./src/${sourceOf(name)}`)])),
        cli: here('./src/cli/main.ts'),
        // `#node` of package.json.
        'node-platform': here('./src/node-platform.ts'),
        'page-platform': here('./src/page-platform.ts'),
      },
      formats: ['es'],
      fileName: (_format, name) => `${name}.js`,
    },
    rolldownOptions: {
      optimization: { inlineConst: { mode: 'all' } },
      external: [
        /^node:/,
        /^@tensorflow\//,
        'onnxruntime-web',
        '@duckdb/node-api',
        /^@modelcontextprotocol\//,
      ],
      output: {
        minify: {
          compress: false,
          mangle: { keepNames: true },
          codegen: { removeWhitespace: true },
        },
        // Documentation is in the declarations; what bundlers and lawyers read stays.
        comments: { annotation: true, jsdoc: false, legal: true },
        chunkFileNames: ({ name }) => `chunk-${name.replace(/^_virtual_quark-/, '')}-[hash].js`,
        // The kernels stay apart: analysis alone needs no tensor kernels.
        codeSplitting: {
          groups: inChunks(CHUNKS, /\/src\/kernel\//),
        },
      },
    },
  },
};

/**
 * A host of files only sends no policy, so the page carries one. Its `quark.json` may name a store anywhere; a server of the package
 * allows itself only.
 */
const policyInPage = (): Plugin => ({
  name: 'quark:policy-in-page',
  transformIndexHtml: () => [
    {
      tag: 'meta',
      attrs: {
        'http-equiv': 'content-security-policy',
        content: pagePolicy("'self' http: https:"),
      },
      injectTo: 'head-prepend',
    },
  ],
});

/**
 * The demo is a user of the package, of its public entries alone. It is built from the source of the package, not from dist/, whose
 * entries are chunks that cannot be cut: the list of runs would load what only the training page uses. Its workers share
 * chunks with it: `groups` says which.
 */
const demo = (
  command: 'build' | 'serve',
  groups: ReturnType<typeof pageChunks> = [],
  started?: Set<string>,
): ViteUserConfig => ({
  root: here('./demo'),
  base: './',
  resolve: { alias: sourceAlias },
  plugins:
    command === 'serve'
      ? [inlineWorker(), sourceSeams()]
      : [pageSeams(started), preloadsInPages(), httpStoreAtStart(), policyInPage()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { headers },
  preview: { headers },
  build: {
    target: 'es2022',
    outDir: here('./dist/demo'),
    rolldownOptions: {
      input: {
        index: here('./demo/index.html'),
        'quark-run': here('./dashboard/embed/quark-run.ts'),
      },
      output: {
        // Other pages name it: `<script type="module" src="https://.../quark-run.js">`.
        entryFileNames: ({ name }) =>
          name === 'quark-run' ? 'quark-run.js' : 'assets/[name]-[hash].js',
        chunkFileNames: ({ name }) => `assets/${name.replace(/~.*/, '')}-[hash].js`,
        codeSplitting: { groups },
      },
    },
    emptyOutDir: true,
    reportCompressedSize: false,
    license: { fileName: 'third-party-licenses.md' },
    chunkSizeWarningLimit: 4000,
  },
});

/** How long tests wait on a machine that has other things to do as well: what passes does not get slower by it. */
const PATIENCE = {
  testTimeout: 120_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
};

/** Which folders of `test` belong to which tier; docs/tests.md says what each tier needs. */
const TIERS = {
  fast: ['property', 'unit'],
  integration: [
    'adapters',
    'adding',
    'cli',
    'contract',
    'database',
    'examples',
    'faults',
    'onnx',
    'process',
    'service',
  ],
  browser: ['e2e'],
  release: ['kill', 'package'],
};
/**
 * A whole run has one tier of all: a project has a server and processes of its own, which load and transform the same modules as those
 * of the others.
 */
const isOneTier = (process.env['QUARK_ONE_TIER'] ?? '') !== '';
/** Files named so change their process, or measure it: each has one of its own. Other files share processes and modules. */
const ISOLATED = '**/*.isolated.test.ts';

/** Tests beyond one path of a feature, which `npm run test:long` runs as well; see test/support/long.ts. */
const BEYOND = '**/*.long.test.ts';
const isWhole = (process.env['QUARK_WHOLE'] ?? '') !== '';

/** What only the tests of it ask Git itself for: see there. */
const knownGit = { find: /^\.\/git\.ts$/, replacement: here('./test/support/known-git.ts') };

/** The two projects of a tier in Node: files that share processes, and those that have one each. */
function tierProjects(tier: string, folders: readonly string[]): TestProjectConfiguration[] {
  const include = folders.map((folder) => `test/${folder}/**/*.test.ts`);
  const project = { extends: true as const };
  return [
    {
      ...project,
      test: {
        name: tier,
        include,
        exclude: ['**/*.browser.test.ts', ISOLATED, ...(isWhole ? [] : [BEYOND])],
        isolate: false,
        ...PATIENCE,
      },
    },
    {
      ...project,
      test: {
        name: `${tier}-isolated`,
        include: folders.map((folder) => `test/${folder}/${ISOLATED}`),
        ...PATIENCE,
      },
    },
  ];
}

/** The step "types" of the test commands finds the same errors, with those of all other files. */
const TYPES: TestProjectConfiguration = {
  extends: true,
  test: {
    name: 'types',
    include: [],
    typecheck: {
      enabled: true,
      only: true,
      include: ['test/types/**/*.test-d.ts'],
      ignoreSourceErrors: true, // "npm run types" reports those, once
    },
  },
};

async function tests(): Promise<ViteUserConfig> {
  const { TestOrder } = await import('./scripts/test-order.ts');
  // A machine without any browser can still run the other projects.
  const executablePath = await findChromium().catch(() => undefined);
  const tiers = isOneTier ? { node: Object.values(TIERS).flat() } : TIERS;
  return {
    resolve: { alias: [...sourceAlias, knownGit] },
    plugins: [inlineWorker(), sourceSeams()],
    // Vite leaves out the null of Vitest where there are settings of a server, and watched every file of the project.
    server: { headers, watch: null },
    test: {
      sequence: { sequencer: TestOrder },
      setupFiles: [here('./test/support/fix-seed.ts')],
      projects: [
        ...Object.entries(tiers).flatMap(([tier, folders]) => tierProjects(tier, folders)),
        ...(isOneTier && !isWhole ? [] : [TYPES]),
        {
          extends: true,
          optimizeDeps: {
            // Found only while tests run, one of these would reload the page under them.
            include: [
              'apache-arrow',
              'comlink',
              'idb',
              'fast-check',
              '@uwdata/flechette',
              'hyparquet',
              'hyparquet-compressors',
              '@tensorflow/tfjs',
              '@tensorflow/tfjs-backend-wasm',
            ],
          },
          test: {
            name: 'browser-pages',
            // One page for all files: each would fetch a thousand modules.
            isolate: false,
            include: ['test/**/*.browser.test.ts'],
            env: { QUARK_WHOLE: isWhole ? '1' : '' },
            ...PATIENCE,
            browser: {
              enabled: true,
              headless: true,
              fileParallelism: false, // tests of other projects run beside it
              screenshotFailures: false,
              provider: playwright({
                launchOptions: {
                  args: [...CHROMIUM_ARGS, ...WEBGL_ARGS, ...WEBGPU_ARGS],
                  ...(executablePath === undefined ? {} : { executablePath }),
                },
              }),
              instances: [{ browser: 'chromium' }],
            },
          },
        },
      ],
    },
  };
}

const config: ViteUserConfigFnPromise = defineConfig(async ({ command, mode }) => {
  if (process.env['VITEST']) return tests();
  if (mode !== 'demo') return library;
  if (command === 'serve') return demo(command);
  const started = new Set<string>();
  const list = await modulesOf('index', demo(command));
  return demo(command, pageChunks(list, started), started);
});

export default config;
