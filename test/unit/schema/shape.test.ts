/** Shapes: what derives from a declaration. */
import { describe, expect, it } from 'vitest';
import { leaseShape, storedLeaseShape } from '../../../src/records/shapes/lease.ts';
import {
  manifestShape,
  newManifestShape,
  referenceShape,
} from '../../../src/records/shapes/manifest.ts';
import { runShape } from '../../../src/records/shapes/run.ts';
import { tableEpochShape } from '../../../src/records/shapes/stream.ts';
import {
  checkShape,
  copyShape,
  count,
  defineShape,
  list,
  nullable,
  number,
  optional,
  schemaOf,
  shapeFromJson,
  shapeToJson,
  text,
  withoutFields,
} from '../../../src/schema/shape.ts';
import { segmentOf } from '../../support/segments.ts';

const misfit = (path: string, _value: unknown, rule: string): Error =>
  new Error(`${path} must be ${rule}`);

const MANIFEST = {
  ...segmentOf(0).manifest,
  firstSequence: 4,
  lastSequence: 9,
  sources: [{ writerId: 'w', batchStart: 0, batchLast: 3 }],
};

describe('a shape', () => {
  it('is the same after it was written as JSON and read', () => {
    const json: unknown = JSON.parse(JSON.stringify(shapeToJson(manifestShape, MANIFEST)));
    expect(json).toMatchObject({ step_min: MANIFEST.stepMin, sources: [{ batch_last: 3 }] });
    expect(shapeFromJson(manifestShape, json, misfit)).toEqual(MANIFEST);
  });

  it('is read only where every field is of its kind; the error names the path', () => {
    const json = shapeToJson(manifestShape, MANIFEST);
    for (const [change, path] of [
      [{ row_count: 1.5 }, 'row_count'],
      [{ step_min: 'x' }, 'step_min'],
      [{ keys: [1] }, 'keys'],
      [{ encoding: 'zip' }, 'encoding'],
      [{ sources: {} }, 'sources'],
      [{ sources: [{ writer_id: 'w', batch_start: 0 }] }, 'sources.batch_last'],
    ] as const)
      expect(() => shapeFromJson(manifestShape, { ...json, ...change }, misfit)).toThrow(
        `${path} must be`,
      );
    expect(() => shapeFromJson(manifestShape, [], misfit)).toThrow(' must be an object');
  });

  it('is copied without fields that it does not declare, and shares no list', () => {
    const copy = copyShape(manifestShape, Object.assign({ more: 1 }, MANIFEST));
    expect(copy).toEqual(MANIFEST);
    expect(copy.sources[0]).not.toBe(MANIFEST.sources[0]);
  });

  it('is checked field by field, with the name that the caller knows', () => {
    const run = { ...LEASE, holder: 'a b' };
    expect(() => checkShape(leaseShape, run)).toThrow(/^holder must be/);
    expect(() => checkShape(leaseShape, run, 'lease.')).toThrow(/^lease\.holder must be/);
    expect(() => checkShape(leaseShape, null)).toThrow('lease must be an object');
  });

  it('may lack what older versions did not write', () => {
    expect(shapeFromJson(storedLeaseShape, shapeToJson(leaseShape, LEASE), misfit)).toEqual(LEASE);
    expect(schemaOf(storedLeaseShape)).toMatchObject({
      required: ['run_id', 'holder', 'expires_at_ms'],
    });
    checkShape(storedLeaseShape, LEASE);
    expect(() => checkShape(storedLeaseShape, { ...LEASE, ttlMs: 'x' })).toThrow(/^ttlMs must be/);
  });

  it('says in JSON Schema what its fields are', () => {
    const inner = defineShape('inner', { n: count({ min: 1, max: 9 }) });
    const shape = defineShape('outer', {
      aName: text({ doc: 'A name.' }),
      mean: nullable(number()),
      rest: optional(list(inner, 'Inner')),
    });
    expect(schemaOf(inner)).toMatchObject({
      properties: { n: { type: 'integer', minimum: 1, maximum: 9 } },
    });
    expect(schemaOf(shape)).toEqual({
      type: 'object',
      properties: {
        a_name: { type: 'string', description: 'A name.' },
        mean: { type: ['number', 'null'] },
        rest: { type: 'array', items: { $ref: '#/components/schemas/Inner' } },
      },
      required: ['a_name', 'mean'],
      additionalProperties: false,
    });
  });

  it('has a form without some fields', () => {
    expect(newManifestShape.entries.map(([name]) => name)).not.toContain('firstSequence');
    expect(tableEpochShape.entries.map(([name]) => name)).toEqual([
      'runId',
      'table',
      'replaceCount',
    ]);
    expect(copyShape(referenceShape, MANIFEST)).not.toHaveProperty('rowCount');
    expect(withoutFields(runShape, 'id').entries.map(([, stored]) => stored)[0]).toBe('project_id');
  });
});

const LEASE = { runId: 'r', holder: 'h', expiresAtMs: 1 };
