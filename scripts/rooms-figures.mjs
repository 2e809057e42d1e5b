// Figures of the house: lines, long functions, long parameter lists, names with several owners. `limits` of rooms.json
// holds the house to them.
import { declaredExports, lineAt, lineCount, passedOn, walk } from './rooms-tree.mjs';

/** The house before its rooms were declared, at commit ee4c699. */
const BASELINE = {
  src: 103_474,
  pages: 15_959,
  long: 56,
  tooLong: 15,
  manyParameters: 28,
  sharedNames: 79,
};

const LONG = 60;
const TOO_LONG = 90;
const MAX_PARAMETERS = 5;
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
/** A part of a suite is one function that registers many tests. */
const isSuite = (path) => path.startsWith('src/store/testing/');
const isKernel = (path) => path.startsWith('src/kernel/');

/** All figures of a tree. Functions are counted from their first to their last line. */
export function figuresOf(files) {
  const code = files.filter(({ isCode }) => isCode);
  const publicNames = publicDeclarations(code);
  const functions = code
    .filter(({ path }) => !isSuite(path))
    .flatMap((file) => functionsOf(file, publicNames));
  const long = functions
    .filter(({ lines }) => lines > LONG)
    .toSorted((a, b) => b.lines - a.lines || a.at.localeCompare(b.at));
  const total = (tops) =>
    files
      .filter(({ path }) => tops.some((top) => path.startsWith(top)))
      .reduce((sum, file) => sum + lineCount(file), 0);
  return {
    lines: { src: total(['src/']), pages: total(['dashboard/', 'demo/']) },
    long,
    tooLong: long.filter(({ lines }) => lines > TOO_LONG),
    manyParameters: functions.filter(
      ({ path, parameters, isPublic }) =>
        parameters > MAX_PARAMETERS && !isKernel(path) && !isPublic,
    ),
    sharedNames: sharedNames(code),
  };
}

function functionsOf(file, publicNames) {
  const found = [];
  walk(file, (node, parents) => {
    if (!FUNCTIONS.has(node.type) || !node.body) return;
    const first = lineAt(file, node.start);
    const { name, owner } = nameOf(node, parents);
    const parameters = node.params.filter((each) => each.name !== 'this').length;
    found.push({
      path: file.path,
      at: `${file.path}:${first}`,
      name,
      lines: lineAt(file, node.end) - first + 1,
      parameters,
      isPublic: !name.startsWith('#') && publicNames.has(`${file.path} ${owner}`),
    });
  });
  return found;
}

/** What a function is called, and the declaration at the top of the file that its signature belongs to. */
function nameOf(node, parents) {
  if (node.id) return { name: node.id.name, owner: parents.length <= 2 ? node.id.name : undefined };
  const parent = parents.at(-1);
  const key = parent.key ?? parent.id;
  const name = key?.type === 'PrivateIdentifier' ? `#${key.name}` : (key?.name ?? '(unnamed)');
  if (parent.type === 'VariableDeclarator') {
    return { name, owner: parents.length <= 4 ? name : undefined };
  }
  const owner = parent.type === 'MethodDefinition' ? parents.at(-3)?.id?.name : undefined;
  return { name, owner };
}

/** `path name` of every declaration that an entry of the package exports. */
function publicDeclarations(code) {
  const byPath = new Map(code.map((file) => [file.path, file]));
  const found = new Set();
  const follow = (path, name) => {
    const file = byPath.get(path);
    if (file === undefined || found.has(`${path} ${name}`)) return;
    const next = passedOn(file).get(name);
    if (next) follow(...next);
    else found.add(`${path} ${name}`);
  };
  for (const file of code) {
    if (!/^src\/[^/]+$/.test(file.path)) continue;
    for (const name of passedOn(file).keys()) follow(file.path, name);
    for (const name of declaredExports(file)) found.add(`${file.path} ${name}`);
  }
  return found;
}

