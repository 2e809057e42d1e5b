/** What users take: who is ahead of others waits for the thread of the service, and nobody pays for what others took. */
import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/service/access/principal.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../../src/service/limits.ts';
import { Usage } from '../../../src/service/usage.ts';
import { TestClock } from '../../support/clock.ts';

const of = (name: string): Principal => ({
  userId: name,
  userName: name,
  keyId: `qk_${name}`,
  scope: 'write',
});

class Scene {
  readonly clock = new TestClock();
  #workedMs = 0;
  readonly usage = new Usage({
    limits: DEFAULT_SERVICE_LIMITS,
    clock: this.clock,
    monotonicMs: () => this.clock.now(),
    loopMs: () => this.#workedMs,
  });

  /** The thread works for a request of each, all at once. */
  work(ms: number, ...names: string[]): void {
    const leave = names.map((name) => this.usage.enter(of(name)));
    this.#workedMs += ms;
    this.clock.advance(ms);
    for (const undo of leave) undo();
  }

  /** What became of a request: `in`, `refused`, `left`; undefined while it waits. */
  ask(name: string, signal?: AbortSignal): { state?: string } {
    const asked: { state?: string } = {};
    this.usage.admit(of(name), signal).then(
      () => (asked.state = 'in'),
      (error: { code?: string }) => (asked.state = error.code === 'aborted' ? 'left' : 'refused'),
    );
    return asked;
  }
}

/** Lets what was promised happen. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function advance({ clock }: Scene, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 50) {
    clock.advance(50);
    await settle();
  }
}

describe('the thread of the service', () => {
  it('is all of one who is alone', async () => {
    const scene = new Scene();
    for (let i = 0; i < 20; i++) scene.work(1_000, 'alone');
    const asked = scene.ask('alone');
    await settle();
    expect(asked.state).toBe('in');
  });

  it('lets those wait who are ahead of others who want something, and not the others', async () => {
    const scene = new Scene();
    for (let i = 0; i < 4; i++) {
      scene.work(10, 'modest');
      scene.work(700, 'busy');
    }
    scene.work(10, 'modest');
    const busy = Array.from({ length: 65 }, () => scene.ask('busy'));
    const modest = scene.ask('modest');
    await settle();
    expect(modest.state).toBe('in');
    // One user has a bounded number of requests that wait.
    expect(busy.map(({ state }) => state)).toEqual([
      ...Array.from({ length: 64 }, () => undefined),
      'refused',
    ]);
    // All others get in, the modest one at work or not.
    for (let i = 0; i < 60; i++) {
      scene.work(5, 'modest');
      await advance(scene, 100);
    }
    expect(busy.slice(0, 64).every(({ state }) => state === 'in')).toBe(true);
  });

  it('goes to those that wait as soon as the others are gone', async () => {
    const scene = new Scene();
    scene.work(10, 'modest');
    for (let i = 0; i < 4; i++) scene.work(450, 'busy');
    scene.work(10, 'modest');
    scene.work(450, 'busy');
    const busy = scene.ask('busy');
    await settle();
    expect(busy.state).toBeUndefined();
    await advance(scene, 1_300);
    expect(busy.state).toBe('in');
  });

  it('never lets a training at an ordinary rate wait, whatever another takes', async () => {
    const scene = new Scene();
    const states: (string | undefined)[] = [];
    for (let i = 0; i < 200; i++) {
      // The attacker's work is counted for the training too while both are under way.
      scene.work(200, 'attacker', 'attacker', 'attacker', 'training');
      scene.work(60, 'attacker', 'training');
      const asked = scene.ask('training');
      await settle();
      states.push(asked.state);
    }
    expect(new Set(states)).toEqual(new Set(['in']));
  });

  it('charges nobody for what was taken before', async () => {
    const scene = new Scene();
    for (let i = 0; i < 60; i++) scene.work(900, 'attacker', 'attacker', 'attacker');
    scene.work(20, 'other');
    // The only one who still works is the busiest of those who are there.
    const states: (string | undefined)[] = [];
    for (let i = 0; i < 100; i++) {
      scene.work(60, 'training');
      scene.work(1, 'other');
      await advance(scene, 100);
      const asked = scene.ask('training');
      await settle();
      states.push(asked.state);
    }
    expect(new Set(states)).toEqual(new Set(['in']));
  });

  it('is no longer waited for by a client that has left', async () => {
    const scene = new Scene();
    scene.work(10, 'modest');
    for (let i = 0; i < 4; i++) scene.work(450, 'busy');
    scene.work(10, 'modest');
    scene.work(450, 'busy');
    const client = new AbortController();
    const asked = scene.ask('busy', client.signal);
    await settle();
    expect(asked.state).toBeUndefined();
    client.abort();
    await settle();
    expect(asked.state).toBe('left');
  });
});
