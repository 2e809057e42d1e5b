// What probes cost a training: the same network with and without them, in turn. Needs a build (`npm run build:lib`).
//
//   npm run bench -- overhead                         all of it, some six minutes
//   npm run bench -- overhead --only=small,wasm       rows whose name has all of these words
//   npm run bench -- overhead --only=fit --before=DIR  `quarkCallback` in `fit`, beside that of another build's `dist`
//   npm run bench -- overhead --only=fit --variants=cadence,defaults  of its rows those whose name has one of these words
//   npm run bench -- overhead --seconds=60            longer, for a noisy machine (20 for each network on a backend)
import { fileURLToPath, pathToFileURL } from 'node:url';
import { save } from './harness.mjs';
import { measureFit, FIT_VARIANTS } from './overhead/fit.mjs';
import { measureOnnx } from './overhead/onnx.mjs';
import { measureTfjs } from './overhead/tfjs.mjs';
import { VARIANTS } from './overhead/variants.mjs';

const options = new Map(
  process.argv.slice(2).map((argument) => argument.replace(/^--/, '').split('=')),
);
const words = options.get('only')?.split(',') ?? [];
const seconds = Number(options.get('seconds') ?? 20);
const fitWords = options.get('variants')?.split(',') ?? [''];
const fitVariants = FIT_VARIANTS.filter(({ name }) => fitWords.some((word) => name.includes(word)));

/** Steps between two measurements: enough for a time of some tens of milliseconds, and for a probe. */
const CASES = [
  { network: 'small dense', where: 'Node', backend: 'wasm', steps: 100 },
  { network: 'small dense', where: 'Node', backend: 'cpu', steps: 50 },
  { network: 'convolutional', where: 'Node', backend: 'cpu', steps: 10 },
  { network: 'larger dense', where: 'Node', backend: 'wasm', steps: 20 },
  { network: 'larger dense', where: 'Node', backend: 'cpu', steps: 5, batch: 8 },
  { network: 'small dense', where: 'Chromium', backend: 'wasm', steps: 100 },
  { network: 'larger dense', where: 'Chromium', backend: 'wasm', steps: 20 },
  { network: 'small dense', where: 'Chromium', backend: 'webgl', steps: 20 },
  { network: 'convolutional', where: 'Chromium', backend: 'webgl', steps: 20 },
  { network: 'larger dense', where: 'Chromium', backend: 'webgl', steps: 10 },
  { network: 'telemetry, small dense', where: 'Node', backend: 'wasm', steps: 100 },
  { network: 'dense, fit', where: 'Node', backend: 'wasm', steps: 300 },
  { network: 'dense, fit', where: 'Node', backend: 'cpu', steps: 300 },
  { network: 'convolutional, fit', where: 'Node', backend: 'cpu', steps: 60 },
  { network: 'LSTM, fit', where: 'Node', backend: 'cpu', steps: 40 },
  { network: 'ONNX trainer', where: 'Node', backend: 'wasm', steps: 100 },
  { network: 'ONNX model', where: 'Node', backend: 'wasm', steps: 100 },
];

const named = CASES.map((one) => ({
  ...one,
  name: `${one.network}, ${one.backend} in ${one.where}`,
}));
const wanted = named.filter(({ name }) =>
  words.every((word) => name.toLowerCase().includes(word.toLowerCase())),
);
if (wanted.length === 0) {
  console.error(`Nothing has all of ${words.join(', ')} in its name. There are:`);
  for (const { name } of named) console.error(`  ${name}`);
  process.exit(2);
}

