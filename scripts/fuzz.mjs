// The long campaign of mutated files over every import format: 100,000 cases, or as many as the argument says. QUARK_SEED replays one.
// Prints the slowest case and the peak of memory; fails when a case takes over 2 s of CPU, or memory goes over 512 MB.
import { spawnSync } from 'node:child_process';

const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/property/import-fuzz.isolated.test.ts'],
  { stdio: 'inherit', env: { ...process.env, QUARK_FUZZ: process.argv[2] ?? '100000' } },
);
process.exitCode = status ?? 1;
