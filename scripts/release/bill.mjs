// The bill of materials of a release (CycloneDX): what npm installs with the package, and what its bundles contain.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run-program.mjs';
import { bundledPackages, componentOf } from './checks.mjs';

/** The packages that `npm install quark-sdk` brings, as the lock file has them: no development, no peers. */
function installedPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages).flatMap(([path, found]) =>
    path !== '' && !found.dev && !found.peer && !found.devOptional
      ? [
          {
            name: path.replace(/^.*node_modules\//, ''),
            version: found.version,
            licence: found.license ?? licenceIn(path),
            isOptional: found.optional === true,
          },
        ]
      : [],
  );
}

/** The licence that a package's own manifest names, where the lock file has none. */
function licenceIn(path) {
  try {
    const { license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
    return typeof license === 'string' ? license : 'NOASSERTION';
  } catch {
    return 'NOASSERTION'; // a native part of another system
  }
}

/** All packages that a user gets: `{ installed, bundled }`. */
export function packagesOfRelease() {
  const texts = ['dist/third-party-licenses.md', 'dist/demo/third-party-licenses.md'];
  const found = texts.flatMap((path) => bundledPackages(readFileSync(join(root, path), 'utf8')));
  const bundled = [
    ...new Map(found.map((item) => [`${item.name}@${item.version}`, item])).values(),
  ];
  return { installed: installedPackages(), bundled };
}

/** The bill of materials as CycloneDX 1.5. @param manifest package.json, parsed */
export function billOfMaterials(manifest, { installed, bundled }) {
  const components = new Map();
  for (const item of bundled)
    components.set(`${item.name}@${item.version}`, componentOf(item, 'required'));
  for (const item of installed)
    components.set(
      `${item.name}@${item.version}`,
      componentOf(item, item.isOptional ? 'optional' : 'required'),
    );
  const commit = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  }).stdout.trim();
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'library',
        'bom-ref': `${manifest.name}@${manifest.version}`,
        name: manifest.name,
        version: manifest.version,
        purl: `pkg:npm/${manifest.name}@${manifest.version}`,
        licenses: [{ expression: manifest.license }],
        properties: [{ name: 'git:commit', value: commit }],
      },
    },
    components: [...components.values()].toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
  };
}
