import { checkHash, checkKey, checkRelativePath, checkType } from '../base/names.ts';
import {
  count,
  jsonObject,
  key,
  literal,
  named,
  nullable,
  text,
  textList,
} from '../schema/column.ts';
import type { RecordOf } from '../schema/record.ts';
import { defineTable, TABLE_COLUMNS, type TableDefinition } from '../schema/table.ts';
import { ARTIFACT_PAYLOAD_FORMATS } from './literals.ts';

const columns = {
  ...TABLE_COLUMNS,
  id: named(text('Identifier of the artifact.'), checkKey),
  artifactType: named(key('`histogram`, `checkpoint_metadata`, ...'), checkType),
  namespace: named(nullable(key('All segments of the key but the last.')), checkKey),
  artifactName: named(key('Last segment of the key.'), checkKey),
  artifactKey: named(key('Namespace and name, joined by "/".'), checkKey),
  step: nullable(count('Training step.')),
  epoch: nullable(count('Training epoch.')),
  payloadFormat: literal('How the payload is stored.', ARTIFACT_PAYLOAD_FORMATS),
  payloadRelativePath: named(text('Place of the payload, relative to the run.'), checkRelativePath),
  metadataRelativePath: named(
    text('Place of the metadata, relative to the run.'),
    checkRelativePath,
  ),
  sizeBytes: count('Size of the payload.', 'bytes'),
  sha256: named(text('SHA-256 of the payload, 64 lowercase hex digits.'), checkHash),
  partSha256: named(
    nullable(textList('SHA-256 of each part, in order, of a payload that is kept in parts.')),
    checkHash,
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
