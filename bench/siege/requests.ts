/** Candidates for expensive requests: each costs the service much more processor time than its client. The most expensive ones are tried. */
import { gzipSync } from 'node:zlib';
import { UPLOAD_MEDIA_TYPE } from '../../src/wire/protocol.ts';
import { encodeUpload } from '../../src/wire/upload.ts';
import { toWire } from '../../src/wire/wire.ts';
import type { NewSegment } from '../../src/store/store.ts';
import {
  addArtifact,
  addRows,
  addRun,
  append,
  ARTIFACT_ID,
  noise,
  RUN_ID,
  runFields,
  sha256Of,
  type Scene,
} from './scene.ts';
import { metricSegment, packedSegment, paddedSegment, renamed } from './segments.ts';

/** An expensive request. `{i}` in its path is the number of the attempt, so that no answer is remembered. */
export type Candidate = {
  readonly name: string;
  readonly scope: 'read' | 'write';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Taken in turn. */
  readonly bodies: readonly Uint8Array[];
};

const API = '/api/v1';
const MIB = 1024 * 1024;
const HUGE_RUN = 'run_huge';
const MANY_RUN = 'run_many';
const KEYS_RUN = 'run_keys';
const JSON_TYPE = { 'content-type': 'application/json' };
const UPLOAD_TYPE = { 'content-type': UPLOAD_MEDIA_TYPE };
const BLOB_TYPE = { 'content-type': 'application/octet-stream' };
const GZIP = { 'content-encoding': 'gzip' };

export type AttackSizes = {
  readonly rows: number;
  /** Segments of a million equal rows. */
  readonly hugeSegments: number;
  readonly manySegments: number;
  readonly runs: number;
  readonly blobBytes: number;
};

/** What an attacker has stored before; returns the hash of the payload. */
export async function makeAttackScene(
  scene: Scene,
  sizes: AttackSizes,
  random: () => number,
): Promise<string> {
  const store = await scene.store('attacker');
  await addRows(store, RUN_ID, sizes.rows);
  await addRun(store, HUGE_RUN);
  const first = await hugeSegment(HUGE_RUN, 0);
  const huge = Array.from({ length: sizes.hugeSegments }, (_, i) =>
    renamed(first, { batchNumber: i }),
  );
  await append(store, huge);
  await addRun(store, MANY_RUN);
  const many = Array.from({ length: sizes.manySegments }, (_, i) =>
    metricSegment(MANY_RUN, 'siege', i, { rows: 1, metrics: 1, firstStep: i }),
  );
  await append(store, many);
  await addRun(store, KEYS_RUN);
  await append(
    store,
    Array.from({ length: 20 }, (_, i) =>
      metricSegment(KEYS_RUN, 'siege', i, { rows: 20_000, metrics: 2_000, firstStep: i * 10 }),
    ),
  );
  const config = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`name_${i}`, `value_${i}`]),
  );
  for (let i = 0; i < sizes.runs; i++) await addRun(store, `run_listed_${i}`, { config });
  return addArtifact(store, RUN_ID, noise(random, sizes.blobBytes));
}

function hugeSegment(runId: string, batchNumber: number): Promise<NewSegment> {
  const shape = { rows: 1 << 20, metrics: 1, isConstant: true };
  return packedSegment(runId, 'huge', batchNumber, shape);
}

/** All that were found. The scene is that of {@link makeAttackScene}. */
export async function candidates(
  sha256: string,
  sizes: AttackSizes,
): Promise<readonly Candidate[]> {
  return [...reading(sha256, sizes), ...(await writing())];
}

