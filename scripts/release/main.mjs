// `npm run release`: every check of a release, and what it publishes, in build/release. Nothing is published from here: the workflow
// .github/workflows/release.yml does that, or `npm publish build/release/package.tgz`.
//
//   npm run release                        every step
//   npm run release -- --only owner,names  some steps
//   npm run release -- --tag v1.2.0        the tag has to be the version of package.json
//   npm run release -- --record            writes releases/VERSION.json, by which the next release is compared
//   npm run release -- --guard             what `npm publish` asks first: the owner's fields, and that this commit passed all steps
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packPackage } from '../pack.mjs';
import { root, run, script } from '../run-program.mjs';
import { billOfMaterials, packagesOfRelease } from './bill.mjs';
import * as checks from './checks.mjs';
import { factsBefore, factsFile, factsOfBuild } from './facts.mjs';

const folder = join(root, 'build/release');
const tarball = join(folder, 'package.tgz');
const checkedFile = join(folder, 'checked.json');
const read = (path) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json'));
const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();

/** How much a bundle may grow between two releases without a word in the change log. */
const GROWTH = 0.05;

const LIMIT_MS = 60 * 60_000;

/** A script of package.json as a step: its exit code decides. */
const runs = (name) => async () => {
  const [command, args] = script(name);
  const code = await run(command, args, { limitMs: LIMIT_MS });
  return code === 0 ? [] : [`"npm run ${name}" ended with ${code}.`];
};

let facts;

async function readFacts() {
  facts ??= await factsOfBuild(manifest.version, existsSync(tarball) ? statSync(tarball).size : 0);
  return facts;
}

function packTarball() {
  mkdirSync(folder, { recursive: true });
  const { tarball: packed, size, unpackedSize } = packPackage(folder);
  renameSync(packed, tarball);
  console.log(
    `${(size / 1e6).toFixed(1)} MB packed, ${(unpackedSize / 1e6).toFixed(1)} MB unpacked`,
  );
  return [];
}

async function compareNames() {
  const before = factsBefore(manifest.version);
  const { names } = await readFacts();
  if (!before) {
    console.log('There is no release before this one to compare with.');
    return [];
  }
  const added = checks.namesMissingFrom(names, before.names);
  const removed = checks.namesMissingFrom(before.names, names);
  console.log(`${added.length} names added since ${before.version}:\n  ${added.join('\n  ')}`);
  if (checks.mayRemoveNames(before.version, manifest.version)) {
    const told = read('CHANGELOG.md');
    const untold = removed.filter((name) => !told.includes(`\`${name.split(': ')[1]}\``));
    return untold.map((name) => `${name} is gone, and CHANGELOG.md does not name it.`);
  }
  return removed.map((name) => `${name} is gone: that needs a new major version.`);
}

async function compareSizes() {
  const before = factsBefore(manifest.version);
  const { bytes } = await readFacts();
  for (const [name, size] of Object.entries(bytes))
    console.log(`${name}: ${size} bytes${before ? `, ${before.bytes[name] ?? 0} before` : ''}`);
  if (!before) return [];
  const section = checks
    .sectionsOf(read('CHANGELOG.md'))
    .find(({ version }) => version === manifest.version);
  return checks
    .grownSizes(before.bytes, bytes, GROWTH)
    .filter(({ name }) => !section?.text.includes(name))
    .map(
      (grown) =>
        `${grown.name} has grown from ${grown.before} to ${grown.after} bytes, and the change log does not name it.`,
    );
}

function checkLicences() {
  const { installed, bundled } = packagesOfRelease();
  console.log(`${installed.length} packages installed, ${bundled.length} bundled`);
  return [...installed, ...bundled]
    .filter(({ licence }) => !checks.isAllowedLicence(licence))
    .map(({ name, version, licence }) => `${name} ${version} has the licence ${licence}.`);
}

function writeBill() {
  mkdirSync(folder, { recursive: true });
  const bill = billOfMaterials(manifest, packagesOfRelease());
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
  return bill.components.length > 0 ? [] : ['The bill of materials is empty.'];
}

