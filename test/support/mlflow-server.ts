/**
 * A tracking server of MLflow for tests, as strict as the documentation of its REST API 2.0: limits of a batch, grammar of names,
 * integers where the API has int64, parameters that cannot be changed, runs that are not there. It is no MLflow.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Metric = { key: string; value: number; timestamp: number; step: number };
type Run = {
  id: string;
  experiment: string;
  name: string;
  status: string;
  startTime: number;
  endTime: number | undefined;
  metrics: Metric[];
  params: Map<string, string>;
  tags: Map<string, string>;
  artifacts: Map<string, Uint8Array>;
};

class Refusal extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

const NAME = /^[\p{L}\p{N}_\-. :/]+$/u;

/** See the top of this file. */
export class MlflowServer {
  readonly runs = new Map<string, Run>();
  readonly experiments = new Map<string, string>();
  /** Paths that were asked for, in order. */
  readonly requests: string[] = [];
  /** Called before an answer is given: it may throw the request away, before or after it was carried out. */
  /** Where artifacts are, as runs say: a server that does not serve them names a bucket. */
  artifactRoot = 'mlflow-artifacts:/';
  fault: ((path: string) => 'refuse' | 'lose answer' | 'half' | undefined) | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(port = 0): Promise<MlflowServer> {
    const server = new MlflowServer();
    await new Promise<void>((resolve) => {
      server.#server.listen(port, '127.0.0.1', resolve);
    });
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The one run. */
  get run(): Run {
    const [run, other] = this.runs.values();
    if (run === undefined || other !== undefined) throw new Error(`${this.runs.size} runs`);
    return run;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
    const path = pathname.replace('/api/2.0/mlflow/', '').replace('/api/2.0/', '');
    this.requests.push(path);
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const body = Buffer.concat(chunks);
    const fault = this.fault?.(path);
    if (fault === 'refuse') {
      answer(response, 503, { error_code: 'TEMPORARILY_UNAVAILABLE', message: 'Come again.' });
      return;
    }
    try {
      if (request.method === 'PUT') {
        this.#putArtifact(path, body);
        if (fault === undefined) answer(response, 200, {});
        else response.destroy();
        return;
      }
      if (body.byteLength > 1_000_000) throw new Refusal('BAD_REQUEST', 'Over 1 MB.', 413);
      const input =
        request.method === 'GET'
          ? Object.fromEntries(searchParams)
          : (JSON.parse(body.toString('utf8')) as Record<string, unknown>);
      const result = this.#do(`${request.method ?? ''} ${path}`, input, fault === 'half');
      if (fault === 'lose answer' || fault === 'half') response.destroy();
      else answer(response, 200, result);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      answer(response, error.status, { error_code: error.code, message: error.message });
    }
  }

  /** `mlflow-artifacts/artifacts/EXPERIMENT/RUN/artifacts/PATH`, escaped. */
  #putArtifact(path: string, body: Uint8Array): void {
    const [, , experiment, runId = '', folder, ...names] = path.split('/').map(decodeURIComponent);
    const run = this.runs.get(runId);
    if (run === undefined || run.experiment !== experiment || folder !== 'artifacts')
      throw missing('run');
    const isPath = names.every((name) => name !== '' && !/^\.+$|[/\\]/.test(name));
    if (!isPath || names.length === 0 || names.some((name) => Buffer.byteLength(name) > 255))
      throw invalid('path');
    run.artifacts.set(names.join('/'), body);
  }

