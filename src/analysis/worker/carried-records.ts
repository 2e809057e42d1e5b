/** Records on their way between threads: a message carries their values, and the other side makes records of them again. */
import { alertTable } from '../../records/alert.ts';
import { healthScoreTable } from '../../records/health-score.ts';
import { phaseTable } from '../../records/phase.ts';
import { runRecord } from '../../records/run.ts';
import { definitionOf } from '../../schema/record.ts';
import {
  alertDiffRecord,
  comparedRunRecord,
  configDiffRecord,
  layerSummaryDiffRecord,
  metricDiffRecord,
  phaseDiffRecord,
} from '../compare/diff-records.ts';

/** Makes a record of values that were one. */
type Wrap = (values: object) => unknown;

const DEFINITIONS = [
  runRecord,
  alertTable,
  healthScoreTable,
  phaseTable,
  comparedRunRecord,
  metricDiffRecord,
  alertDiffRecord,
  phaseDiffRecord,
  layerSummaryDiffRecord,
  configDiffRecord,
];
const WRAPS: ReadonlyMap<string, Wrap> = new Map(
  DEFINITIONS.map((definition) => [
    definition.name,
    (values: object) => (definition.wrap as Wrap)(values), // the values come from a record of this definition
  ]),
);

/** A record in a message. */
type Carried = { readonly quarkRecord: string; readonly values: object };

/**
 * The same value with its records as plain objects, which a message can carry. Functions are left out: the receiver adds its own.
 *
 *     port.postMessage(packRecords({ alerts }));
 */
export function packRecords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(packRecords);
  if (!isPlain(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => typeof field !== 'function');
  const values = Object.fromEntries(fields.map(([key, field]) => [key, packRecords(field)]));
  const name = definitionOf(value)?.name;
  return name !== undefined && WRAPS.has(name) ? { quarkRecord: name, values } : values;
}

/** What {@link packRecords} was given, without its functions. */
export function unpackRecords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpackRecords);
  if (!isPlain(value)) return value;
  const wrap = isCarried(value) ? WRAPS.get(value.quarkRecord) : undefined;
  return wrap !== undefined && isCarried(value)
    ? wrap(unpackFields(value.values))
    : unpackFields(value);
}

function unpackFields(values: object): object {
  return Object.fromEntries(
    Object.entries(values).map(([key, field]) => [key, unpackRecords(field)]),
  );
}

function isCarried(value: object): value is Carried {
  return (
    'quarkRecord' in value &&
    typeof value.quarkRecord === 'string' &&
    'values' in value &&
    typeof value.values === 'object'
  );
}

/** Objects that a message carries field by field; arrays of numbers, maps and sets it carries as they are. */
function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return !(value instanceof Map) && !(value instanceof Set) && !(value instanceof ArrayBuffer);
}
