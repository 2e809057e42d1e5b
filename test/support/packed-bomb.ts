/** Segments that are small as they are sent, and large unpacked. */
import { metricTable } from '../../src/records/metric.ts';
import { schemaMessage } from '../../src/codecs/arrow/arrow-format.ts';
import { batchOfRows } from '../../src/segment/batch-ops.ts';
import { segmentChecksum } from '../../src/segment/checksum.ts';
import {
  concat,
  END_OF_STREAM,
  planColumn,
  pushRows,
  type Plan,
} from '../../src/segment/encode.ts';
import { createSegment } from '../../src/segment/manifest.ts';
import type { NewSegment } from '../../src/store/store.ts';

/** A stream of one batch. */
export function streamOf(plans: readonly Plan[], rowCount = 3): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [
    schemaMessage(
      plans.map(({ field }) => field),
      [],
    ),
  ];
  pushRows(parts, plans, rowCount);
  parts.push(END_OF_STREAM);
  return concat(parts);
}

/** A buffer with zeros behind it. */
export function longer(buffer: Uint8Array, byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  bytes.set(buffer);
  return bytes;
}

/** Packed segments whose one row is followed by 63 MiB of zeros: a few kB each. */
export function packedBombs(runId: string, count: number): NewSegment[] {
  const rows = batchOfRows(metricTable, [{ timestamp: '2026-01-01', metricKey: 'a', value: 0 }]);
  const plans: Plan[] = [];
  for (const [name, column] of rows.columns) {
    const plan = planColumn(column, {
      name,
      rowCount: 1,
      dictionaryId: plans.length,
      metadata: undefined,
    });
    if (plan !== undefined) plans.push(plan);
  }
  // The zeros are the end of the last column's buffer.
  const last = plans.at(-1);
  if (last === undefined) throw new Error('there are columns');
  const length = 63 << 20;
  const padded = {
    ...last,
    buffers: last.buffers.with(
      last.buffers.length - 1,
      longer(last.buffers.at(-1) ?? new Uint8Array(), length),
    ),
  };
  const stream = streamOf([...plans.slice(0, -1), padded], 1);
  const zeros = length - 4096;
  const literal = stream.subarray(0, stream.length - zeros);
  // The literal bytes as one stored block of DEFLATE; what follows is a constant plane.
  const deflated = new Uint8Array(5 + literal.length);
  deflated.set([
    1,
    literal.length & 255,
    literal.length >>> 8,
    ~literal.length & 255,
    (~literal.length >>> 8) & 255,
  ]);
  deflated.set(literal, 5);
  const header = new TextEncoder().encode(
    JSON.stringify({
      length: stream.length,
      deflated: literal.length,
      pieces: [[literal.length], [zeros, 4, 0, [0, 0, 0, 0]]],
    }),
  );
  const bytes = new Uint8Array(8 + header.length + deflated.length);
  bytes.set(new TextEncoder().encode('QPK1'));
  new DataView(bytes.buffer).setUint32(4, header.length, true);
  bytes.set(header, 8);
  bytes.set(deflated, 8 + header.length);
  return Array.from({ length: count }, (_, batchNumber) => {
    const identity = { runId, table: 'metrics', writerId: 'wrt_bomb', batchNumber };
    const checksum = segmentChecksum(identity, bytes);
    const { manifest } = createSegment(metricTable, identity, rows);
    return {
      manifest: { ...manifest, encoding: 'packed', sizeBytes: bytes.byteLength, checksum },
      bytes,
    };
  });
}
