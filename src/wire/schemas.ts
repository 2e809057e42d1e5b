/** Messages as JSON Schema, for the description of the API. */
import { deletedRunShape } from '../records/shapes/deleted-run.ts';
import {
  documentHeaderShape,
  documentShape,
  newDocumentShape,
} from '../records/shapes/document.ts';
import { lapsedLeaseShape, leaseShape } from '../records/shapes/lease.ts';
import {
  batchRangeShape,
  manifestShape,
  newManifestShape,
  referenceShape,
} from '../records/shapes/manifest.ts';
import { projectShape } from '../records/shapes/project.ts';
import { newRunShape, runShape } from '../records/shapes/run.ts';
import { askedSilenceShape, silenceShape } from '../records/shapes/silence.ts';
import { streamShape } from '../records/shapes/stream.ts';
import { tableBatchesShape } from '../records/shapes/table-batches.ts';
import { schemaOf, type JsonSchema as Schema } from '../schema/shape.ts';

export { type JsonSchema as Schema } from '../schema/shape.ts';

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const number = { type: 'number' } as const;
const numberOrNull = { type: ['number', 'null'] } as const;
const flag = { type: 'boolean' } as const;

/** Name of one of {@link SCHEMAS}. */
export type SchemaName =
  | 'About'
  | 'Project'
  | 'NewRun'
  | 'Run'
  | 'DeletedRun'
  | 'Silence'
  | 'AskedSilence'
  | 'DocumentHeader'
  | 'Document'
  | 'NewDocument'
  | 'Lease'
  | 'LapsedLease'
  | 'BatchRange'
  | 'SegmentReference'
  | 'Table'
  | 'TableBatches'
  | 'NewManifest'
  | 'Manifest'
  | 'Curves'
  | 'Error';

/** A field of a message: its schema, the name of one of {@link SCHEMAS}, or a list of one of these. */
type SchemaOrName = Schema | SchemaName | readonly [SchemaName];

/** An object with these fields and no others; all are required but those named optional. */
export function object(
  fields: Readonly<Record<string, SchemaOrName>>,
  optional: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, schemaFor(field)]),
    ),
    required: Object.keys(fields).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

/** A list of these. */
export function list(items: Schema): Schema {
  return { type: 'array', items };
}

/** The schema that a field means. */
export function schemaFor(field: SchemaOrName): Schema {
  if (typeof field === 'string') return { $ref: `#/components/schemas/${field}` };
  return isListOfName(field) ? list(schemaFor(field[0])) : field;
}

function isListOfName(field: Schema | readonly [SchemaName]): field is readonly [SchemaName] {
  return Array.isArray(field);
}

/** Every schema that the description names. */
export const SCHEMAS: Readonly<Record<SchemaName, Schema>> = {
  About: object(
    {
      service: { const: 'quark' },
      protocol: count,
      spoken: list(count),
      read_only: flag,
      space: {
        type: ['string', 'null'],
        description: 'The header quark-space as it arrived: a proxy may have taken it away.',
      },
      limits: object({ upload_bytes: count, blob_bytes: count }),
    },
    ['spoken', 'space', 'limits'],
  ),
  Project: schemaOf(projectShape),
  NewRun: schemaOf(newRunShape),
  Run: schemaOf(runShape),
  DeletedRun: schemaOf(deletedRunShape),
  Silence: schemaOf(silenceShape),
  AskedSilence: schemaOf(askedSilenceShape),
  DocumentHeader: schemaOf(documentHeaderShape),
  Document: schemaOf(documentShape),
  NewDocument: schemaOf(newDocumentShape),
  Lease: schemaOf(leaseShape),
  LapsedLease: schemaOf(lapsedLeaseShape),
  BatchRange: schemaOf(batchRangeShape),
  SegmentReference: schemaOf(referenceShape),
  Table: schemaOf(streamShape),
  TableBatches: schemaOf(tableBatchesShape),
  NewManifest: schemaOf(newManifestShape),
  Manifest: schemaOf(manifestShape),
  Curves: object(
    {
      row_count: { ...count, description: 'Rows that were looked at.' },
      last_sequence: { type: 'integer', minimum: -1 },
      left_out_count: { ...count, description: 'Metrics beyond what an answer takes.' },
      damaged_count: { ...count, description: 'Segments that could not be read.' },
      names: {
        ...list(text),
        description:
          'Every metric of the run, where `names` asked for them and segments list them.',
      },
      curves: list(
        object({
          metric_key: text,
          sample_count: count,
          non_finite_count: count,
          values: list({
            oneOf: [number, { enum: ['NaN', 'Infinity', '-Infinity'] }],
          }),
          steps: list(numberOrNull),
          epochs: list(numberOrNull),
          timestamps_ms: list(numberOrNull),
        }),
      ),
    },
    ['names'],
  ),
  Error: object({
    code: { ...text, description: 'Stable: invalid_input, store_failed, run_not_found, ...' },
    message: { ...text, description: 'What was expected, what came, and what to do.' },
    details: {
      type: 'object',
      description: 'Facts: reason, field, value, rule, retryAfterMs, ...',
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    },
  }),
};
