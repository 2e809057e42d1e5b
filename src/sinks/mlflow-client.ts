/**
 * The REST API of MLflow, as far as a sink uses it, by its documentation: `experiments/get-by-name` and `create`, `runs/create`, `search`,
 * `get`, `update` and `log-batch`, `metrics/get-history`, and the upload of artifacts through the server.
 */
import { messageOf, QuarkError } from '../base/errors.ts';

/** Bounds of a batch, by the documentation of `runs/log-batch`. */
export const MLFLOW_LIMITS = {
  metrics: 1000,
  params: 100,
  tags: 100,
  /** Metrics, parameters and tags together. */
  items: 1000,
  bytes: 1_000_000,
  keyChars: 250,
  paramChars: 6000,
  tagChars: 5000,
} as const;

const TIMEOUT_MS = 30_000;
/** Samples in one answer of `get-history`. */
const HISTORY_PAGE = 25_000;

/** A sample as MLflow takes it. */
export type MlflowMetric = {
  readonly key: string;
  /** Numbers that JSON has not are texts: `NaN`, `Infinity`, `-Infinity`. */
  readonly value: number | string;
  /** UTC epoch milliseconds, an integer. */
  readonly timestamp: number;
  readonly step: number;
};

/** A parameter or a tag. */
export type MlflowEntry = { readonly key: string; readonly value: string };

/** What one request adds to a run. */
export type MlflowBatch = {
  readonly metrics?: readonly MlflowMetric[];
  readonly params?: readonly MlflowEntry[];
  readonly tags?: readonly MlflowEntry[];
};

/** A run at the server. */
export type MlflowRun = {
  readonly runId: string;
  /** Where its artifacts are, as the server says. */
  readonly artifactUri: string;
};

/** Where the server is. */
export type MlflowServer = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
};

/** See the top of this file. */
export class MlflowClient {
  readonly #server: MlflowServer;

  constructor(server: MlflowServer) {
    this.#server = server;
  }