async function writeNotes() {
  const section = checks
    .sectionsOf(read('CHANGELOG.md'))
    .find(({ version }) => version === manifest.version);
  if (!section) return [`CHANGELOG.md has no section of ${manifest.version}.`];
  const { bytes } = await readFacts();
  const rows = Object.entries(bytes).map(
    ([name, size]) => `| ${name} | ${(size / 1000).toFixed(1)} |`,
  );
  const table = ['| what | kB |', '| --- | ---: |', ...rows].join('\n');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'notes.md'),
    `# ${manifest.name} ${manifest.version}\n\n${section.text}\n\n## Sizes\n\n${table}\n`,
  );
  return [];
}

/** Every step with what it asks, in order; the cheap ones come first. Each gives its problems. */
const STEPS = [
  [
    'tree',
    'nothing is changed or untracked',
    () => git('status', '--porcelain').split('\n').filter(Boolean),
  ],
  [
    'owner',
    'the owner has filled in repository, homepage, bugs and author',
    () =>
      checks
        .emptyOwnerFields(manifest)
        .map((field) => `"${field}" of package.json is empty: the owner fills it.`),
  ],
  [
    'changelog',
    'CHANGELOG.md has a dated section of this version',
    () => checks.changelogProblems(read('CHANGELOG.md'), manifest.version),
  ],
  ['tests', 'npm test, which builds', runs('test')],
  ['licences', 'what is installed and bundled may be', checkLicences],
  ['pack', 'the tarball', packTarball],
  ['names', 'no public name is gone that may not be', compareNames],
  ['sizes', 'no bundle has grown unnoticed', compareSizes],
  ['engines', 'Chromium, Firefox and WebKit', runs('test:engines')],
  ['docs', 'the documentation as a site, its links, its search and axe', runs('docs')],
  ['matrix', 'every bundler builds and runs the packed package', runs('matrix')],
  ['bill', 'the bill of materials', writeBill],
  ['notes', 'the notes of the release', writeNotes],
];

/** What keeps `npm publish` from going on. */
function guardProblems() {
  const empty = checks
    .emptyOwnerFields(manifest)
    .map((field) => `"${field}" of package.json is empty.`);
  const checked = existsSync(checkedFile)
    ? JSON.parse(readFileSync(checkedFile, 'utf8'))
    : undefined;
  const isChecked =
    checked?.commit === git('rev-parse', 'HEAD') && checked?.version === manifest.version;
  return [
    ...empty,
    ...(isChecked ? [] : ['"npm run release" has not passed all its steps at this commit.']),
  ];
}

async function runStep([name, asks, work]) {
  console.log(`\n== ${name}: ${asks}`);
  let problems;
  try {
    problems = await work();
  } catch (error) {
    problems = [error instanceof Error ? error.message : String(error)];
  }
  for (const problem of problems) console.error(`  ${problem}`);
  console.log(`== ${name}: ${problems.length === 0 ? 'passed' : 'failed'}`);
  return problems.length === 0;
}

function chosenSteps(only) {
  if (only === undefined) return STEPS;
  const names = only.split(',');
  const known = STEPS.map(([name]) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only: there is no step ${unknown.join(', ')}. Steps: ${known.join(', ')}.`);
  return STEPS.filter(([name]) => names.includes(name));
}

async function main() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      tag: { type: 'string' },
      record: { type: 'boolean', default: false },
      guard: { type: 'boolean', default: false },
    },
  });
  if (values.guard) {
    const problems = guardProblems();
    for (const problem of problems) console.error(`Not published: ${problem}`);
    return problems.length === 0;
  }
  if (values.tag !== undefined && values.tag !== `v${manifest.version}`)
    throw new Error(
      `--tag: ${values.tag} is not v${manifest.version}, the version of package.json.`,
    );
  const failed = [];
  for (const step of chosenSteps(values.only)) if (!(await runStep(step))) failed.push(step[0]);
  if (failed.length > 0) console.error(`\nNot ready for a release: ${failed.join(', ')}.`);
  else if (values.only === undefined)
    writeFileSync(
      checkedFile,
      `${JSON.stringify({ commit: git('rev-parse', 'HEAD'), version: manifest.version })}\n`,
    );
  if (values.record)
    writeFileSync(factsFile(manifest.version), `${JSON.stringify(await readFacts(), null, 2)}\n`);
  return failed.length === 0;
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