function reading(sha256: string, sizes: AttackSizes): readonly Candidate[] {
  const rows = (run: string, query: string): string =>
    `${API}/runs/${run}/tables/metrics/rows?${query}`;
  const get = (name: string, path: string, headers: Candidate['headers'] = {}): Candidate => ({
    name,
    scope: 'read',
    method: 'GET',
    path,
    headers,
    bodies: [],
  });
  const ask = (name: string, body: unknown): Candidate => ({
    name,
    scope: 'read',
    method: 'POST',
    path: `${API}/segments/read`,
    headers: JSON_TYPE,
    bodies: [typeof body === 'string' ? Buffer.from(body) : json(body)],
  });
  const references = (runId: string, writerId: string, count: number): object => ({
    segments: Array.from({ length: count }, (_, batchNumber) => ({
      runId,
      table: 'metrics',
      writerId,
      batchNumber,
    })),
  });
  const one = { range: 'bytes=12345678-12345678' };
  const conditions = Array.from({ length: 16 }, (_, i) => `config=name_${i}!=x{i}`).join('&');
  const deep = `{"segments":${'['.repeat(250_000)}${']'.repeat(250_000)}}`;
  return [
    get('rows of a large run, Arrow', rows(RUN_ID, 'format=arrow')),
    get('rows of a large run, JSON', rows(RUN_ID, 'format=jsonl')),
    get('the last 1,000,000 rows, JSON', rows(RUN_ID, 'format=jsonl&limit=1000000')),
    get('the last 1,000,000 rows, Arrow', rows(RUN_ID, 'format=arrow&limit=1000000')),
    get('no row of a large run', rows(RUN_ID, 'format=arrow&metric_key=none{i}')),
    get('rows of a huge run, Arrow', rows(HUGE_RUN, 'format=arrow')),
    get('rows of a huge run, JSON', rows(HUGE_RUN, 'format=jsonl')),
    get('no row of a huge run', rows(HUGE_RUN, 'format=jsonl&epoch=3{i}')),
    get('the last row of a huge run', rows(HUGE_RUN, 'format=jsonl&limit=1')),
    get('rows of 4,096 small segments', rows(MANY_RUN, 'format=jsonl')),
    get('curves of a large run', `${API}/runs/${RUN_ID}/curves?buckets=2000&step_min={i}`),
    get('curves of a huge run', `${API}/runs/${HUGE_RUN}/curves?buckets=1000&step_max=1{i}`),
    get('curves of 2,000 metrics', `${API}/runs/${KEYS_RUN}/curves?buckets=500&step_min={i}`),
    get(
      'curves of 4,096 small segments',
      `${API}/runs/${MANY_RUN}/curves?buckets=2000&step_min={i}`,
    ),
    get('list of 4,096 segments', `${API}/runs/${MANY_RUN}/tables/metrics/segments`),
    get(`runs: no text of ${sizes.runs} configurations`, `${API}/runs?text=nowhere{i}&limit=500`),
    get(
      `runs: 16 conditions on ${sizes.runs} configurations`,
      `${API}/runs?${conditions}&limit=500`,
    ),
    get('runs: 500 at the end of the list', `${API}/runs?limit=500&offset=${sizes.runs - 500}`),
    get(`one byte of a blob of ${sizes.blobBytes / MIB} MiB`, `${API}/blobs/${sha256}`, one),
    {
      ...get(`HEAD of a blob of ${sizes.blobBytes / MIB} MiB`, `${API}/blobs/${sha256}`),
      method: 'HEAD',
    },
    get('304 of a blob', `${API}/blobs/${sha256}`, { 'if-none-match': `"${sha256}"` }),
    get('a whole blob', `${API}/blobs/${sha256}`),
    get('one byte of an artifact', `${API}/runs/${RUN_ID}/artifacts/${ARTIFACT_ID}`, one),
    get('the description of the API', `${API}/openapi.json`),
    get('leases of all runs', `${API}/leases`),
    get('spaces and shares of the account', `${API}/account`),
    get('a stream of live updates', `${API}/events?run=${MANY_RUN}&run=${RUN_ID}&table=metrics`),
    ask('256 segments', references(RUN_ID, 'siege', 256)),
    ask('256 segments of equal rows', references(HUGE_RUN, 'huge', 256)),
    ask('a question of 250,000 brackets', deep),
  ];
}

