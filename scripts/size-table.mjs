// The table of docs/sizes.md: what the build counts is compared with it, what takes an install or a clock is only written.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packPackage } from './pack.mjs';
import { recordTable, tableText } from './record-table.mjs';
import { root } from './run-program.mjs';
import { measuredTable } from './size-measures.mjs';

const DOCUMENT = 'docs/sizes.md';
/** A figure may be off by so much before the table has to be written anew. */
const TOLERANCE = 0.03;
const TOLERANCE_BYTES = 500;

const grouped = (number) => number.toLocaleString('en-US');

/** Does work with the tarball of what is built. */
function withTarball(work) {
  const folder = mkdtempSync(join(tmpdir(), 'quark-size-'));
  try {
    return work(packPackage(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the packed package weighs. */
export const tarballRows = () =>
  withTarball(({ size, unpackedSize, files }) => [
    { name: 'tarball', bytes: size, files },
    { name: 'tarball, unpacked', bytes: unpackedSize, files },
  ]);

/** Writes both tables. */
export function writeSizes(rows) {
  const cells = rows.map(({ name, bytes, allowed, files }) => [
    name,
    grouped(bytes),
    allowed === undefined ? '' : grouped(allowed),
    files ?? '',
  ]);
  const rule = ['---', '--:', '--:', '--:'];
  const table = tableText(['what', 'bytes', 'allowed', 'files'], cells, rule);
  recordTable('sizes', table, DOCUMENT);
  recordTable('measures', withTarball(measuredTable), DOCUMENT);
}

/** The bytes of the table, by name. */
export function readSizes() {
  const text = readFileSync(join(root, DOCUMENT), 'utf8');
  const from = text.indexOf('<!-- sizes: begin -->');
  const table = text.slice(from, text.indexOf('<!-- sizes: end -->'));
  const rows = [...table.matchAll(/^\| (.+?) +\| +([\d,]+) \|/gm)];
  return new Map(rows.map(([, name, bytes]) => [name, Number(bytes.replaceAll(',', ''))]));
}

/** Sentences about rows that differ from what is written by more than the tolerance, and about those that only one side has. */
export function differencesFrom(written, rows) {
  const names = new Set(rows.map(({ name }) => name));
  return [
    ...rows.flatMap(({ name, bytes }) => {
      const before = written.get(name);
      if (before === undefined) return [`${name}: ${grouped(bytes)} bytes, and no row.`];
      const isNear = Math.abs(bytes - before) <= Math.max(TOLERANCE_BYTES, before * TOLERANCE);
      return isNear ? [] : [`${name}: ${grouped(bytes)} bytes, written are ${grouped(before)}.`];
    }),
    ...[...written.keys()]
      .filter((name) => !names.has(name))
      .map((name) => `${name}: a row of what is not counted.`),
  ];
}
