/** A process that has one processor: nothing is handed over unless somebody asks for it, and the answers are the same. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROGRAM = `
const { createKernels } = await import(process.argv[1]);
const data = Float32Array.from({ length: 700_000 }, (_, i) => Math.sin(i));
const found = [];
for (const config of [{}, { workers: 1, inlineBytes: 0 }]) {
  const kernels = await createKernels(config);
  const stats = await kernels.tensorStats(data);
  found.push([kernels.diagnostics().handOver.way, stats]);
  await kernels.close();
}
console.log(JSON.stringify(found));
`;

function isThere(): boolean {
  try {
    execFileSync('taskset', ['-c', '0', 'true']);
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!isThere())('one processor computes on the spot', () => {
  const kernels = new URL('../../dist/kernels.js', import.meta.url);
  const child = ['-c', '0', process.execPath, '--input-type=module', '-e', PROGRAM, kernels.href];
  const printed = execFileSync('taskset', child, { cwd: fileURLToPath(new URL('.', kernels)) });
  const found: unknown = JSON.parse(printed.toString());
  const stats: unknown = expect.objectContaining({ elementCount: 700_000 });
  expect(found).toEqual([
    ['none', stats],
    ['ring', stats],
  ]);
  const [[, here], [, there]] = found as [[string, object], [string, object]];
  expect(there).toEqual(here);
});
