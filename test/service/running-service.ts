/**
 * A service on a free port over a new folder, and ways to ask it. With `QUARK_TEST_STORAGE=pgbouncer` services that are not
 * told where to keep things have a new schema of PostgreSQL each, through PgBouncer.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  serveService,
  type ServedService,
  type ServeServiceOptions,
} from '../../src/service/node/serve-service.ts';
import { createServiceLog } from '../../src/service/node/service-log.ts';
import { openHttpStorage } from '../../src/wire/http-store.ts';
import type { Store } from '../../src/store/store.ts';
import { makeSchema, throughPooler, type TestSchema } from '../support/postgres.ts';

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
};

/** Services of one test file; `clear` closes them and removes their folders. */
export class RunningServices {
  readonly #services: ServedService[] = [];
  readonly #folders: string[] = [];
  readonly #schemas: TestSchema[] = [];
  /** Everything that was logged. */
  log = '';

  async start(options: ServeServiceOptions = {}): Promise<ServedService> {
    const service = await serveService({
      storage: options.storage ?? (await this.#storage()),
      logger: createServiceLog('debug', (line) => {
        this.log += line;
      }),
      ...options,
    });
    this.#services.push(service);
    return service;
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'quark-service-'));
    this.#folders.push(folder);
    return folder;
  }

  async #storage(): Promise<string> {
    if (process.env['QUARK_TEST_STORAGE'] !== 'pgbouncer') return this.folder();
    const schema = await makeSchema();
    this.#schemas.push(schema);
    return throughPooler(schema.uri);
  }

  async clear(): Promise<void> {
    for (const service of this.#services.splice(0)) await service.close();
    for (const schema of this.#schemas.splice(0)) await schema.remove();
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    this.log = '';
  }

  get lines(): readonly Record<string, unknown>[] {
    return this.log
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

/** A store of this user at the service. */
export function storeOf(service: ServedService, userKey?: string, space?: string): Promise<Store> {
  return openHttpStorage(service.url, {
    ...(userKey === undefined ? {} : { userKey }),
    ...(space === undefined ? {} : { space }),
  });
}

/** A request with a path and headers exactly as given: `fetch` would tidy both up, and keeps `Host` and `Origin` to itself. */
export function ask(
  port: number,
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
    host = '127.0.0.1',
  }: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: Uint8Array | string;
    readonly host?: string;
  } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ port, host, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
      response.on('error', reject);
    });
    asked.on('error', reject).end(body);
  });
}

export const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
