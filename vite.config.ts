// One file for all of Vite: the library (`vite build`), the demo (`vite build --mode demo`, `vite --mode demo`) and
// the test projects (`vitest`).
import { fileURLToPath } from 'node:url';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { CHROMIUM_ARGS, WEBGL_ARGS, findChromium } from './scripts/chromium.mjs';
import { inlineWorker, sourceSeams } from './scripts/vite-plugins.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Cross-origin isolation: without it a page has no SharedArrayBuffer. */
const headers = {
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const sourceAlias = [
  { find: /^quark-sdk$/, replacement: here('./src/index.ts') },
  { find: /^quark-sdk\/(node|tfjs|onnx|exchange)$/, replacement: here('./src/$1.ts') },
];

async function testConfig(): Promise<ViteUserConfig> {
  // A machine without any browser can still run the other projects.
  const executablePath = await findChromium().catch(() => undefined);
  return {
    resolve: { alias: sourceAlias },
    plugins: [inlineWorker(), sourceSeams()],
    server: { headers },
    test: {
      projects: [
        {
          extends: true,
          test: {
            name: 'node',
            include: ['test/**/*.test.ts'],
            exclude: ['**/*.browser.test.ts', 'test/package/**'],
            benchmark: { include: ['test/bench/**/*.bench.ts'] },
            testTimeout: 30_000,
          },
        },
        {
          extends: true,
          test: {
            name: 'types',
            include: [],
            typecheck: { enabled: true, only: true, include: ['test/types/**/*.test-d.ts'] },
          },
        },
        {
          extends: true,
          test: {
            name: 'package',
            include: ['test/package/**/*.test.ts'],
            testTimeout: 120_000,
            hookTimeout: 240_000,
            fileParallelism: false,
          },
        },
        {
          extends: true,
          optimizeDeps: { include: ['apache-arrow', 'comlink', 'idb'] },
          test: {
            name: 'browser',
            include: ['test/**/*.browser.test.ts'],
            benchmark: { include: [] },
            testTimeout: 30_000,
            browser: {
              enabled: true,
              headless: true,
              screenshotFailures: false,
              provider: playwright({
                launchOptions: {
                  args: [...CHROMIUM_ARGS, ...WEBGL_ARGS],
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

export default defineConfig(async () => {
  return testConfig();
});
