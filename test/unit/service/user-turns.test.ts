/** The requests of one user wait for each other, and never for those of another user. */
import { describe, expect, it } from 'vitest';
import { UserTurns } from '../../../src/service/limits/user-turns.ts';
import { TestClock } from '../../support/clock.ts';

type Asked = { state?: 'in' | 'refused' | 'left'; end: () => void };

class Scene {
  readonly clock = new TestClock();
  readonly turns = new UserTurns({ clock: this.clock, monotonicMs: () => this.clock.now() });

  ask(name: string, signal?: AbortSignal): Asked {
    const asked: Asked = { end: () => undefined };
    this.turns.begin(name, signal).then(
      (end) => {
        asked.state = 'in';
        asked.end = end;
      },
      (error: { code?: string }) => {
        asked.state = error.code === 'aborted' ? 'left' : 'refused';
      },
    );
    return asked;
  }

  many(name: string, count: number): Asked[] {
    return Array.from({ length: count }, () => this.ask(name));
  }

  async advance(ms: number): Promise<void> {
    for (let gone = 0; gone <= ms; gone += 50) {
      if (gone > 0) this.clock.advance(50);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const countOf = (asked: readonly Asked[], state: Asked['state']): number =>
  asked.filter((one) => one.state === state).length;

describe('turns of users', () => {
  it('are 6 at once while others are there, in order, and others never wait for them', async () => {
    const scene = new Scene();
    const other = scene.ask('other');
    const busy = scene.many('busy', 40);
    await scene.advance(0);
    expect(countOf(busy, 'in')).toBe(6);
    expect(other.state).toBe('in');
    for (let i = 0; i < 6; i++) busy[i]?.end();
    await scene.advance(0);
    expect(busy.map(({ state }) => state === 'in').lastIndexOf(true)).toBe(11);
    expect(countOf(busy, 'in')).toBe(12);
    const more = scene.many('other', 5);
    await scene.advance(0);
    expect(countOf(more, 'in')).toBe(5);
  });

  it('are 32 for one who is alone, and as many again as soon as the others are gone', async () => {
    const scene = new Scene();
    const alone = scene.many('alone', 40);
    await scene.advance(0);
    expect(countOf(alone, 'in')).toBe(32);
    for (const { end } of alone) end();
    await scene.advance(0);
    for (const { end } of alone) end();
    const other = scene.ask('other');
    const again = scene.many('alone', 20);
    await scene.advance(0);
    expect(countOf(again, 'in')).toBe(6);
    other.end();
    await scene.advance(1_300);
    expect(countOf(again, 'in')).toBe(20);
  });

  it('come for all within six seconds, however long those before take; more than 256 that wait are refused', async () => {
    const scene = new Scene();
    const busy = scene.many('busy', 33);
    await scene.advance(0);
    scene.ask('other');
    busy.push(...scene.many('busy', 256));
    await scene.advance(0);
    expect([countOf(busy, 'in'), countOf(busy, 'refused')]).toEqual([32, 1]);
    // Those that wait for their clients or a worker are not counted for ever.
    await scene.advance(2_050);
    expect(countOf(busy, 'in')).toBeGreaterThanOrEqual(38);
    expect(countOf(busy, 'in')).toBeLessThan(100);
    await scene.advance(4_000);
    expect(countOf(busy, 'in')).toBe(288);
  });

  it('are not waited for by a client that has left, and pass it by', async () => {
    const scene = new Scene();
    scene.ask('other');
    const busy = scene.many('busy', 6);
    const client = new AbortController();
    const gone = scene.ask('busy', client.signal);
    const next = scene.ask('busy');
    await scene.advance(0);
    client.abort();
    await scene.advance(0);
    expect([gone.state, next.state]).toEqual(['left', undefined]);
    busy[0]?.end();
    busy[0]?.end();
    await scene.advance(0);
    expect(next.state).toBe('in');
    const last = scene.ask('busy');
    await scene.advance(0);
    expect(last.state).toBeUndefined();
  });
});
