// The links between the documents of this repository lead somewhere: relative links and their anchors, and every file or
// folder that a document names as code (`src/base/errors.ts`, `src/store/sql/*.ts`). So do the files that comments name. Needs no
// build.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Folders of the repository. A name in a document that begins with one of them has to exist. */
const FOLDERS = 'src|dashboard|demo|worker|assembly|test|bench|scripts|deploy|examples|docs'.split(
  '|',
);
const PATH = new RegExp(`^(?:${FOLDERS.join('|')})/[\\w./*-]*$`);
/** A TypeScript file that a comment names in backticks. */
const COMMENT_NAME = /(?<=(?:\/\/|\*).*)`([\w/-]+(?:\.[\w-]+)*\.tsx?)`/g;
/** Written by programs and not committed. */
const GENERATED = /^bench\/results\/|\.generated\.ts$/;

/** Files that Git knows or would add. */
function listFiles(...patterns) {
  const listing = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns],
    { cwd: root, encoding: 'utf8' },
  );
  return [...new Set(listing.split('\n'))].filter(
    (file) => file !== '' && !file.startsWith('test/fixtures/') && existsSync(join(root, file)),
  );
}

/** A document without its blocks of code, line for line. */
function proseLines(text) {
  let isCode = false;
  return text.split('\n').map((line) => {
    if (line.startsWith('```')) {
      isCode = !isCode;
      return '';
    }
    return isCode || line.startsWith('    ') ? '' : line;
  });
}

/** The anchors of a document, as GitHub makes them of its headings. */
export function anchorsOf(text) {
  const counts = new Map();
  return new Set(
    proseLines(text).flatMap((line) => {
      const heading = /^#{1,6} +(.+)$/.exec(line)?.[1];
      if (heading === undefined) return [];
      const anchor = heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-');
      const count = counts.get(anchor) ?? 0;
      counts.set(anchor, count + 1);
      return [count === 0 ? anchor : `${anchor}-${count}`];
    }),
  );
}

/** What is wrong with a link of `file`; undefined when it leads somewhere. */
function linkProblem(file, link) {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return undefined;
  const [path, anchor] = link.split('#');
  const target = path === '' ? join(root, file) : resolve(root, dirname(file), path);
  if (!existsSync(target)) return `there is no ${relative(root, target)}`;
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(target, 'utf8')).has(anchor)
    ? undefined
    : `${relative(root, target)} has no heading for #${anchor}`;
}

/** What is wrong with a file that a document names. */
function nameProblem(name) {
  if (!PATH.test(name) || GENERATED.test(name)) return undefined;
  return matches(name) ? undefined : `there is no ${name}`;
}

/** Whether a path exists; its last part may have stars. */
function matches(name) {
  if (!name.includes('*')) return existsSync(join(root, name));
  const folder = join(root, dirname(name));
  const last = basename(name).replaceAll('.', '\\.').replaceAll('*', '.*');
  return existsSync(folder) && readdirSync(folder).some((entry) => entry.match(`^${last}$`));
}

/** `file:line: problem` of every link and every named file that does not exist, in all documents or in one text. */
export function brokenLinks(
  files = listFiles('*.md'),
  read = (file) => readFileSync(join(root, file), 'utf8'),
) {
  return files.flatMap((file) =>
    proseLines(read(file)).flatMap((line, i) => {
      const code = [...line.matchAll(/`([^`]+)`/g)].map(([, name]) => nameProblem(name));
      const links = [...line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)];
      const problems = [...links.map(([, link]) => linkProblem(file, link)), ...code];
      return problems
        .filter((problem) => problem !== undefined)
        .map((problem) => `${file}:${i + 1}: ${problem}`);
    }),
  );
}

/** `file:line: problem` of every file of ours that a comment names, by its name or the end of its path, and that does not exist. */
export function staleComments(
  files = listFiles('*.ts', '*.tsx', '*.mjs', '*.mts'),
  read = (file) => readFileSync(join(root, file), 'utf8'),
) {
  const known = listFiles().map((file) => `/${file}`);
  return files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, i) =>
        [...line.matchAll(COMMENT_NAME)]
          .map(([, name]) => name)
          .filter((name) => !known.some((path) => path.endsWith(`/${name}`)))
          .map((name) => `${file}:${i + 1}: there is no ${name}`),
      ),
  );
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const files = listFiles('*.md');
  const broken = [...brokenLinks(files), ...staleComments()];
  for (const problem of broken) console.error(problem);
  if (broken.length > 0 || files.length === 0) process.exitCode = 1;
  console.log(`${files.length} documents: ${broken.length} broken links`);
}
