/** What other programs read from an export is what was recorded. */
import { tableFromIPC } from '@uwdata/flechette';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  exportEventsJsonLines,
  exportMetricsArrow,
  exportMetricsCsv,
  exportMetricsJsonLines,
} from '../../../src/exchange.ts';
import { csvNumber } from '../../../src/exchange/export/numbers.ts';
import { jsonNumber } from '../../../src/read/json-lines.ts';
import { openRun, type RunReader } from '../../../src/read/run-reader.ts';
import { EventLogger } from '../../../src/session/event-logger.ts';
import { MetricsLogger } from '../../../src/session/metrics-logger.ts';
import { TrainingSession } from '../../../src/session/training-session.ts';
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts';
import { runs } from '../../support/property.ts';

async function recorded(
  work: (metrics: MetricsLogger, events: EventLogger) => void,
): Promise<RunReader> {
  const store = createMemoryStore();
  const session = await TrainingSession.startRun({
    project: 'p',
    storage: store,
    handleSignals: false,
  });
  work(new MetricsLogger(session, { maxBufferedRows: 1e6 }), new EventLogger(session));
  await session.endRun();
  return openRun(store, session.runId);
}

async function text(pieces: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const piece of pieces) all += piece;
  return all;
}

async function bytes(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return new Uint8Array(Buffer.concat(all));
}

const anyNumber = fc.oneof(
  fc.double(),
  fc.float(),
  fc.integer(),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, -0, 5e-324, 1.7976931348623157e308),
);

describe('numbers as text', () => {
  it('come back as the same bits', () => {
    fc.assert(
      fc.property(anyNumber, (value) => {
        expect(Object.is(Number(csvNumber(value)), value)).toBe(true);
        expect(Object.is(Number(JSON.parse(jsonNumber(value))), value)).toBe(true);
      }),
      runs(1_000),
    );
  });
});

describe('exports of metrics', () => {
  it('carry any samples to another program', async () => {
    const sample = fc.record({
      key: fc.constantFrom('train/loss', 'val/loss', 'lr'),
      value: anyNumber,
      step: fc.option(fc.nat(), { nil: undefined }),
      epoch: fc.nat(100),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(sample, { maxLength: 60 }), async (samples) => {
        const reader = await recorded((metrics) => {
          for (const { key, value, step, epoch } of samples)
            metrics.log(key, value, { step, epoch });
        });
        const expected = samples.map(({ key, value, step, epoch }, at) => [
          at,
          key,
          step ?? null,
          epoch,
          value,
        ]);

        const [header, ...rows] = (await text(exportMetricsCsv(reader))).split('\r\n');
        expect(header).toBe('sequence,timestamp,metric_key,step,epoch,value');
        expect(rows.pop()).toBe('');
        const fromCsv = rows.map((row) => {
          const [sequence, , key, step, epoch, value] = row.split(',');
          return [
            Number(sequence),
            key,
            step === '' ? null : Number(step),
            Number(epoch),
            Number(value),
          ];
        });
        expect(fromCsv).toStrictEqual(expected);

        const lines = (await text(exportMetricsJsonLines(reader)))
          .split('\n')
          .filter((line) => line !== '');
        const fromJson = lines.map((line) => {
          const record = JSON.parse(line) as Record<string, unknown>;
          return [
            record['sequence'],
            record['metric_key'],
            record['step'],
            record['epoch'],
            Number(record['value']),
          ];
        });
        expect(fromJson).toStrictEqual(expected);

        if (samples.length === 0) return;
        const table = tableFromIPC(await bytes(exportMetricsArrow(reader)));
        const column = (name: string): unknown[] =>
          Array.from(table.getChild(name) ?? [], (value: unknown) =>
            typeof value === 'bigint' ? Number(value) : value,
          );
        const steps =
          table.getChild('step') === undefined ? samples.map(() => null) : column('step');
        const fromArrow = column('value').map((value, row) => [
          column('sequence')[row],
          column('metric_key')[row],
          steps[row],
          column('epoch')[row],
          value,
        ]);
        expect(fromArrow).toStrictEqual(expected);
      }),
      runs(40),
    );
  });

  it('come in pieces, and lose nothing between them', async () => {
    const count = 50_000;
    const reader = await recorded((metrics) => {
      const steps = Float64Array.from({ length: count }, (_, i) => i);
      metrics.logColumns('a/b', steps, steps);
    });
    const pieces: string[] = [];
    for await (const piece of exportMetricsCsv(reader)) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(20);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(200_000);
    expect(pieces.join('').split('\r\n')).toHaveLength(count + 2);
    expect((await text(exportMetricsJsonLines(reader))).split('\n')).toHaveLength(count + 1);
    expect(tableFromIPC(await bytes(exportMetricsArrow(reader))).numRows).toBe(count);
  });

  it('hold descriptions and metadata in the JSON lines, and obey filters', async () => {
    const reader = await recorded((metrics) => {
      metrics.log('val/f1', 0.5, {
        step: 1,
        description: 'a, "b"\n',
        metadata: { split: 'x', nested: [1, null] },
      });
      metrics.log('val/f1', 0.75, { step: 2 });
    });
    const lines = (await text(exportMetricsJsonLines(reader, { stepMax: 1 }))).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toStrictEqual([
      {
        run_id: reader.run.id,
        sequence: 0,
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        metric_key: 'val/f1',
        namespace: 'val',
        metric_name: 'f1',
        step: 1,
        epoch: null,
        description: 'a, "b"\n',
        metadata: { split: 'x', nested: [1, null] },
        value: 0.5,
      },
    ]);
    expect((await text(exportMetricsCsv(reader, { stepMin: 2 }))).split('\r\n')).toHaveLength(3);
    await expect(text(exportMetricsCsv(reader, { stepMin: -1 }))).rejects.toMatchObject({
      code: 'invalid_input',
    });
    expect(await text(exportMetricsCsv(reader, { metricKey: 'none' }))).toBe(
      'sequence,timestamp,metric_key,step,epoch,value\r\n',
    );
    expect(await text(exportMetricsJsonLines(reader, { metricKey: 'none' }))).toBe('');
  });
});

describe('the export of events', () => {
  it('gives every event in the persisted form', async () => {
    const reader = await recorded((_metrics, events) => {
      events.log('checkpoint_saved', {
        step: 3,
        epoch: 1,
        status: 'ok',
        payload: { path: 'a\nb', size_bytes: 3 },
      });
    });
    const all = (await text(exportEventsJsonLines(reader))).trim().split('\n');
    expect(
      all.map((line) => (JSON.parse(line) as { event_type: string }).event_type),
    ).toStrictEqual(['run_started', 'checkpoint_saved', 'run_ended']);
    const one = (
      await text(exportEventsJsonLines(reader, { eventType: 'checkpoint_saved' }))
    ).trim();
    expect(JSON.parse(one)).toMatchObject({
      run_id: reader.run.id,
      step: 3,
      epoch: 1,
      status: 'ok',
      severity: 'info',
      payload: { path: 'a\nb', size_bytes: 3 },
    });
  });
});
