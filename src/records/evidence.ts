import { count, f64, jsonObject, nullable, text } from '../schema/column.ts';
import { defineRecord, type RecordDefinition, type RecordOf } from '../schema/record.ts';

const columns = {
  kind: text(
    'What sort of observation this is: `metric`, `layer_summary`, `parameter_summary`, ...',
  ),
  source: text('Where it was seen: a metric key, a layer, a parameter.'),
  summary: text('The observation in one sentence.'),
  observedValue: nullable(f64('The value that was seen.')),
  thresholdValue: nullable(f64('The value it was compared with.')),
  stepStart: nullable(count('First step of the observation.')),
  stepEnd: nullable(count('Last step of the observation, inclusive.')),
  metadata: nullable(jsonObject('Anything else that was seen.')),
};

/** What an analyzer saw, with the threshold it was compared with. */
export const evidenceRecord: RecordDefinition<typeof columns> = defineRecord(
  'evidence',
  'What an analyzer saw.',
  columns,
);

/** What an analyzer saw, with the threshold it was compared with. */
export type EvidenceRecord = RecordOf<typeof columns>;
