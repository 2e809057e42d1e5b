// Writes the release kernels into the sources as text, so that no user of the package has an asset path to configure.
import { readFileSync, writeFileSync } from 'node:fs';

const MODULES = [
  { file: 'quark.wasm', target: 'src/kernel/wasm.generated.ts' },
  { file: 'series.wasm', target: 'src/kernel/series/wasm.generated.ts' },
];

for (const { file, target } of MODULES) {
  const wasm = readFileSync(new URL(`../build/${file}`, import.meta.url));
  if (!WebAssembly.validate(wasm))
    throw new Error(`build/${file} is not a valid module; run "npm run wasm".`);
  writeFileSync(
    new URL(`../${target}`, import.meta.url),
    `// Made by scripts/embed-wasm.mjs from assembly/. Do not edit.\nexport const WASM_BASE64: string =\n  '${wasm.toString('base64')}';\n`,
  );
  console.log(`${file}: ${wasm.byteLength} bytes of WebAssembly embedded`);
}
