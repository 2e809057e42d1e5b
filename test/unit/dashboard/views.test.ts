import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AXIS, ZOOMS } from '../../../dashboard/charts/chart-text.ts';
import { runs } from '../../support/property.ts';
import {
  numberSettingOf,
  addressParams,
  parseRoute,
  hrefOf,
  withAddressParams,
} from '../../../dashboard/route/route.ts';
import { eventText } from '../../../dashboard/annotations/event-text.ts';
import { countBy } from '../../../dashboard/parts/maps.ts';
import { lossKey } from '../../../dashboard/charts/group.ts';

describe('routes', () => {
  it('reads every place it writes', () => {
    for (const route of [
      { kind: 'runs' },
      { kind: 'run', runId: 'run_1 /ü' },
      { kind: 'compare', runIds: ['run_1', 'run.2-b'] },
      { kind: 'train', resumeRunId: undefined },
      { kind: 'train', resumeRunId: 'run_2' },
    ] as const) {
      expect(parseRoute(hrefOf(route))).toEqual(route);
    }
  });

  it('takes an empty hash for the list and knows what it does not know', () => {
    expect(parseRoute('')).toEqual({ kind: 'runs' });
    expect(parseRoute('#/runs/')).toEqual({ kind: 'runs' });
    expect(parseRoute('#/nowhere')).toEqual({ kind: 'unknown', path: '/nowhere' });
    expect(parseRoute('#/runs/%E0%A4%A')).toEqual({ kind: 'unknown', path: '/runs/%E0%A4%A' });
  });

  it('says what is chosen, whatever it is called', () => {
    const name = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter((one) => !/^(view|runs|resume)$/.test(one));
    const chosen = fc.array(fc.tuple(name, fc.string()), { maxLength: 5 });
    fc.assert(
      fc.property(
        chosen,
        fc.constantFrom('', '#/', '#/runs/a%20b?view=layers&zoom=x'),
        (list, hash) => {
          const params = new Map(list);
          const written = withAddressParams(hash, params);
          expect(new Map(addressParams(written))).toEqual(params);
          expect(parseRoute(written)).toEqual(parseRoute(hash));
          expect(withAddressParams(withAddressParams(hash, params), addressParams(hash))).toBe(
            withAddressParams(hash, addressParams(hash)),
          );
        },
      ),
      runs(200),
    );
    expect(withAddressParams('#/?sort=loss', new Map([['filter', 'tag:a b']]))).toBe(
      '#/?filter=tag:a+b',
    );
  });

  it('has the zooms of panels of any name', () => {
    const zooms = new Map([
      ['loss', { min: 10, max: 200 }],
      ['a/b,c:d', { min: -5000, max: 1e7 }],
    ]);
    expect(ZOOMS.read(ZOOMS.write(zooms))).toEqual(zooms);
    expect(ZOOMS.write(new Map([['x', { min: 55.000049, max: 148.14647 }]]))).toBe('x:55:148.146');
    for (const text of [undefined, '', 'x', 'x:2:1', 'x:a:b', 'x:1:Infinity', 'x:1:1'])
      expect(ZOOMS.read(text).size).toBe(0);
  });

  it('has any axis, and steps for what names none', () => {
    for (const axis of ['time', 'wall', 'epoch', 'metric:train/tokens'] as const)
      expect(AXIS.read(AXIS.write(axis))).toBe(axis);
    expect(AXIS.write('step')).toBeUndefined();
    expect(AXIS.read('nothing')).toBe('step');
  });

  it('takes only positive whole numbers as settings', () => {
    expect(numberSettingOf('?leaseTtlMs=2000', 'leaseTtlMs')).toBe(2000);
    for (const search of [
      '',
      '?leaseTtlMs=',
      '?leaseTtlMs=-1',
      '?leaseTtlMs=1e3',
      '?leaseTtlMs=0',
    ]) {
      expect(numberSettingOf(search, 'leaseTtlMs')).toBeUndefined();
    }
  });
});

describe('events', () => {
  it('says the message, and keeps the rest for the details', () => {
    expect(
      eventText({ status: null, payload: { message: 'loss is NaN', stack: 'Error\n  at f' } }),
    ).toEqual({ text: 'loss is NaN', exact: undefined, details: 'stack: Error\n  at f' });
  });
  it('says the title of an alert, and its sentences in the details', () => {
    const payload = {
      alert_id: 'alr_1',
      rule_id: 'loss_spike',
      title: 'A spike of train/loss',
      fact: 'It jumped.',
      inference: 'Look at the batch.',
      step_start: 3,
    };
    expect(eventText({ status: null, payload })).toEqual({
      text: 'A spike of train/loss',
      exact: undefined,
      details: 'It jumped.\nLook at the batch.',
    });
  });
  it('puts short entries on the line where there is no message', () => {
    expect(
      eventText({ status: null, payload: { metric_key: 'train/loss', count: 2, note: null } }),
    ).toEqual({
      text: 'metric key train/loss · count 2',
      exact: undefined,
      details: undefined,
    });
  });
  it('rounds numbers, says spans as spans, and keeps the numbers in full beside them', () => {
    expect(
      eventText({
        status: null,
        payload: {
          loss: 1.1526178121566772,
          seed: 123456,
          duration_ms: 83_456.7,
          wait_ms: 0.25,
          nested: { rate: 0.30000000000000004 },
        },
      }),
    ).toEqual({
      text: 'loss 1.1526 · seed 123456 · duration 1m 23s · wait 0.25 ms · nested {"rate":0.3}',
      exact:
        'loss 1.1526178121566772 · seed 123456 · duration_ms 83456.7 · wait_ms 0.25 · nested {"rate":0.30000000000000004}',
      details: undefined,
    });
  });
  it('counts severities', () => {
    const counts = countBy(
      [{ severity: 'info' }, { severity: 'error' }, { severity: 'info' }],
      ({ severity }) => severity,
    );
    expect([...counts]).toEqual([
      ['info', 2],
      ['error', 1],
    ]);
  });
});

describe('lossKey', () => {
  it('prefers the training loss', () => {
    expect(lossKey(['val/loss', 'train/loss'])).toBe('train/loss');
    expect(lossKey(['val/loss', 'a'])).toBe('val/loss');
    expect(lossKey(['gen_loss'])).toBe('gen_loss');
    expect(lossKey(['accuracy'])).toBeUndefined();
  });
});
