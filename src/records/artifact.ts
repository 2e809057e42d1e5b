import { count, jsonObject, key, literal, nullable, text, textList } from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { ARTIFACT_PAYLOAD_FORMATS } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  id: text('Identifier of the artifact.'),
  artifactType: key('`histogram`, `checkpoint_metadata`, ...'),
  namespace: nullable(key('All segments of the key but the last.')),
  artifactName: key('Last segment of the key.'),
  artifactKey: key('Namespace and name, joined by "/".'),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  payloadFormat: literal('How the payload is stored.', ARTIFACT_PAYLOAD_FORMATS),
  payloadRelativePath: text('Place of the payload, relative to the run.'),
  metadataRelativePath: text('Place of the metadata, relative to the run.'),
  sizeBytes: count('Size of the payload.', 'bytes'),
  sha256: text('SHA-256 of the payload, 64 lowercase hex digits.'),
  partSha256: nullable(
    textList('SHA-256 of each part, in order, of a payload that is kept in parts.'),
  ),
  metadata: nullable(jsonObject('Context of the artifact.')),
};

/** Identity and place of a stored payload. */
export const artifactTable: TableDefinition<typeof columns> = defineTable(
  'artifact',
  'artifacts',
  'artifactKey',
  'Identity and place of a stored payload.',
  columns,
);

/** Identity and place of a stored payload. */
export type ArtifactRecord = RecordOf<typeof columns>;
