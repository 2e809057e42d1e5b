import { describe, expect, test } from 'vitest';
import { dumpRecord, validateRecord } from 'quark-sdk';
import { eventTable } from '../../../src/records/event.ts';
import { evidenceRecord } from '../../../src/records/evidence.ts';
import { projectRecord } from '../../../src/records/project.ts';
import { runRecord } from '../../../src/records/run.ts';
import { TABLES } from '../../../src/records/tables.ts';
import { storedName, type RecordDefinition } from '../../../src/schema/record.ts';

const ALL: readonly RecordDefinition[] = [
  projectRecord,
  runRecord,
  evidenceRecord,
  ...TABLES.values(),
];

const EVENT = {
  runId: 'run_1',
  sequence: null,
  timestamp: '2026-01-01T00:00:00Z',
  eventType: 'x',
  severity: 'info',
  step: 1,
  epoch: null,
  status: null,
  payload: { list: [1, { deep: true }] },
};

describe('stored names', () => {
  test.each([
    ['stepTimeMs', 'step_time_ms'],
    ['sha256', 'sha256'],
    ['id', 'id'],
    ['cpuUsagePercent', 'cpu_usage_percent'],
    ['parentRunId', 'parent_run_id'],
  ])('%s is %s', (name, stored) => expect(storedName(name)).toBe(stored));

  test.each(ALL.map((definition) => [definition.name, definition] as const))(
    'of %s are distinct and in snake case',
    (_name, { storedNames }) => {
      const stored = [...storedNames.values()];
      expect(new Set(stored).size).toBe(stored.length);
      for (const name of stored) expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    },
  );
});

test('every record of the specification is declared', () => {
  expect(ALL.map((definition) => definition.name).toSorted()).toEqual([
    'alert',
    'artifact',
    'batch_diagnostic',
    'event',
    'evidence',
    'health_score',
    'layer_summary',
    'metric',
    'parameter_distribution',
    'parameter_summary',
    'phase',
    'project',
    'run',
    'system_telemetry',
  ]);
});

test.each(ALL.map((definition) => [definition.name, definition] as const))(
  'every column of %s says what it is',
  (_name, { columns }) => {
    for (const [field, column] of Object.entries(columns)) {
      expect(column.doc, field).toMatch(/^.{8,}$/);
      if (/(Ms|Bytes|Percent|Ratio)$/.test(field)) expect(column.unit, field).toBeDefined();
    }
  },
);

describe('a record', () => {
  test('is immutable all the way down', () => {
    const event = eventTable.create(EVENT);
    expect(Object.isFrozen(event)).toBe(true);
    expect(() => Object.assign(event.payload, { a: 1 })).toThrow(TypeError);
    expect(() => ((event.payload['list'] as unknown[])[0] = 2)).toThrow(TypeError);
  });

  test('turns into a dictionary and back', () => {
    const event = eventTable.create(EVENT);
    const dict = dumpRecord(event);
    expect(dict).toEqual({
      run_id: 'run_1',
      sequence: null,
      timestamp: '2026-01-01T00:00:00.000Z',
      event_type: 'x',
      severity: 'info',
      step: 1,
      epoch: null,
      status: null,
      payload: { list: [1, { deep: true }] },
    });
    expect(eventTable.fromDict(dict)).toEqual(event);
    expect(JSON.parse(JSON.stringify(event))).toEqual(dict);
  });

  test.each([
    [
      { ...EVENT, severity: 'fatal' },
      'severity',
      /one of "debug", "info", "warning", "error", "critical"/,
    ],
    [{ ...EVENT, step: 1.5 }, 'step', /non-negative integer/],
    [{ ...EVENT, payload: [] }, 'payload', /JSON object/],
    [{ ...EVENT, eventType: 7 }, 'eventType', /text/],
    [{ ...EVENT, timestamp: 'soon' }, 'timestamp', /instant/],
    [{ ...EVENT, payload: undefined }, 'payload', /JSON object/],
  ])('that breaks a rule is refused: %#', (values, field, rule) => {
    expect(() => eventTable.create(values)).toThrow(
      expect.objectContaining({
        name: 'SchemaValidationError',
        code: 'schema_validation',
        details: expect.objectContaining({ field }) as unknown,
        message: expect.stringMatching(rule) as string,
      }),
    );
  });

  test('with unknown fields is refused', () => {
    expect(() =>
      eventTable.fromDict({ ...dumpRecord(eventTable.create(EVENT)), colour: 'red' }),
    ).toThrow(/event\.colour/);
  });
});

test('validateRecord takes records only', () => {
  expect(() => validateRecord({ a: 1 })).toThrow(/made by Quark/);
  expect(() => validateRecord(null)).toThrow(
    expect.objectContaining({ code: 'schema_validation' }),
  );
  const damaged = eventTable.wrap({ ...EVENT, timestamp: 'x', severity: 'info' });
  expect(() => validateRecord(damaged)).toThrow(/timestamp/);
});
