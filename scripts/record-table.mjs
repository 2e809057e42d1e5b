// Makes tables in Markdown, and writes one that a command has made to a document, between the marks of its name, with the day and the commit.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, root } from './run-program.mjs';

/** A line of a Markdown table. */
export const tableLine = (cells) => `| ${cells.join(' | ')} |`;

/** A Markdown table; `rule` has the alignment of each column. */
export const tableText = (titles, rows, rule = titles.map(() => '---')) =>
  [titles, rule, ...rows].map(tableLine).join('\n');

/** Replaces the table between `<!-- NAME: begin -->` and `<!-- NAME: end -->`, in docs/policy.md unless `document` is another. */
export function recordTable(name, table, document = 'docs/policy.md') {
  const file = join(root, document);
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const text = readFileSync(file, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has lost its marks of ${name}.`);
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  const said = `${new Date().toISOString().slice(0, 10)}, commit ${commit.trim()}:`;
  const before = text.slice(0, from + begin.length);
  writeFileSync(file, `${before}\n\n${said}\n\n${table}\n\n${text.slice(to)}`);
  execFileSync(bin('oxfmt'), [file], { cwd: root, shell: process.platform === 'win32' });
}
