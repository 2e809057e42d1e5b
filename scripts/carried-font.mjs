// A font that the tests and the images of the documentation bring: Open Sans (SIL Open Font License 1.1), which the package
// `@sparticuz/chromium` carries. With it text has the same widths on every machine.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { tarEntries } from './tar.mjs';

const FACES = [
  ['OpenSans-Regular.ttf', '400', 'normal'],
  ['OpenSans-Bold.ttf', '700', 'normal'],
  ['OpenSans-Italic.ttf', '400', 'italic'],
];

/** A script for `addInitScript`: every page and frame is written in the font from its beginning. */
export function carriedFontScript() {
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const packed = readFileSync(resolve(dirname(entry), '../bin/fonts.tar.br'));
  const files = new Map(
    [...tarEntries(brotliDecompressSync(packed))].map(({ name, content }) => [
      name.split('/').at(-1),
      content,
    ]),
  );
  const faces = FACES.map(([name, weight, style]) => {
    const content = files.get(name);
    if (content === undefined) throw new Error(`@sparticuz/chromium has no ${name} any more.`);
    return { weight, style, base64: content.toString('base64') };
  });
  // Bytes and a sheet made by script are loaded under any policy of the page.
  return `(() => {
  for (const { base64, ...how } of ${JSON.stringify(faces)})
    document.fonts.add(new FontFace('Carried', Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), how));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(':root { --font: Carried !important; }');
  document.adoptedStyleSheets.push(sheet);
})();`;
}
