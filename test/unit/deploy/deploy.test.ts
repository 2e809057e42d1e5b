import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { serveCommand } from '../../../src/cli/commands/serve.ts';
import { parseYaml } from '../../../src/codecs/yaml/yaml.ts';
import { DRAIN_TIMEOUT_MS } from '../../../src/service/node/create-service.ts';
import { S3_VARIABLES } from '../../../src/store/objects/s3-config.ts';
import { pathOf } from '../../../src/wire/route-paths.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

type Node = { readonly [name: string]: Node } & readonly Node[] & string;

/** A document, with whatever is not YAML as a failure. Texts, lists and mappings are told apart by who asks. */
function parse(text: string): Node {
  const { problems, value } = parseYaml(text, 32);
  expect(problems).toEqual([]);
  return value as Node;
}

const compose = parse(read('deploy/compose.yaml'));
const kubernetes = read('deploy/kubernetes.yaml')
  .split(/^---$/m)
  .map((document) => parse(document));
const dockerfile = read('deploy/Dockerfile');
const port = /or (\d+)\.$/.exec(String(serveCommand.spec.options['port']?.help))?.[1] ?? '';

function kind(name: string): Node {
  const found = kubernetes.find((document) => String(document['kind']) === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

/** What is behind names and numbers, one after the other. */
function at(node: Node | undefined, ...path: readonly (string | number)[]): Node {
  let found: Node | undefined = node;
  for (const name of path) found = found?.[name as number];
  if (found === undefined) throw new Error(`There is no ${path.join('.')}.`);
  return found;
}

test('the default port is found, so that the rest can be compared with it', () => {
  expect(port).toMatch(/^\d{4}$/);
});

test('every variable is one that the code reads', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(join('src', file)))
    .join('\n');
  const known = new Set(sources.match(/\bQUARK_[A-Z0-9_]+\b/g));
  for (const file of readdirSync(join(ROOT, 'deploy'))) {
    const named = read(join('deploy', file)).match(/\bQUARK_[A-Z0-9_]+\b/g) ?? [];
    // Used while the image is built only.
    const unknown = named.filter((name) => !known.has(name) && name !== 'QUARK_VERSION');
    expect([file, unknown]).toEqual([file, []]);
  }
  for (const name of ['endpoint', 'bucket', 'accessKeyId', 'secretAccessKey'] as const) {
    expect(read('deploy/kubernetes.yaml')).toContain(`--from-literal=${S3_VARIABLES[name]}=`);
    expect(Object.keys(at(compose, 'services', 'quark', 'environment'))).toContain(
      S3_VARIABLES[name],
    );
  }
});