async function writing(): Promise<readonly Candidate[]> {
  const put = (
    name: string,
    [method, path]: readonly [string, string],
    headers: Candidate['headers'],
    bodies: readonly Uint8Array[],
  ): Candidate => ({ name, scope: 'write', method, path: `${API}${path}`, headers, bodies });
  const upload = ['POST', '/segments'] as const;
  const packed = { ...UPLOAD_TYPE, ...GZIP };
  const padded = Array.from({ length: 1_000 }, (_, i) => paddedSegment(RUN_ID, i, 63 * MIB));
  const huge = await hugeSegment(RUN_ID, 0);
  const honest = (at: number): readonly NewSegment[] =>
    Array.from({ length: 4 }, (_, i) =>
      renamed(huge, { writerId: 'honest', batchNumber: 4 * at + i }),
    );
  const small = metricSegment(RUN_ID, 'small', 0, { rows: 1, metrics: 1 });
  const smalls = Array.from({ length: 4_000 }, (_, i) =>
    renamed(small, { writerId: `small_${i}` }),
  );
  const documents = metricSegment(RUN_ID, 'json', 0, {
    rows: 60_000,
    metrics: 1,
    metadata: JSON.stringify(Array.from({ length: 200 }, (_, i) => [i])),
  });
  const names = metricSegment(RUN_ID, 'names', 0, { rows: 900_000, metrics: 900_000 });
  const dear = metricSegment(RUN_ID, 'dear', 0, { rows: 1 << 20, metrics: 200 });
  const wrong = { ...dear, manifest: { ...dear.manifest, stepMax: 5 } };
  const deep = `${'{"a":'.repeat(500_000)}1${'}'.repeat(500_000)}`;
  const run = (document: string): Uint8Array =>
    gzipSync(json({ run: { ...runFields('run_deep'), document } }));
  const zeros = new Uint8Array(64 * MIB);
  const right = sha256Of(zeros);
  const nested = JSON.stringify({ id: 'run_deep', config: 0 }).replace('0', deep);
  return [
    put('1,000 packed segments of padding', upload, UPLOAD_TYPE, [encodeUpload(padded)]),
    put(
      '4 packed segments of a million equal rows',
      upload,
      UPLOAD_TYPE,
      [0, 1, 2, 3].map((at) => encodeUpload(honest(at))),
    ),
    put('a table of 4 million equal rows', ['PUT', `/runs/${RUN_ID}/tables/metrics`], UPLOAD_TYPE, [
      encodeUpload(honest(9)),
    ]),
    put('66 MiB of zeros in gzip', upload, packed, [gzipSync(new Uint8Array(66 * MIB))]),
    put('4,000 segments of a row', upload, packed, [gzipSync(encodeUpload(smalls))]),
    put('60,000 rows with documents', upload, packed, [gzipSync(encodeUpload([documents]))]),
    put('a dictionary of 900,000 names', upload, packed, [gzipSync(encodeUpload([names]))]),
    put('a million rows, the manifest wrong at its end', upload, packed, [
      gzipSync(encodeUpload([wrong]), { level: 1 }),
    ]),
    put(
      '64 MiB of zeros as a blob of another hash',
      ['PUT', `/blobs/${'a'.repeat(64)}`],
      { ...BLOB_TYPE, ...GZIP },
      [gzipSync(zeros)],
    ),
    put('64 MiB of zeros as a blob', ['PUT', `/blobs/${right}`], { ...BLOB_TYPE, ...GZIP }, [
      gzipSync(zeros),
    ]),
    put('a run with a document of 3 MB of brackets', ['POST', '/runs'], { ...JSON_TYPE, ...GZIP }, [
      run(nested),
    ]),
    put('a message of 8 MiB', ['POST', '/runs'], { ...JSON_TYPE, ...GZIP }, [
      gzipSync(Buffer.from(`{"run":"${'x'.repeat(7 * MIB)}"}`)),
    ]),
    put(
      'a merge of 4 million equal rows',
      ['POST', `/runs/${HUGE_RUN}/tables/metrics/merge`],
      UPLOAD_TYPE,
      [merge(honest(0))],
    ),
    put('a lease', ['PUT', `/runs/${RUN_ID}/leases/holder{i}`], JSON_TYPE, [
      json({ ttlMs: 60_000 }),
    ]),
    put('space given back', ['POST', '/reclaim'], JSON_TYPE, [json({})]),
  ];
}

function merge(segments: readonly NewSegment[]): Uint8Array {
  const rows = 1 << 20;
  const add = segments.map(({ manifest, bytes }, i) => ({
    manifest: { ...manifest, firstSequence: i * rows, lastSequence: (i + 1) * rows - 1 },
    bytes,
  }));
  const remove = segments.map(({ manifest: { batchNumber } }) => ({
    runId: HUGE_RUN,
    table: 'metrics',
    writerId: 'huge',
    batchNumber,
  }));
  return encodeUpload(add, { remove });
}

function json(message: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(toWire(message)));
}