  #infoOf({ experiment, id }: Run): object {
    return { run_id: id, artifact_uri: `${this.artifactRoot}${experiment}/${id}/artifacts` };
  }

  #do(call: string, input: Record<string, unknown>, isHalf: boolean): object {
    switch (call) {
      case 'GET experiments/get-by-name': {
        const id = this.experiments.get(textOf(input, 'experiment_name'));
        if (id === undefined) throw missing('experiment');
        return { experiment: { experiment_id: id } };
      }
      case 'POST experiments/create': {
        const name = textOf(input, 'name');
        if (this.experiments.has(name))
          throw new Refusal('RESOURCE_ALREADY_EXISTS', 'There is such an experiment.');
        this.experiments.set(name, String(this.experiments.size + 1));
        return { experiment_id: this.experiments.get(name) };
      }
      case 'POST runs/create':
        return this.#create(input);
      case 'POST runs/search': {
        const [, key = '', value = ''] =
          /^tags\.`([^`]+)` = '([^']+)'$/.exec(textOf(input, 'filter')) ?? [];
        const ids = input['experiment_ids'] as string[];
        const found = [...this.runs.values()].filter(
          ({ experiment, tags }) => ids.includes(experiment) && tags.get(key) === value,
        );
        return found.length === 0
          ? {}
          : { runs: found.map((run) => ({ info: this.#infoOf(run) })) };
      }
      case 'GET runs/get':
        return { run: { info: this.#infoOf(this.#runOf(input)) } };
      case 'POST runs/update': {
        const run = this.#runOf(input);
        const status = textOf(input, 'status');
        if (!['RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED'].includes(status))
          throw invalid('status');
        run.status = status;
        if ('end_time' in input) run.endTime = integerOf(input, 'end_time');
        return { run_info: { run_id: run.id } };
      }
      case 'POST runs/log-batch':
        return this.#logBatch(input, isHalf);
      case 'GET metrics/get-history':
        return this.#history(input);
      default:
        throw new Refusal('ENDPOINT_NOT_FOUND', `No ${call}.`, 404);
    }
  }

  #create(input: Record<string, unknown>): object {
    const experiment = textOf(input, 'experiment_id');
    if (![...this.experiments.values()].includes(experiment)) throw missing('experiment');
    const id = `mlf${this.runs.size + 1}`;
    const run: Run = {
      id,
      experiment,
      name: textOf(input, 'run_name'),
      status: 'RUNNING',
      startTime: integerOf(input, 'start_time'),
      endTime: undefined,
      metrics: [],
      params: new Map(),
      tags: new Map(entriesOf(input['tags'], 5000)),
      artifacts: new Map(),
    };
    this.runs.set(id, run);
    return { run: { info: this.#infoOf(run) } };
  }

  #logBatch(input: Record<string, unknown>, isHalf: boolean): object {
    const run = this.#runOf(input);
    const metrics = (input['metrics'] ?? []) as Record<string, unknown>[];
    const params = entriesOf(input['params'], 6000);
    const tags = entriesOf(input['tags'], 5000);
    if (metrics.length > 1000 || params.length > 100 || tags.length > 100)
      throw invalid('size of the batch');
    if (metrics.length + params.length + tags.length > 1000) throw invalid('size of the batch');
    const checked = metrics.map((metric): Metric => {
      const { value } = metric;
      const isNumber =
        typeof value === 'number' || ['NaN', 'Infinity', '-Infinity'].includes(String(value));
      if (!isNumber) throw invalid('value');
      const key = nameOf(metric);
      const [timestamp, step] = [integerOf(metric, 'timestamp'), integerOf(metric, 'step')];
      return { key, value: Number(value), timestamp, step };
    });
    for (const [key, value] of params)
      if ((run.params.get(key) ?? value) !== value) throw invalid(`changed parameter ${key}`);
    const last = isHalf ? checked.length >> 1 : checked.length;
    run.metrics.push(...checked.slice(0, last));
    for (const [key, value] of params) run.params.set(key, value);
    for (const [key, value] of tags) run.tags.set(key, value);
    return {};
  }

  /** Pages of three samples. */
  #history(input: Record<string, unknown>): object {
    const key = textOf(input, 'metric_key');
    const all = this.#runOf(input).metrics.filter((metric) => metric.key === key);
    const from = Number(input['page_token'] ?? 0);
    const metrics = all.slice(from, from + 3).map((metric) => ({
      ...metric,
      value: Number.isFinite(metric.value) ? metric.value : String(metric.value),
    }));
    return from + 3 < all.length ? { metrics, next_page_token: String(from + 3) } : { metrics };
  }

  #runOf(input: Record<string, unknown>): Run {
    const run = this.runs.get(textOf(input, 'run_id'));
    if (run === undefined) throw missing('run');
    return run;
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function entriesOf(list: unknown, maxChars: number): (readonly [string, string])[] {
  return ((list ?? []) as Record<string, unknown>[]).map((entry) => {
    const value = textOf(entry, 'value', true);
    if (value.length > maxChars) throw invalid('value');
    return [nameOf(entry), value] as const;
  });
}

function nameOf(entry: Record<string, unknown>): string {
  const key = textOf(entry, 'key');
  const isPath = key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  if (!NAME.test(key) || !isPath || key.length > 250) throw invalid(`name ${key}`);
  return key;
}

function textOf(input: Record<string, unknown>, field: string, mayBeEmpty = false): string {
  const value = input[field];
  if (typeof value !== 'string' || (value === '' && !mayBeEmpty)) throw invalid(field);
  return value;
}

function integerOf(input: Record<string, unknown>, field: string): number {
  const value = input[field];
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw invalid(field);
  return value;
}

function invalid(what: string): Refusal {
  return new Refusal('INVALID_PARAMETER_VALUE', `Invalid ${what}.`);
}

function missing(what: string): Refusal {
  return new Refusal('RESOURCE_DOES_NOT_EXIST', `No such ${what}.`, 404);
}