/** Names that several files declare and export: name to files. */
function sharedNames(code) {
  const owners = new Map();
  for (const file of code) {
    for (const name of declaredExports(file)) {
      owners.set(name, [...(owners.get(name) ?? []), file.path]);
    }
  }
  return new Map(
    [...owners]
      .filter(([name, paths]) => paths.length > 1 && name !== 'default')
      .toSorted(([a], [b]) => a.localeCompare(b)),
  );
}

const share = (lines, before) => `${(100 * (lines / before - 1)).toFixed(1)} %`;

/** The figures as text, a line each, with what is behind them. */
export function figureLines({ lines, long, tooLong, manyParameters, sharedNames: shared }) {
  const list = (items) => items.map((item) => `  ${item}`);
  return [
    `lines of src: ${lines.src} (${share(lines.src, BASELINE.src)} of ${BASELINE.src})`,
    `lines of dashboard and demo: ${lines.pages} (${share(lines.pages, BASELINE.pages)} of ${BASELINE.pages})`,
    `functions over ${LONG} lines: ${long.length} (of ${BASELINE.long}), over ${TOO_LONG}: ${tooLong.length} (of ${BASELINE.tooLong})`,
    ...list(long.map(({ at, name, lines: size }) => `${size} ${at} ${name}`)),
    `functions outside kernels with more than ${MAX_PARAMETERS} parameters, public ones left out: ${manyParameters.length} (of ${BASELINE.manyParameters})`,
    ...list(manyParameters.map(({ at, name, parameters }) => `${parameters} ${at} ${name}`)),
    `names exported by several files: ${shared.size} (of ${BASELINE.sharedNames})`,
    ...list([...shared].map(([name, paths]) => `${name}: ${paths.join(', ')}`)),
  ];
}

/** What exceeds the limits of rooms.json. A limit that is not declared is not checked. */
export function limitErrors(limits, figures) {
  const errors = [];
  const atMost = (what, count, limit) => {
    if (limit !== undefined && count > limit) errors.push(`${what}: ${count}, at most ${limit}`);
  };
  atMost('lines of src', figures.lines.src, limits.srcLines);
  atMost('lines of dashboard and demo', figures.lines.pages, limits.pageLines);
  atMost(`functions over ${LONG} lines`, figures.long.length, limits.functionsOver60);
  for (const { at, name, lines } of limits.functionsOver60 === undefined ? [] : figures.tooLong) {
    errors.push(`${at}: ${name} has ${lines} lines, at most ${TOO_LONG}`);
  }
  if (limits.parameters !== undefined) {
    for (const { at, name, parameters } of figures.manyParameters) {
      errors.push(`${at}: ${name} has ${parameters} parameters, at most ${MAX_PARAMETERS}`);
    }
  }
  if (limits.sharedNames) errors.push(...sharedNameErrors(limits.sharedNames, figures.sharedNames));
  return errors;
}

/** Names that mean two different things, at most: each is a trap for somebody who searches. */
const MAX_HOMONYMS = 10;

/**
 * What is wrong with the names that several files export. `twins` are one thing in several forms (two drivers of a call);
 * `homonyms` are different things. Each has its reason.
 */
function sharedNameErrors({ twins, homonyms }, shared) {
  const listed = new Set([...Object.keys(twins), ...Object.keys(homonyms)]);
  const errors = [...shared]
    .filter(([name]) => !listed.has(name))
    .map(
      ([name, paths]) => `${name}: exported by ${paths.join(' and ')}; one name has one meaning`,
    );
  for (const name of listed) {
    if (!shared.has(name)) errors.push(`rooms.json, shared names: ${name} has one owner by now`);
  }
  const count = Object.keys(homonyms).length;
  if (count > MAX_HOMONYMS) {
    errors.push(`rooms.json: ${count} names with different meanings, at most ${MAX_HOMONYMS}`);
  }
  return errors;
}
