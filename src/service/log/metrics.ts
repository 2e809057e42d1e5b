/**
 * Counters of a service in the text form that Prometheus reads (exposition format 0.0.4). Labels take few values by
 * construction: routes as templates, statuses, reasons; never a path, a key or a user.
 */

/** Media type of {@link ServiceMetrics.render}. */
export const METRICS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Upper ends of the latency buckets in seconds: from an answer out of memory to the longest that a client waits. */
const LATENCY_BUCKETS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15,
];

/** A request that has been answered. */
export type AnsweredRequest = {
  /** The template of its path, such as `/api/v1/runs/:runId`. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
};

/** What is read when somebody asks, rather than counted. */
export type Gauges = {
  readonly openStreams: number;
  readonly requestsInFlight: number;
  readonly bytesInFlight: number;
  readonly bytesInFlightLimit: number;
  /** How long the memory budget has been exhausted without a release, in milliseconds. */
  readonly budgetStuckMs: number;
  /** Connection counts of the server, if it has them. */
  readonly connections?: undefined | { readonly open: number; readonly refused: number };
  /** Quotas of which four fifths are used, and those that are used up, as far as this process has seen. */
  readonly quotas?: undefined | { readonly near: number; readonly usedUp: number };
  /** Memory of the process in bytes, where that can be known. */
  readonly memory?: undefined | { readonly residentBytes: number; readonly heapBytes: number };
  /** What this process has done on the side, and how many streams wait for any process. */
  readonly maintenance?:
    | undefined
    | {
        readonly mergedSegments: number;
        readonly writtenSegments: number;
        readonly sweptObjects: number;
        readonly purgedRuns: number;
        readonly sweptBlobs: number;
        readonly failures: number;
        readonly backlog: number;
      };
};

type Histogram = { readonly counts: Float64Array; sum: number; count: number };

/** All that a service counts. */
export class ServiceMetrics {
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, Histogram>();
  readonly #limited = new Map<string, number>();
  readonly #storeErrors = new Map<string, number>();
  #requestBytes = 0;
  #responseBytes = 0;
  #segments = 0;
  #rows = 0;
  #segmentBytes = 0;

  answered({
    route,
    method,
    status,
    durationMs,
    requestBytes,
    responseBytes,
  }: AnsweredRequest): void {
    add(this.#requests, labels({ route, method, status: String(status) }), 1);
    const seconds = durationMs / 1_000;
    const key = labels({ route, method });
    let histogram = this.#durations.get(key);
    if (histogram === undefined) {
      histogram = { counts: new Float64Array(LATENCY_BUCKETS.length), sum: 0, count: 0 };
      this.#durations.set(key, histogram);
    }
    const bucket = LATENCY_BUCKETS.findIndex((end) => seconds <= end);
    if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
    histogram.sum += seconds;
    histogram.count += 1;
    this.#requestBytes += requestBytes;
    this.#responseBytes += responseBytes;
  }

  /** Segments that a store has acknowledged. */
  appended(segments: number, rows: number, bytes: number): void {
    this.#segments += segments;
    this.#rows += rows;
    this.#segmentBytes += bytes;
  }

  /** A request that was turned away. */
  limited(limit: string): void {
    add(this.#limited, labels({ limit }), 1);
  }

  storeFailed(reason: string): void {
    add(this.#storeErrors, labels({ reason }), 1);
  }

  /** Everything as text. */
  render(gauges: Gauges): string {
    const { connections, memory, maintenance, quotas } = gauges;
    const lines = [
      ...family('quark_http_requests_total', 'counter', 'Requests answered.', this.#requests),
      ...this.#renderDurations(),
      ...counters(
        ['quark_http_request_bytes_total', 'Bytes of request bodies.', this.#requestBytes],
        ['quark_http_response_bytes_total', 'Bytes of answers.', this.#responseBytes],
        [
          'quark_segments_received_total',
          'Segments acknowledged; one that was sent again counts again.',
          this.#segments,
        ],
        ['quark_rows_received_total', 'Rows of segments acknowledged.', this.#rows],
        [
          'quark_segment_bytes_received_total',
          'Bytes of segments acknowledged.',
          this.#segmentBytes,
        ],
      ),
      ...family(
        'quark_limited_requests_total',
        'counter',
        'Requests turned away by a limit.',
        this.#limited,
      ),
      ...family('quark_store_errors_total', 'counter', 'Failures of the store.', this.#storeErrors),
      ...renderBudget(gauges),
      ...(connections === undefined ? [] : renderConnections(connections)),
      ...(quotas === undefined ? [] : renderQuotas(quotas)),
      ...(memory === undefined ? [] : renderMemory(memory)),
      ...(maintenance === undefined ? [] : renderMaintenance(maintenance)),
    ];
    return `${lines.join('\n')}\n`;
  }

  #renderDurations(): readonly string[] {
    const name = 'quark_http_request_duration_seconds';
    const lines = head(name, 'histogram', 'Time from the request to the end of its answer.');
    for (const [key, { counts, sum, count }] of this.#durations) {
      let below = 0;
      for (const [bucket, end] of LATENCY_BUCKETS.entries()) {
        below += counts[bucket] ?? 0;
        lines.push(`${name}_bucket{${key},le="${end}"} ${below}`);
      }
      lines.push(
        `${name}_bucket{${key},le="+Inf"} ${count}`,
        `${name}_sum{${key}} ${sum}`,
        `${name}_count{${key}} ${count}`,
      );
    }
    return lines;
  }
}

function add(map: Map<string, number>, key: string, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}

function labels(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',');
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function head(name: string, kind: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`];
}

function family(
  name: string,
  kind: string,
  help: string,
  values: ReadonlyMap<string, number>,
): readonly string[] {
  return [
    ...head(name, kind, help),
    ...[...values].map(([key, value]) => `${name}{${key}} ${value}`),
  ];
}

/** Metrics of one value each: name, help and value. */
type Single = readonly [name: string, help: string, value: number];

function counters(...values: readonly Single[]): readonly string[] {
  return values.flatMap((value) => single('counter', value));
}

function gaugesOf(...values: readonly Single[]): readonly string[] {
  return values.flatMap((value) => single('gauge', value));
}

function single(kind: string, [name, help, value]: Single): readonly string[] {
  return [...head(name, kind, help), `${name} ${value}`];
}

function renderBudget(gauges: Gauges): readonly string[] {
  return gaugesOf(
    ['quark_open_streams', 'Streams of live updates that are open.', gauges.openStreams],
    ['quark_http_requests_in_flight', 'Requests under way.', gauges.requestsInFlight],
    ['quark_bytes_in_flight', 'Memory that requests under way hold.', gauges.bytesInFlight],
    [
      'quark_bytes_in_flight_limit',
      'Memory that requests under way may hold.',
      gauges.bytesInFlightLimit,
    ],
    [
      'quark_bytes_in_flight_stuck_seconds',
      'How long the memory budget has been exhausted without a release; 0 otherwise.',
      gauges.budgetStuckMs / 1_000,
    ],
  );
}

function renderConnections({ open, refused }: NonNullable<Gauges['connections']>): string[] {
  return [
    ...gaugesOf(['quark_open_connections', 'Open connections.', open]),
    ...counters([
      'quark_refused_connections_total',
      'Connections refused at a connection limit.',
      refused,
    ]),
  ];
}

function renderQuotas({ near, usedUp }: NonNullable<Gauges['quotas']>): readonly string[] {
  return gaugesOf(
    ['quark_quotas_near', 'Quotas of which four fifths are used, and not all.', near],
    ['quark_quotas_used_up', 'Quotas that are used up.', usedUp],
  );
}

function renderMemory(memory: NonNullable<Gauges['memory']>): readonly string[] {
  return gaugesOf(
    ['process_resident_memory_bytes', 'Resident memory.', memory.residentBytes],
    ['nodejs_heap_size_used_bytes', 'JavaScript heap in use.', memory.heapBytes],
  );
}

function renderMaintenance(done: NonNullable<Gauges['maintenance']>): readonly string[] {
  return [
    ...counters(
      [
        'quark_merged_segments_total',
        'Small segments merged by this process.',
        done.mergedSegments,
      ],
      ['quark_merge_results_total', 'Segments that merges have made.', done.writtenSegments],
      ['quark_swept_objects_total', 'Objects deleted that nothing named.', done.sweptObjects],
      ['quark_purged_runs_total', 'Deleted runs whose bytes were removed.', done.purgedRuns],
      ['quark_swept_blobs_total', 'Blobs removed that no record named.', done.sweptBlobs],
      ['quark_maintenance_failures_total', 'Merges and sweeps that failed.', done.failures],
    ),
    ...gaugesOf([
      'quark_merge_backlog',
      'Streams that are due to be merged, of all processes; counted up to 10,000.',
      done.backlog,
    ]),
  ];
}
