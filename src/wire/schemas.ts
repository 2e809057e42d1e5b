/** The messages of `wire.ts` as JSON Schema (2020-12), for the description of the API. */

/** A JSON Schema, as far as the description uses it. */
export type Schema = { readonly [keyword: string]: unknown };

const text = { type: 'string' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const number = { type: 'number' } as const;
const numberOrNull = { type: ['number', 'null'] } as const;
const flag = { type: 'boolean' } as const;

/** A schema by its name in the description. */
export function ref(name: keyof typeof SCHEMAS): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** An object with these fields and no others; all are required but those named optional. */
export function object(
  fields: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    properties: fields,
    required: Object.keys(fields).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  };
}

/** A list of these. */
export function list(items: Schema): Schema {
  return { type: 'array', items };
}

const runFields = {
  id: { ...text, description: '1 to 128 letters, digits, ".", "_" or "-".' },
  project_id: text,
  project_name: text,
  status: { ...text, description: 'running, completed, failed or interrupted.' },
  started_at_ms: { ...number, description: 'UTC epoch milliseconds.' },
  tags: list(text),
  document: { ...text, description: 'The run record in its persisted form, as JSON text.' },
};

const identityFields = {
  run_id: text,
  table: text,
  writer_id: text,
  batch_number: { ...count, description: 'Counts up from 0 for each writer and table.' },
};

const newManifestFields = {
  ...identityFields,
  row_count: { ...count, minimum: 1 },
  step_min: numberOrNull,
  step_max: numberOrNull,
  epoch_min: numberOrNull,
  epoch_max: numberOrNull,
  time_min_ms: numberOrNull,
  time_max_ms: numberOrNull,
  keys: {
    oneOf: [list(text), { type: 'null' }],
    description: 'Every key in the segment; null when there are too many to list.',
  },
  schema_version: count,
  encoding: { enum: ['arrow', 'packed'] },
  size_bytes: count,
  checksum: {
    ...count,
    maximum: 4_294_967_295,
    description: 'XXH32 of the bytes, seeded with XXH32 of run/table/writer/batch.',
  },
  sources: list({ $ref: '#/components/schemas/BatchRange' }),
};

/** Every schema that the description names. */
export const SCHEMAS = {
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
  Project: object({ id: text, name: text, created_at_ms: number }),
  NewRun: object(runFields),
  Run: object({ ...runFields, revision: { ...count, minimum: 1 } }),
  Lease: object({ run_id: text, holder: text, expires_at_ms: number }),
  BatchRange: object({ writer_id: text, batch_start: count, batch_last: count }),
  SegmentReference: object({ ...identityFields, checksum: count }, ['checksum']),
  Table: object({
    run_id: text,
    table: text,
    next_sequence: { ...count, description: 'Sequence number that the next row gets.' },
    replace_count: {
      ...count,
      description:
        'How often the table was emptied. An upload that names it as `seen` is refused (409) when it is not so any longer.',
    },
  }),
  NewManifest: object(newManifestFields),
  Manifest: object({ ...newManifestFields, first_sequence: count, last_sequence: count }),
  Curves: object({
    row_count: { ...count, description: 'Rows that were looked at.' },
    last_sequence: { type: 'integer', minimum: -1 },
    left_out_count: { ...count, description: 'Metrics beyond what an answer takes.' },
    damaged_count: { ...count, description: 'Segments that could not be read.' },
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
  }),
  Error: object({
    code: { ...text, description: 'Stable: invalid_input, store_failed, run_not_found, ...' },
    message: { ...text, description: 'What was expected, what came, and what to do.' },
    details: {
      type: 'object',
      description: 'Facts: reason, field, value, rule, retryAfterMs, ...',
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    },
  }),
} as const satisfies Readonly<Record<string, Schema>>;
