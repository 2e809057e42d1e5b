// Writes the release kernels into the sources as text, so that no user of the package has an asset path to configure.
import { readFileSync, writeFileSync } from 'node:fs';

const wasm = readFileSync(new URL('../build/quark.wasm', import.meta.url));
if (!WebAssembly.validate(wasm))
  throw new Error('build/quark.wasm is not a valid module; run "npm run wasm".');
writeFileSync(
  new URL('../src/kernel/wasm.generated.ts', import.meta.url),
  `// Made by scripts/embed-wasm.mjs from assembly/. Do not edit.\nexport const WASM_BASE64: string =\n  '${wasm.toString('base64')}';\n`,
);
console.log(`kernels: ${wasm.byteLength} bytes of WebAssembly embedded`);
