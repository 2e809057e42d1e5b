import { describe, expect, it } from 'vitest';
import {
  matchesSearch,
  parseConfigCondition,
  searchRuns,
} from '../../src/service/routes/run-search.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store, StoredRun } from '../../src/store/store.ts';
import { runOf } from '../support/segments.ts';
import { handlerOf } from './filled-store.ts';

const CONFIG = {
  lr: 0.1,
  optimizer: { name: 'Adam', betas: [0.9, 0.999], 'a.b': { c: 5 } },
  'flat.name': 'text',
  epochs: '3',
  debug: true,
  none: null,
};
const RUN: StoredRun = {
  ...runOf({
    tags: ['Baseline'],
    document: JSON.stringify({
      id: 'run_1',
      git_commit: 'abc123',
      config: CONFIG,
      environment: { host: 'secret' },
    }),
  }),
  revision: 1,
};

const matches = (config: readonly string[], text?: string): boolean =>
  matchesSearch(RUN, {
    config: config.map(parseConfigCondition),
    ...(text === undefined ? {} : { text }),
  });

describe('searching in run documents', () => {
  it.each([
    ['lr=0.1', true],
    ['lr=0.10', true],
    ['lr<0.1', false],
    ['lr<=0.1', true],
    ['lr>0.01', true],
    ['lr!=0.1', false],
    ['missing!=1', true],
    ['missing=1', false],
    ['missing<1', false],
    ['optimizer.name=Adam', true],
    ['optimizer.name="Adam"', true],
    ['optimizer.name>=Ad', true],
    ['optimizer.name<3', false],
    ['optimizer.betas=[0.9,0.999]', true],
    ['optimizer.betas=[0.9]', false],
    ['optimizer.a.b.c=5', true],
    ['flat.name=text', true],
    ['epochs=3', true],
    ['epochs>2', false],
    ['debug=true', true],
    ['none=null', true],
    ['lr=', false],
    ['toString!=x', true],
    ['__proto__=null', false],
  ])('%s: %s', (condition, expected) => {
    expect(matches([condition])).toBe(expected);
  });

  it('joins conditions by "and"', () => {
    expect(matches(['lr=0.1', 'debug=true'])).toBe(true);
    expect(matches(['lr=0.1', 'debug=false'])).toBe(false);
  });

  it.each([
    ['adam', true],
    ['ADAM', true],
    ['baseline', true],
    ['digits', true],
    ['RUN_1', true],
    ['abc1', true],
    ['betas', true],
    ['0.999', true],
    ['secret', false],
    ['git_commit', false],
    ['nowhere', false],
  ])('text %s: %s', (text, expected) => {
    expect(matches([], text)).toBe(expected);
  });

  it.each(['', 'lr', '=3', '<', 'a'.repeat(600) + '=1'])('refuses the condition %j', (text) => {
    expect(() => parseConfigCondition(text)).toThrow('config must be NAME OPERATOR VALUE');
  });

  it('a document that cannot be read hides nothing else', () => {
    const broken = { ...RUN, document: '{"config":{"lr":0.1' };
    expect(matchesSearch(broken, { config: [], text: 'digits' })).toBe(true);
    expect(matchesSearch(broken, { config: [parseConfigCondition('lr=0.1')] })).toBe(false);
  });
});

async function manyRuns(count: number): Promise<Store> {
  const store = createMemoryStore();
  for (let i = 0; i < count; i++)
    await store.createRun(
      runOf({
        id: `r_${i}`,
        startedAtMs: i,
        status: i % 2 === 0 ? 'completed' : 'failed',
        document: JSON.stringify({ id: `r_${i}`, config: { i, rare: i % 700 === 0 } }),
      }),
    );
  return store;
}

describe('pages of runs', () => {
  it('go over everything once, whatever is looked for', async () => {
    const store = await manyRuns(1_600);
    for (const [search, filter, expected] of [
      [{ config: [] }, {}, 1_600],
      [{ config: [] }, { statuses: ['failed'], startedMinMs: 100 }, 750],
      [{ config: [parseConfigCondition('i>=10')] }, { limit: 300 }, 1_590],
      [{ config: [parseConfigCondition('rare=true')] }, { limit: 2 }, 3],
      [{ config: [], text: 'r_15' }, { statuses: ['failed'] }, 56],
      [{ config: [] }, { limit: 0 }, 0],
    ] as const) {
      const found: string[] = [];
      let offset = 0;
      for (;;) {
        const page = await searchRuns(store, { ...filter, offset }, search);
        found.push(...page.runs.map((run) => run.id));
        if (page.next === null) break;
        expect(page.next).toBeGreaterThan(offset);
        offset = page.next;
      }
      expect(found).toHaveLength(expected);
      expect(new Set(found).size).toBe(expected);
    }
  });

  it('are asked for by URL', async () => {
    const handler = handlerOf(await manyRuns(20));
    const ids = async (query: string): Promise<unknown> => {
      const response = await handler(new Request(`http://127.0.0.1/api/v1/runs?${query}`));
      const body = (await response.json()) as { runs?: { id: string }[]; details?: object };
      return response.ok ? body.runs?.map((run) => run.id) : body.details;
    };
    expect(await ids('config=i%3C3')).toEqual(['r_2', 'r_1', 'r_0']);
    expect(await ids('config=i%3C3&config=i%3E0&status=failed')).toEqual(['r_1']);
    expect(await ids('text=R_19')).toEqual(['r_19']);
    expect(await ids('started_min_ms=17&started_max_ms=18')).toEqual(['r_18', 'r_17']);
    expect(await ids('started_max_ms=1970-01-01&limit=3')).toEqual(['r_0']);
    expect(await ids('config=lr')).toMatchObject({ field: 'config' });
    expect(await ids('started_min_ms=soon')).toMatchObject({ field: 'started_min_ms' });
    expect(await ids('config=a=1&'.repeat(17))).toMatchObject({ field: 'config' });
    expect(await ids(`text=${'x'.repeat(600)}`)).toMatchObject({ field: 'text.length' });
  });
});