  /** The id of the experiment of this name, which is made if there is none. */
  async experiment(name: string): Promise<string> {
    const found = await this.#get('experiments/get-by-name', { experiment_name: name });
    if (found !== undefined) return textIn(found, 'experiment', 'experiment_id');
    try {
      return textIn(await this.#post('experiments/create', { name }), 'experiment_id');
    } catch (error) {
      // Another process has made it in this moment.
      if (!isMlflowError(error, 'RESOURCE_ALREADY_EXISTS')) throw error;
      const made = await this.#get('experiments/get-by-name', { experiment_name: name });
      return textIn(made, 'experiment', 'experiment_id');
    }
  }

  /** The run with this tag in an experiment, if there is one. */
  async findRun(experiment: string, tag: MlflowEntry): Promise<MlflowRun | undefined> {
    const answer = await this.#post('runs/search', {
      experiment_ids: [experiment],
      filter: `tags.\`${tag.key}\` = '${tag.value}'`,
      max_results: 1,
    });
    const runs: unknown = fieldOf(answer, 'runs');
    const [run]: unknown[] = Array.isArray(runs) ? runs : [];
    return run === undefined ? undefined : runIn(run);
  }

  /** The run of this id, if there is one. */
  async getRun(runId: string): Promise<MlflowRun | undefined> {
    const answer = await this.#get('runs/get', { run_id: runId });
    return answer === undefined ? undefined : runIn(fieldOf(answer, 'run'));
  }

  async createRun(body: object): Promise<MlflowRun> {
    return runIn(fieldOf(await this.#post('runs/create', body), 'run'));
  }

  /**
   * Stores a file of a run. False where this cannot be done over HTTP: the server does not serve artifacts, or refuses this one.
   *
   * @param path names joined by "/"
   */
  async putArtifact(
    { artifactUri }: MlflowRun,
    path: string,
    bytes: Uint8Array,
    type: string,
  ): Promise<boolean> {
    const root = /^mlflow-artifacts:(?:\/\/[^/]*)?\/*(.*?)\/*$/.exec(artifactUri)?.[1];
    if (root === undefined) return false;
    const escaped = `${root}/${path}`.split('/').map(encodeURIComponent).join('/');
    const { response } = await this.#fetch('PUT', `mlflow-artifacts/artifacts/${escaped}`, {
      // A copy: bytes may be those of memory that threads share, which fetch refuses.
      body: bytes.slice(),
      type,
    });
    if (response.ok) return true;
    if (response.status < 500 && response.status !== 429) return false;
    throw mlflowError('mlflow-artifacts/artifacts', `HTTP status ${response.status}`, '');
  }

  async updateRun(body: object): Promise<void> {
    await this.#post('runs/update', body);
  }

  async logBatch(runId: string, batch: MlflowBatch): Promise<void> {
    await this.#post('runs/log-batch', { run_id: runId, ...batch });
  }

  /** All samples of a metric of a run, as `step timestamp value`. */
  async history(runId: string, key: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    let token: string | undefined;
    do {
      const page = await this.#get('metrics/get-history', {
        run_id: runId,
        metric_key: key,
        max_results: String(HISTORY_PAGE),
        ...(token === undefined ? {} : { page_token: token }),
      });
      const metrics: unknown = fieldOf(page, 'metrics');
      for (const one of Array.isArray(metrics) ? metrics : [])
        found.add(
          sampleText({
            step: Number(fieldOf(one, 'step') ?? 0),
            timestamp: Number(fieldOf(one, 'timestamp') ?? 0),
            value: Number(fieldOf(one, 'value') ?? 0),
          }),
        );
      const next: unknown = fieldOf(page, 'next_page_token');
      token = typeof next === 'string' && next !== '' ? next : undefined;
    } while (token !== undefined);
    return found;
  }

  /** Undefined where there is no such thing. */
  async #get(path: string, query: Readonly<Record<string, string>>): Promise<unknown> {
    try {
      return await this.#ask('GET', `${path}?${new URLSearchParams(query).toString()}`);
    } catch (error) {
      if (isMlflowError(error, 'RESOURCE_DOES_NOT_EXIST')) return undefined;
      throw error;
    }
  }

  #post(path: string, body: object): Promise<unknown> {
    return this.#ask('POST', path, JSON.stringify(body));
  }

  async #ask(method: string, path: string, body?: string): Promise<unknown> {
    const sent = body === undefined ? undefined : { body, type: 'application/json' };
    const { name, response, text } = await this.#fetch(method, `mlflow/${path}`, sent);
    const answer = parsed(text);
    if (response.ok) return answer;
    const code: unknown = fieldOf(answer, 'error_code');
    const message: unknown = fieldOf(answer, 'message');
    throw mlflowError(
      name,
      typeof message === 'string' ? message.slice(0, 500) : `HTTP status ${response.status}`,
      typeof code === 'string' ? code : '',
    );
  }

  /** @throws {QuarkError} where no answer comes */
  async #fetch(
    method: string,
    path: string,
    sent?: { readonly body: string | Uint8Array<ArrayBuffer>; readonly type: string },
  ): Promise<{ readonly name: string; readonly response: Response; readonly text: string }> {
    const { fetch, headers, url } = this.#server;
    const name = path.replace(/^mlflow\//, '').replace(/\?.*/s, '');
    try {
      const response = await fetch(`${url.replace(/\/+$/, '')}/api/2.0/${path}`, {
        method,
        headers: { ...headers, ...(sent === undefined ? {} : { 'content-type': sent.type }) },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(sent === undefined ? {} : { body: sent.body }),
      });
      return { name, response, text: await response.text() };
    } catch (error) {
      throw new QuarkError(
        'unsupported',
        `The MLflow server at ${new URL(url).origin} did not answer to ${name}: ${reasonOf(error)}`,
        { details: { path: name, mlflowCode: '' }, cause: error },
      );
    }
  }
}

/** What makes two samples of a metric the same. */
export function sampleText({
  step,
  timestamp,
  value,
}: Pick<MlflowMetric, 'step' | 'timestamp' | 'value'>): string {
  return `${step} ${timestamp} ${Number(value)}`;
}

/** Why a request failed: "fetch failed" says nothing, what caused it does. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return messageOf(error);
  const code: unknown = Reflect.get(cause, 'code');
  return cause.message === '' && typeof code === 'string' ? code : messageOf(cause);
}

function mlflowError(path: string, reason: string, mlflowCode: string): QuarkError {
  return new QuarkError('unsupported', `The MLflow server did not do ${path}: ${reason}`, {
    details: { path, mlflowCode },
  });
}

/** Whether the server answered with this error code. */
export function isMlflowError(error: unknown, code: string): boolean {
  return error instanceof QuarkError && error.details['mlflowCode'] === code;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** A run inside an answer. @throws {QuarkError} where it has no id */
function runIn(run: unknown): MlflowRun {
  const uri: unknown = fieldOf(fieldOf(run, 'info'), 'artifact_uri');
  return {
    runId: textIn(run, 'info', 'run_id'),
    artifactUri: typeof uri === 'string' ? uri : '',
  };
}

/** A text inside an answer. @throws {QuarkError} where there is none */
function textIn(answer: unknown, ...path: readonly string[]): string {
  let found = answer;
  for (const name of path) found = fieldOf(found, name);
  if (typeof found === 'string' && found !== '') return found;
  throw mlflowError(path.join('.'), 'its answer lacks this field', '');
}
