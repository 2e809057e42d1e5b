/** Segments for a siege: those of everyday, those that are small for what is in them, and those that lie. */
import { metricTable } from '../../src/records/metric.ts';
import { artifactTable } from '../../src/records/artifact.ts';
import {
  batchMessage,
  dictionaryMessage,
  schemaMessage,
} from '../../src/codecs/arrow/arrow-format.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import { concat, END_OF_STREAM } from '../../src/segment/encode.ts';
import { createSegment, describeSegment } from '../../src/segment/manifest.ts';
import { MAGIC, packSegment } from '../../src/codecs/packed/pack.ts';
import type { RowBatch, Vector } from '../../src/codecs/arrow/vectors.ts';
import type { NewSegment, SegmentIdentity } from '../../src/store/store.ts';
import { namesOf } from '../service/points.ts';

const AT_MS = 1_760_000_000_000;

export type MetricShape = {
  readonly rows: number;
  readonly metrics: number;
  readonly firstStep?: number;
  /** All rows alike: a million of them are some hundred bytes when they are packed. */
  readonly isConstant?: boolean;
  /** A document beside each row. */
  readonly metadata?: string;
};

/** Rows of metrics. */
export function metricBatch(shape: MetricShape): RowBatch {
  const { rows, metrics, firstStep = 0, isConstant = false, metadata } = shape;
  const steps = new Float64Array(rows);
  const indices = new Int32Array(rows);
  for (let row = 0; row < rows; row++) {
    steps[row] = isConstant ? 1 : firstStep + Math.floor(row / metrics);
    indices[row] = isConstant ? 0 : row % metrics;
  }
  const columns = new Map<string, Vector>([
    ['timestamp', { kind: 'number', values: steps.map((step) => AT_MS + step) }],
    ['metric_key', { kind: 'key', dictionary: namesOf(metrics), indices }],
    [
      'value',
      {
        kind: 'f64',
        values: isConstant ? steps : steps.map((step, row) => Math.sin(step + row)),
        isNull: null,
      },
    ],
    ['step', { kind: 'number', values: steps }],
  ]);
  if (metadata !== undefined)
    columns.set('metadata', { kind: 'text', values: Array.from({ length: rows }, () => metadata) });
  return { rowCount: rows, columns };
}

/** The segment of a batch of metrics. */
export function metricSegment(
  runId: string,
  writerId: string,
  batchNumber: number,
  shape: MetricShape,
): NewSegment {
  const identity = { runId, table: 'metrics', writerId, batchNumber };
  return createSegment(metricTable, identity, metricBatch(shape));
}

/** The same in the packed form, which is how a writer sends a million equal rows in some hundred bytes. */
export async function packedSegment(
  runId: string,
  writerId: string,
  batchNumber: number,
  shape: MetricShape,
): Promise<NewSegment> {
  const identity = { runId, table: 'metrics', writerId, batchNumber };
  const batch = metricBatch(shape);
  const bytes = await packSegment(createSegment(metricTable, identity, batch).bytes);
  return describeSegment({ table: metricTable, identity, batch, bytes, encoding: 'packed' });
}

/** The same bytes under another name. */
export function renamed(
  { manifest, bytes }: NewSegment,
  name: Partial<SegmentIdentity>,
): NewSegment {
  const identity = { ...manifest, ...name };
  return { manifest: { ...identity, checksum: segmentChecksum(identity, bytes) }, bytes };
}

