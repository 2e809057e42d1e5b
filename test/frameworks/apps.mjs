// The small apps of the matrix: exact versions, the folders that an app is made of, and the ways in which it is built and started.

const next = (...args) => ['next/dist/bin/next', ...args];
const REACT = { react: '19.3.1', 'react-dom': '19.3.1' };
const NEXT_15 = { next: '15.5.29', ...REACT };
const NEXT_16 = { next: '16.4.6', ...REACT };
const STANDALONE = {
  server: '.next/standalone/server.js',
  carries: [['.next/static', '.next/static']],
};
const NUXT = ['nuxt/bin/nuxt.mjs', 'build'];

/**
 * Ways of one app: `setting` is what the user sets, `build` and `start` are a file below node_modules with its arguments, `server` is a
 * file of what was built; `adds` are folders whose files are added to the app. A server that is started `alone` has been copied out of
 * the project first.
 */
export const APPS = [
  {
    name: 'Next 15.5',
    packages: NEXT_15,
    folder: 'next',
    ways: [
      { setting: 'none (webpack)', build: next('build'), start: next('start') },
      { setting: '`--turbopack`', build: next('build', '--turbopack'), start: next('start') },
      { setting: 'none, `next dev`', start: next('dev') },
      {
        setting: "`output: 'standalone'`, `outputFileTracingIncludes`",
        adds: ['next-standalone'],
        build: next('build'),
        ...STANDALONE,
      },
    ],
  },
  {
    name: 'Next 16.4',
    packages: NEXT_16,
    folder: 'next',
    ways: [
      { setting: 'none (Turbopack)', build: next('build'), start: next('start') },
      { setting: '`--webpack`', build: next('build', '--webpack'), start: next('start') },
      { setting: 'none, `next dev`', start: next('dev') },
      {
        setting: "`output: 'standalone'`, `outputFileTracingIncludes`",
        adds: ['next-standalone'],
        build: next('build'),
        ...STANDALONE,
      },
      {
        setting: "a route with `runtime = 'edge'`",
        adds: ['next-edge'],
        build: next('build'),
        start: next('start'),
        edge: '/api/edge',
      },
    ],
  },
  {
    name: 'SvelteKit 3.2',
    node: 22,
    type: 'module',
    packages: {
      '@sveltejs/adapter-node': '6.0.1',
      '@sveltejs/kit': '3.2.0',
      '@sveltejs/vite-plugin-svelte': '7.3.1',
      svelte: '5.57.3',
      vite: '8.3.8',
    },
    folder: 'sveltekit',
    ways: [
      { setting: 'adapter-node', build: ['vite/bin/vite.js', 'build'], server: 'build/index.js' },
    ],
  },
  {
    name: 'Nuxt 4.5',
    node: 22,
    type: 'module',
    packages: { nuxt: '4.5.2' },
    folder: 'nuxt',
    ways: [{ setting: 'none (node-server)', build: NUXT, server: '.output/server/index.mjs' }],
  },
];
