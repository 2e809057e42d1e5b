/** Lines of one kind stand once a minute in the log, with their number. */
import { describe, expect, it } from 'vitest';
import type { ServiceLogger } from '../../../src/service/log/logging.ts';
import { RepeatedLog } from '../../../src/service/log/repeated-log.ts';
import { TestClock } from '../../support/clock.ts';

function logOf(): { log: RepeatedLog; clock: TestClock; lines: object[] } {
  const lines: object[] = [];
  const write = (fields: object): void => {
    lines.push(fields);
  };
  const logger: ServiceLogger = { debug: write, info: write, warn: write, error: write };
  const clock = new TestClock();
  return { log: new RepeatedLog(logger, clock), clock, lines };
}

describe('lines of one kind', () => {
  it('are written once, then counted: 156,129 in a minute are two lines', () => {
    const { log, clock, lines } = logOf();
    for (let i = 0; i < 156_129; i++) log.write('info', 'a', { i }, 'request');
    expect(lines).toEqual([{ i: 0 }]);
    clock.advance(60_000);
    expect(lines).toEqual([{ i: 0 }, { i: 156_128, repeated: 156_128 }]);
    // Quiet for a minute: the next one is the first again.
    clock.advance(60_000);
    log.write('info', 'a', { i: -1 }, 'request');
    expect(lines.at(-1)).toEqual({ i: -1 });
  });

  it('are told apart as far as memory is bounded, and nothing is left out at the end', () => {
    const { log, lines } = logOf();
    for (let i = 0; i < 10_000; i++) log.write('info', `kind ${i}`, { i }, 'request');
    expect(lines.length).toBeLessThan(300);
    log.flush();
    const counted = lines.reduce<number>(
      (sum, line) => sum + ('repeated' in line ? Number(line.repeated) : 1),
      0,
    );
    expect(counted).toBe(10_000);
  });
});
