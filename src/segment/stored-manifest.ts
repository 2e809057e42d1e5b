/** Manifests in `.quark` files: the names of the specification, and every field checked on the way back. */
import type { BatchRange, SegmentManifest } from '../store/store.ts';
import { damaged } from '../codecs/arrow/flatbuffer.ts';

/** The persisted form of a manifest. */
export function manifestToJson(manifest: SegmentManifest): object {
  return {
    run_id: manifest.runId,
    table: manifest.table,
    writer_id: manifest.writerId,
    batch_number: manifest.batchNumber,
    row_count: manifest.rowCount,
    first_sequence: manifest.firstSequence,
    last_sequence: manifest.lastSequence,
    step_min: manifest.stepMin,
    step_max: manifest.stepMax,
    epoch_min: manifest.epochMin,
    epoch_max: manifest.epochMax,
    time_min_ms: manifest.timeMinMs,
    time_max_ms: manifest.timeMaxMs,
    keys: manifest.keys,
    schema_version: manifest.schemaVersion,
    encoding: manifest.encoding,
    size_bytes: manifest.sizeBytes,
    checksum: manifest.checksum,
    sources: manifest.sources.map((range) => ({
      writer_id: range.writerId,
      batch_start: range.batchStart,
      batch_last: range.batchLast,
    })),
  };
}

/** @throws {QuarkError} `segment_damaged` naming the field */
export function manifestFromJson(value: unknown): SegmentManifest {
  const encoding = fieldOf(value, 'encoding');
  if (encoding !== 'arrow' && encoding !== 'packed') throw wrong('encoding');
  const keys = fieldOf(value, 'keys');
  const sources = fieldOf(value, 'sources');
  if (!Array.isArray(sources)) throw wrong('sources');
  return {
    runId: textOf(value, 'run_id'),
    table: textOf(value, 'table'),
    writerId: textOf(value, 'writer_id'),
    batchNumber: countOf(value, 'batch_number'),
    rowCount: countOf(value, 'row_count'),
    firstSequence: countOf(value, 'first_sequence'),
    lastSequence: countOf(value, 'last_sequence'),
    stepMin: numberOrNull(value, 'step_min'),
    stepMax: numberOrNull(value, 'step_max'),
    epochMin: numberOrNull(value, 'epoch_min'),
    epochMax: numberOrNull(value, 'epoch_max'),
    timeMinMs: numberOrNull(value, 'time_min_ms'),
    timeMaxMs: numberOrNull(value, 'time_max_ms'),
    keys: keys === null ? null : textsOf(keys),
    schemaVersion: countOf(value, 'schema_version'),
    encoding,
    sizeBytes: countOf(value, 'size_bytes'),
    checksum: countOf(value, 'checksum'),
    sources: sources.map((range: unknown): BatchRange => {
      const batchStart = countOf(range, 'batch_start');
      const batchLast = countOf(range, 'batch_last');
      if (batchLast < batchStart) throw wrong('batch_last');
      return { writerId: textOf(range, 'writer_id'), batchStart, batchLast };
    }),
  };
}

/** A field of an object; undefined when there is none. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function textOf(value: unknown, name: string): string {
  const found = fieldOf(value, name);
  if (typeof found !== 'string') throw wrong(name);
  return found;
}

function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) throw wrong('keys');
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw wrong('keys');
    return item;
  });
}

function countOf(value: unknown, name: string): number {
  const found = fieldOf(value, name);
  if (typeof found !== 'number' || !Number.isSafeInteger(found) || found < 0) throw wrong(name);
  return found;
}

function numberOrNull(value: unknown, name: string): number | null {
  const found = fieldOf(value, name);
  if (found === null) return null;
  if (typeof found !== 'number') throw wrong(name);
  return found;
}

function wrong(field: string): Error {
  return damaged(`its description has no sensible ${field}`);
}
