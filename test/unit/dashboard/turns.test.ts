import { expect, it } from 'vitest';
import { nextTurn, TaskQueue } from '../../../dashboard/parts/turns.ts';

it('a task that ends its turn is the last of it, and the others follow in later turns', async () => {
  const queue = new TaskQueue(60_000);
  const turns: number[] = [];
  let turn = 0;
  const note = (isLast: boolean) => (): void => {
    turns.push(turn);
    if (isLast) queue.endTurn();
  };
  for (const isLast of [false, true, false, false]) queue.add({}, note(isLast));
  for (turn = 0; turns.length < 4;) {
    await nextTurn();
    turn += 1;
  }
  expect(turns[1]).toBe(turns[0]);
  expect(turns[2]).toBeGreaterThan(turns[1] ?? 0);
  expect(turns[3]).toBe(turns[2]);
});
