import { expect, it } from 'vitest';
import { binaryBytes, environmentWords } from '../../../dashboard/run/facts/environment-words.ts';

it('says the environment in words and units', () => {
  expect(
    environmentWords({
      platform: 'node',
      ram_total_bytes: 25_276_502_016,
      logical_processors: 8,
      git_has_changes: false,
      cpu_model: null,
      device_memory_gib: 8,
      startup_ms: 4200,
      my_own_field: [1, 2],
    }),
  ).toEqual({
    platform: 'node',
    memory: '23.5 GiB',
    'processor threads': 8,
    'uncommitted changes': 'no',
    processor: null,
    'memory, at least': '8 GiB',
    startup: '4.2 s',
    'my own field': [1, 2],
  });
});

it('counts memory in the unit that suits it', () => {
  expect([0, 1, 1023, 1024, 1536 * 1024, 2 ** 40, 2 ** 60].map(binaryBytes)).toEqual([
    '0 B',
    '1 B',
    '1020 B',
    '1 KiB',
    '1.5 MiB',
    '1 TiB',
    '1050000 TiB',
  ]);
});