/** The record of a payload. */
export function artifactSegment(
  runId: string,
  artifact: { readonly id: string; readonly sha256: string; readonly sizeBytes: number },
): NewSegment {
  const text = (value: string): Vector => ({ kind: 'text', values: [value] });
  const key = (value: string): Vector => ({
    kind: 'key',
    dictionary: [value],
    indices: new Int32Array(1),
  });
  const number = (value: number): Vector => ({ kind: 'number', values: Float64Array.of(value) });
  return createSegment(
    artifactTable,
    { runId, table: 'artifacts', writerId: 'siege', batchNumber: 0 },
    {
      rowCount: 1,
      columns: new Map<string, Vector>([
        ['timestamp', number(AT_MS)],
        ['id', text(artifact.id)],
        ['artifact_type', key('file')],
        ['artifact_name', key('payload')],
        ['artifact_key', key('payload')],
        ['payload_format', key('bytes')],
        ['payload_relative_path', text('payload.bin')],
        ['metadata_relative_path', text('payload.json')],
        ['size_bytes', number(artifact.sizeBytes)],
        ['sha256', text(artifact.sha256)],
      ]),
    },
  );
}

/**
 * A packed segment of some 500 bytes, one row and a column that claims `unpackedBytes`: all but its first value is
 * padding.
 */
export function paddedSegment(
  runId: string,
  batchNumber: number,
  unpackedBytes: number,
): NewSegment {
  const identity = { runId, table: 'metrics', writerId: 'padded', batchNumber };
  const metadata = (kind: string): readonly (readonly [string, string])[] => [['quark:kind', kind]];
  const float = { kind: 'float', bits: 64 } as const;
  const schema = schemaMessage(
    [
      { name: 'timestamp', isNullable: false, type: float, metadata: metadata('instant') },
      {
        name: 'metric_key',
        isNullable: false,
        type: { kind: 'utf8' },
        dictionary: { id: 0, indexBits: 8 },
        metadata: metadata('key'),
      },
      { name: 'value', isNullable: false, type: float, metadata: metadata('f64') },
    ],
    [
      ['quark:table', 'metrics'],
      ['quark:schema_version', '1'],
    ],
  );
  const word = new Uint8Array(8);
  const offsets = Uint8Array.from([0, 0, 0, 0, 1, 0, 0, 0]);
  const letter = Uint8Array.from([97, 0, 0, 0, 0, 0, 0, 0]);
  const names = dictionaryMessage(
    0,
    1,
    [[1, 0]],
    [
      [0, 0],
      [0, 8],
      [8, 1],
    ],
    16,
  );
  const body = 24 + unpackedBytes;
  const rows = batchMessage(
    1,
    [
      [1, 0],
      [1, 0],
      [1, 0],
    ],
    [
      [0, 0],
      [0, 8],
      [8, 0],
      [8, 1],
      [16, 0],
      [16, unpackedBytes],
    ],
    body - 8,
  );
  const before = concat([schema, names, offsets, letter, rows, word, word]);
  const packed = packByHand(before, unpackedBytes, END_OF_STREAM);
  const batch = metricBatch({ rows: 1, metrics: 1 });
  const { manifest } = describeSegment({
    table: metricTable,
    identity,
    batch,
    bytes: packed,
    encoding: 'packed',
  });
  return {
    manifest: {
      ...manifest,
      keys: ['a'],
      stepMin: null,
      stepMax: null,
      timeMinMs: 0,
      timeMaxMs: 0,
    },
    bytes: packed,
  };
}

/** Stored blocks of DEFLATE around a number buffer whose eight planes are one byte each. */
function packByHand(
  before: Uint8Array,
  constantBytes: number,
  after: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const literal = Buffer.concat([before, after]);
  const header = Buffer.from(
    JSON.stringify({
      length: literal.length + constantBytes,
      deflated: literal.length,
      pieces: [[before.length], [constantBytes, 8, 0, [0, 0, 0, 0, 0, 0, 0, 0]], [after.length]],
    }),
  );
  const start = Buffer.alloc(8);
  start.writeUInt32LE(MAGIC, 0);
  start.writeUInt32LE(header.length, 4);
  const block = Buffer.from([1, 0, 0, 0, 0]);
  block.writeUInt16LE(literal.length, 1);
  block.writeUInt16LE(~literal.length & 0xffff, 3);
  return Uint8Array.from(Buffer.concat([start, header, block, literal]));
}