const rows = [];
const signed = (value, digits = 1) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(digits)}`;

function print(name, found) {
  console.log(
    `\n${name}: ${found[0].stepMs.toFixed(2)} ms a step without, ${found[0].rounds} rounds`,
  );
  for (const row of found) {
    rows.push({ what: `${name}: ${row.variant}`, value: row.percent, unit: '% more time', ...row });
    const {
      percentQuartiles: [low, high],
      processorPercent,
      blockMs,
      blockP95Ms,
      firstBlockMs,
    } = row;
    const parts = [
      `  ${row.variant.padEnd(24)}${signed(row.percent).padStart(7)} % (${signed(low)} to ${signed(high)})`,
      `best rounds ${signed(row.leastPercent)} %`,
      processorPercent === null ? '' : `processor ${signed(processorPercent)} %`,
      blockMs === null
        ? ''
        : `block ${blockMs.toFixed(2)} ms (95 %: ${blockP95Ms.toFixed(2)}, first: ${firstBlockMs.toFixed(1)})`,
      row.skipped > 0 ? `${row.skipped} left out` : '',
      row.target === undefined ? '' : `at most ${row.target} %`,
    ];
    console.log(parts.filter((part) => part !== '').join('  '));
  }
}

const variantsOf = ({ network, steps }) =>
  network.startsWith('telemetry')
    ? [{ name: 'SystemTelemetry, cadence 1', telemetry: true }]
    : VARIANTS.filter(({ every }) => every <= 10 || steps >= 20);

const libraryOf = async (folder) =>
  Object.assign(
    {},
    ...(await Promise.all(
      ['index', 'probes', 'tfjs', 'onnx'].map((entry) => import(`${folder}/${entry}.js`)),
    )),
  );

function printFit(name, found) {
  const text = ([value, low, high]) => `${signed(value)} % (${signed(low)} to ${signed(high)})`;
  console.log(
    `\n${name}: ${found[0].stepMs.toFixed(2)} ms of the thread a step, ${found[0].rounds} rounds`,
  );
  const probesOf = ({ build, probes, variant }) => {
    const before = found.find((row) => row.variant === variant && row.build === 'before');
    const beside = build === 'now' && before ? `, ${before.probes.join(' and ')} before` : '';
    return `${probes.join(' and ')}${beside}`;
  };
  for (const row of found) {
    rows.push({
      what: `${name}: ${row.variant} ${row.build}`,
      value: row.thread[0],
      unit: '%',
      ...row,
    });
    console.log(
      `  ${`${row.variant} ${row.build}`.padEnd(42)} thread ${text(row.thread)}  best ${signed(row.leastThread)} %  wall ${text(row.wall)}  probes of layers and parameters ${probesOf(row)}`,
    );
  }
}

async function inNode(cases) {
  if (cases.length === 0) return;
  const lib = await libraryOf('../dist');
  const before = options.get('before');
  const libs =
    before === undefined
      ? { now: lib }
      : { before: await libraryOf(pathToFileURL(before).href), now: lib };
  const tf = await import('@tensorflow/tfjs');
  await import('@tensorflow/tfjs-backend-wasm');
  tf.enableProdMode();
  for (const one of cases) {
    const { name, network, backend, steps, batch } = one;
    if (network.startsWith('ONNX')) {
      const ort = await import('onnxruntime-web');
      ort.env.wasm.numThreads = 1;
      print(name, await measureOnnx(lib, ort, network, { seconds, steps }));
      continue;
    }
    await tf.setBackend(backend);
    await tf.ready();
    if (network.endsWith(', fit')) {
      printFit(name, await measureFit(libs, tf, network, { seconds, variants: fitVariants }));
      continue;
    }
    const known = network.replace('telemetry, ', '');
    print(
      name,
      await measureTfjs(lib, tf, known, { seconds, steps, batch, variants: variantsOf(one) }),
    );
  }
}

async function measureInChromium(cases) {
  if (cases.length === 0) return;
  const { inChromium } = await import('./chromium.mjs');
  const { WEBGL_ARGS } = await import('../scripts/chromium.mjs');
  const root = fileURLToPath(new URL('../', import.meta.url));
  const index = '<!doctype html><title>bench</title>';
  await inChromium(root, { index, isIsolated: true, args: WEBGL_ARGS }, async (browser, url) => {
    for (const one of cases) {
      const page = await browser.newPage();
      await page.goto(url);
      const scripts = '/node_modules/@tensorflow';
      await page.addScriptTag({ url: `${scripts}/tfjs/dist/tf.min.js` });
      await page.addScriptTag({ url: `${scripts}/tfjs-backend-wasm/dist/tf-backend-wasm.min.js` });
      const found = await page.evaluate(
        async ({ network, backend, settings, folder, part }) => {
          const { tf } = globalThis;
          tf.enableProdMode();
          tf.wasm.setWasmPaths(folder);
          tf.wasm.setThreadsCount?.(1);
          await tf.setBackend(backend);
          await tf.ready();
          const lib = {
            ...(await import('/dist/index.js')),
            ...(await import('/dist/probes.js')),
            ...(await import('/dist/tfjs.js')),
          };
          const own = await import(part);
          return own.measureTfjs(lib, tf, network, settings);
        },
        {
          network: one.network,
          backend: one.backend,
          settings: { seconds, steps: one.steps, variants: variantsOf(one) },
          folder: `${scripts}/tfjs-backend-wasm/dist/`,
          part: '/bench/overhead/tfjs.mjs',
        },
      );
      print(one.name, found);
      await page.close();
    }
  });
}

console.log(`overhead: ${wanted.length} networks on a backend, ${seconds} s or more each`);
await inNode(wanted.filter(({ where }) => where === 'Node'));
await measureInChromium(wanted.filter(({ where }) => where === 'Chromium'));
await save('overhead', rows);
