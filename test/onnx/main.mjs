// `npm run onnx:matrix`: opens, looks into, trains, checks and saves a list of ONNX files as exporters write them, and prints a table.
// `-- --write` writes it to docs/onnx.md, `-- NAME` runs the files whose name or exporter has this in it. Exit code 1 on any failure.
import { join } from 'node:path';
import * as ort from 'onnxruntime-web';
import { runnerImport } from 'vite';
import { recordTable } from '../../scripts/record-table.mjs';
import { root } from '../../scripts/run-program.mjs';

const load = async (file) =>
  (await runnerImport(join(root, file), { configFile: false, root, logLevel: 'error' })).module;

const args = process.argv.slice(2);
const isWritten = args.includes('--write');
const wanted = args.filter((argument) => !argument.startsWith('--'));
if (args.some((argument) => argument.startsWith('--') && argument !== '--write')) {
  console.error('npm run onnx:matrix [-- [--write] [NAME...]]');
  process.exit(2);
}
if (isWritten && wanted.length > 0) {
  console.error('--write takes the whole list, and no names.');
  process.exit(2);
}

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const { MODEL_CASES } = await load('test/onnx/list.ts');
const { runCase, STAGES } = await load('test/onnx/stages.ts');
const cases = MODEL_CASES.filter(
  ({ name, exporter }) =>
    wanted.length === 0 || wanted.some((part) => `${name} ${exporter}`.includes(part)),
);

const row = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const results = [];
for (const test of cases) {
  const result = await runCase(test);
  results.push(result);
  const { name, failed, found, refusal } = result;
  const said =
    failed === null
      ? refusal === null
        ? 'trains'
        : 'is refused'
      : `FAILED: ${failed}: ${found[failed]}`;
  process.stderr.write(`${name}: ${said}\n`);
}

const ofFile = ({ name, exporter, found, failed }) => [
  name,
  exporter,
  ...STAGES.map((stage) => (stage === failed ? '**failed**' : (found[stage] ?? ''))),
];
const table = [
  row(['file', 'exporter', ...STAGES]),
  row(Array(STAGES.length + 2).fill('---')),
  ...results.map((result) => row(ofFile(result))),
].join('\n');
const refused = results.filter(({ refusal, failed }) => refusal !== null && failed === null);
const reasons = [
  row(['refused', 'what it is told']),
  row(['---', '---']),
  ...refused.map(({ name, refusal }) => row([name, refusal])),
].join('\n');
const failed = results.filter((result) => result.failed !== null);
const passed = results.length - failed.length;
const sum = `${passed} passed, ${failed.length} failed`;
console.log(`${table}\n\n${reasons}\n`);
for (const { name, found, failed: stage } of failed)
  console.log(`${name}: ${stage}: ${found[stage]}`);
console.log(`${passed - refused.length} are trained, ${refused.length} are refused.`);
if (isWritten) {
  const trained = `${passed - refused.length} are trained, ${refused.length} are refused; ${sum}.`;
  recordTable('onnx matrix', `${trained}\n\n${table}\n\n${reasons}`, 'docs/onnx.md');
}
console.log(sum);
process.exit(failed.length > 0 ? 1 : 0);
