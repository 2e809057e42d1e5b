// What a release has to fulfil, as functions of its files: no process, no network. `main.mjs` asks them in turn.

/** Fields of package.json that only the owner of the package can fill. */
export const OWNER_FIELDS = ['repository', 'homepage', 'bugs', 'author'];

/** The fields of the owner that are empty. @param manifest package.json, parsed */
export function emptyOwnerFields(manifest) {
  const text = (value) =>
    typeof value === 'object' && value !== null ? (value.url ?? value.name) : value;
  return OWNER_FIELDS.filter((field) => !/\S/.test(text(manifest[field]) ?? ''));
}

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?$/;

/** Major, minor and patch of a version. @throws Error for what is no version of https://semver.org */
export function partsOf(version) {
  const match = VERSION.exec(version);
  if (!match) throw new Error(`"${version}" is no version such as 1.2.3 or 1.2.3-rc.1.`);
  return match.slice(1, 4).map(Number);
}

/** Orders versions by their numbers; a version before a release (`-rc.1`) comes before it. */
export function compareVersions(one, other) {
  const [a, b] = [partsOf(one), partsOf(other)];
  const at = a.findIndex((part, index) => part !== b[index]);
  if (at !== -1) return a[at] - b[at];
  return Number(!one.includes('-')) - Number(!other.includes('-'));
}

/** Sections of CHANGELOG.md, newest first: `version` ("Unreleased" for the first), `date` and `text`. */
export function sectionsOf(changelog) {
  const sections = [];
  for (const part of changelog.split(/^## /m).slice(1)) {
    const [title, ...lines] = part.split('\n');
    const match = /^\[?([^\]\s]+)\]?(?: - (\d{4}-\d\d-\d\d))?$/.exec(title.trim());
    if (!match) throw new Error(`CHANGELOG.md: "## ${title}" is not "## VERSION - YYYY-MM-DD".`);
    sections.push({ version: match[1], date: match[2], text: lines.join('\n').trim() });
  }
  return sections;
}

/** What is wrong with the change log for a release of a version; nothing is an empty list. */
export function changelogProblems(changelog, version) {
  const sections = sectionsOf(changelog);
  const unreleased = sections.find((section) => section.version === 'Unreleased');
  const own = sections.find((section) => section.version === version);
  return [
    ...(unreleased?.text
      ? [`"Unreleased" still has text: move it to "## ${version} - YYYY-MM-DD".`]
      : []),
    ...(own ? [] : [`There is no section "## ${version} - YYYY-MM-DD".`]),
    ...(own && !own.date ? [`The section of ${version} has no date.`] : []),
    ...(own && !own.text ? [`The section of ${version} is empty.`] : []),
  ];
}

/** Whether names may be removed between two releases: with a new major, or before 1.0 with a new minor version. */
export function mayRemoveNames(before, version) {
  const [was, is] = [partsOf(before), partsOf(version)];
  return is[0] > was[0] || (is[0] === 0 && was[0] === 0 && is[1] > was[1]);
}

/** Names of each entry that one list has and the other lacks: `entry: name`. @param names by entry, in both */
export function namesMissingFrom(names, others) {
  return Object.entries(names).flatMap(([entry, list]) =>
    list.filter((name) => !(others[entry] ?? []).includes(name)).map((name) => `${entry}: ${name}`),
  );
}

/** Sizes that have grown by more than a share of what they were: `name`, `before` and `after` in bytes. */
export function grownSizes(before, after, share) {
  return Object.entries(after).flatMap(([name, bytes]) =>
    before[name] !== undefined && bytes > before[name] * (1 + share)
      ? [{ name, before: before[name], after: bytes }]
      : [],
  );
}

/** Licences that a package of Apache-2.0 may contain and depend on. */
const ALLOWED_LICENCES = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** Whether an expression of SPDX allows what Quark does. `A AND B` asks both, `A OR B` one of them. */
export function isAllowedLicence(expression) {
  const bare = expression.replace(/[()]/g, ' ').trim();
  if (bare.includes(' OR ')) return bare.split(' OR ').some(isAllowedLicence);
  return bare.split(' AND ').every((licence) => ALLOWED_LICENCES.has(licence.trim()));
}

/** The packages that dist/third-party-licenses.md names: `name`, `version` and `licence`. */
export function bundledPackages(licences) {
  return [...licences.matchAll(/^## (\S+) - (\S+) \(([^)]*)\)$/gm)].map(
    ([, name, version, licence]) => ({
      name,
      version,
      licence,
    }),
  );
}

/** A component of a bill of materials as CycloneDX 1.5 has it. */
export function componentOf({ name, version, licence }, scope) {
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    scope,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ expression: licence }],
  };
}
