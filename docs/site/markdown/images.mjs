// Images with a variant for each scheme. The switch of the page decides which is shown, not only the system: so both are in the page,
// one of them hidden, and a browser loads a hidden lazy image not at all.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../pages/navigation.mjs';

const FOLDER = 'docs/images/';
const isDarkMedia = /prefers-color-scheme:\s*dark/;

/** The file of the dark variant of an image of docs/images; undefined where it has one for both. */
export function darkVariant(file) {
  const dark = file.replace(/-light(\.\w+)$/, '-dark$1');
  return dark !== file && existsSync(join(root, dark)) ? dark : undefined;
}

/** Whether a drawing changes its colours by the scheme of the system. */
export const hasSchemes = (file) =>
  file.endsWith('.svg') && isDarkMedia.test(readFileSync(join(root, file), 'utf8'));

/** A drawing as it is in one scheme, whatever the system has. */
export const inScheme = (svg, scheme) =>
  svg.replaceAll(/\(\s*prefers-color-scheme:\s*(dark|light)\s*\)/g, (_, asked) =>
    asked === scheme ? '(min-width: 0)' : '(max-width: 0)',
  );

/** The name of a drawing in one scheme. */
export const schemeName = (file, scheme) => file.replace(/\.svg$/, `.${scheme}.svg`);

/** Width and height of an image in pixels, from its first bytes; undefined for other formats than WebP and PNG. */
export function sizeOf(file) {
  const bytes = readFileSync(join(root, file));
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1];
  if (kind === 'VP8 ') return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff];
  if (kind === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
  }
  return kind === 'IHDR' ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : undefined;
}

/** The files that an image of a document needs: one, or `light` and `dark`. */
export function variantsOf(file) {
  const dark = darkVariant(file);
  if (dark !== undefined) return { light: file, dark };
  if (hasSchemes(file)) return { light: schemeName(file, 'light'), dark: schemeName(file, 'dark') };
  return { both: file };
}

/** Whether the site has an image. */
export const isImage = (file) => file.startsWith(FOLDER) && existsSync(join(root, file));