describe('compose', () => {
  const services = Object.entries(at(compose, 'services'));

  test('every service that is waited for can become ready', () => {
    for (const [name, service] of services) {
      for (const [needed, how] of Object.entries(service['depends_on'] ?? {})) {
        const other = at(compose, 'services', needed);
        if (String(how['condition']) === 'service_healthy')
          expect(other).toHaveProperty('healthcheck');
        expect([name, needed, String(how['condition'])]).toEqual([
          name,
          needed,
          expect.stringMatching(/^service_(healthy|completed_successfully)$/),
        ]);
      }
    }
  });

  test('volumes are declared, images have versions, nothing is open to other machines', () => {
    for (const [name, service] of services) {
      if (service['image'] !== undefined)
        expect([name, service['image']]).toEqual([
          name,
          expect.stringMatching(/:(?!latest)[\w.-]+$/),
        ]);
      for (const volume of service['volumes'] ?? [])
        expect(Object.keys(at(compose, 'volumes'))).toContain(String(volume).split(':')[0]);
      for (const published of service['ports'] ?? [])
        expect(String(published)).toBe(`127.0.0.1:${port}:${port}`);
    }
    expect(String(at(compose, 'services', 'quark', 'environment', 'QUARK_PORT'))).toBe(port);
  });

  test('every variable has a line in the example', () => {
    const example = read('deploy/example.env').match(/^[A-Z0-9_]+(?==)/gm) ?? [];
    const asked = [...read('deploy/compose.yaml').matchAll(/\$\{([A-Z0-9_]+)/g)].map(
      (match) => match[1],
    );
    expect(new Set(example)).toEqual(new Set(asked));
    // No secret has a default that somebody might keep.
    expect(read('deploy/example.env')).toMatch(/^POSTGRES_PASSWORD=$/m);
    expect(read('deploy/example.env')).toMatch(/^S3_SECRET_ACCESS_KEY=$/m);
  });

  test('the bucket that is made is the one that is used', () => {
    const bucket = String(at(compose, 'services', 'quark', 'environment', 'QUARK_S3_BUCKET'));
    expect(at(compose, 'services', 'bucket', 'entrypoint')).toContain(`store/${bucket}`);
  });
});

describe('Kubernetes', () => {
  const pod = at(kind('Deployment'), 'spec', 'template');
  const container = at(pod, 'spec', 'containers', 0);

  test('probes ask the paths that the service has, on the port that it listens on', () => {
    expect(String(at(container, 'ports', 0, 'containerPort'))).toBe(port);
    expect(String(at(container, 'livenessProbe', 'httpGet', 'path'))).toBe(pathOf('GET /healthz'));
    expect(String(at(container, 'startupProbe', 'httpGet', 'path'))).toBe(pathOf('GET /healthz'));
    expect(String(at(container, 'readinessProbe', 'httpGet', 'path'))).toBe(pathOf('GET /readyz'));
    const name = String(at(container, 'ports', 0, 'name'));
    for (const probe of ['livenessProbe', 'startupProbe', 'readinessProbe'])
      expect(String(at(container, probe, 'httpGet', 'port'))).toBe(name);
    expect(String(at(kind('Service'), 'spec', 'ports', 0, 'targetPort'))).toBe(name);
    const env: readonly Node[] = at(container, 'env');
    expect(env.find((one) => String(one['name']) === 'QUARK_PORT')).toMatchObject({ value: port });
    expect(env.find((one) => String(one['name']) === 'QUARK_HOST')).toMatchObject({
      value: '0.0.0.0',
    });
  });

  test('Service and budget select the pods of the Deployment', () => {
    const labels = at(pod, 'metadata', 'labels');
    expect(at(kind('Deployment'), 'spec', 'selector', 'matchLabels')).toEqual(labels);
    expect(at(kind('Service'), 'spec', 'selector')).toEqual(labels);
    expect(at(kind('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels')).toEqual(labels);
    expect(Number(at(kind('Deployment'), 'spec', 'replicas'))).toBeGreaterThan(
      Number(at(kind('PodDisruptionBudget'), 'spec', 'maxUnavailable')),
    );
  });

  test('there is time to finish, secrets come from a Secret, and the process may do little', () => {
    const pauseS = Number(at(container, 'lifecycle', 'preStop', 'exec', 'command', 1));
    expect(Number(at(pod, 'spec', 'terminationGracePeriodSeconds'))).toBeGreaterThan(
      pauseS + DRAIN_TIMEOUT_MS / 1000,
    );
    const secret = String(at(container, 'envFrom', 0, 'secretRef', 'name'));
    expect(read('deploy/kubernetes.yaml')).toContain(`create secret generic ${secret} `);
    expect(JSON.stringify(container['env'])).not.toMatch(/SECRET|PASSWORD|ACCESS_KEY/);
    expect(at(container, 'securityContext')).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(at(pod, 'spec', 'securityContext')).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
    });
    const heapMiB = Number(/max-old-space-size=(\d+)/.exec(JSON.stringify(container['env']))?.[1]);
    const limit = String(at(container, 'resources', 'limits', 'memory'));
    expect(limit).toMatch(/^\d+Gi$/);
    expect(heapMiB).toBeLessThan(Number.parseInt(limit, 10) * 1024);
  });
});

test('the image: a version of Node that the package takes, the port, no root', () => {
  const packageJson: unknown = JSON.parse(read('package.json'));
  expect(packageJson).toMatchObject({ engines: { node: '>=20.16' } });
  expect(Number(/^FROM node:(\d+)-/m.exec(dockerfile)?.[1])).toBeGreaterThanOrEqual(22);
  expect(dockerfile).toMatch(new RegExp(`^EXPOSE ${port}$`, 'm'));
  expect(dockerfile).toContain(`QUARK_PORT=${port}`);
  expect(dockerfile).toMatch(/^USER node$/m);
  expect(dockerfile).toContain(`$\{process.env.QUARK_PORT}${pathOf('GET /readyz')}`);
  expect(packageJson).toMatchObject({
    version: /^ARG QUARK_VERSION=(.+)$/m.exec(dockerfile)?.[1],
    bin: { [String(/^ENTRYPOINT \["(.+)"\]$/m.exec(dockerfile)?.[1])]: './dist/cli.js' },
  });
});
