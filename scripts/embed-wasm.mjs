// Writes the release kernels into the sources as text, so that no user of the package has an asset path to configure. Deflated
// first: base64 of plain WebAssembly, gzipped on its way to a page, is half as large again. A function gives the text: a constant would
// be inlined into every chunk that names it.
import { readFileSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { deflateRawSync } from 'node:zlib';

const MODULES = [
  { file: 'quark.wasm', target: 'src/kernel/tensor/wasm.generated.ts' },
  { file: 'relaxed.wasm', target: 'src/kernel/tensor/wasm-relaxed.generated.ts' },
  { file: 'series.wasm', target: 'src/kernel/series/module/wasm.generated.ts' },
  { file: 'unpack.wasm', target: 'src/codecs/packed/wasm.generated.ts' },
];

const read = (file) => readFileSync(new URL(`../build/${file}`, import.meta.url));

// Node 20 has relaxed SIMD behind a flag, and later versions always.
if (!WebAssembly.validate(read('relaxed.wasm')))
  setFlagsFromString('--experimental-wasm-relaxed-simd');

for (const { file, target } of MODULES) {
  const wasm = read(file);
  if (!WebAssembly.validate(wasm))
    throw new Error(`build/${file} is not a valid module; run "npm run wasm".`);
  const text = deflateRawSync(wasm, { level: 9 }).toString('base64');
  writeFileSync(
    new URL(`../${target}`, import.meta.url),
    `// Made by scripts/embed-wasm.mjs from assembly/. Do not edit.\nexport const wasmBase64 = (): string =>\n  '${text}';\n`,
  );
  console.log(`${file}: ${wasm.byteLength} bytes of WebAssembly embedded`);
}
