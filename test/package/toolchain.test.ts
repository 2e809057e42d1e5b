// The scripts that a fresh machine starts with.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from './consumer.ts';

function findChromium(env: Readonly<Record<string, string>>): {
  status: number | null;
  stdout: string;
  stderr: string;
} {
  return spawnSync(process.execPath, [join(REPOSITORY, 'scripts/chromium.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

test.skipIf(process.platform === 'win32')(
  'the browser that is found starts with nothing but its path',
  () => {
    const { status, stdout } = findChromium({});
    expect(status).toBe(0);
    const version = spawnSync(stdout.trim(), ['--version', '--no-sandbox'], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: REPOSITORY },
    });
    expect(version.stdout).toMatch(/(?:Chrom|Edge)[\s\S]*\d+\.\d+/);
  },
);

test('a browser named by hand has to start', () => {
  const { status, stderr } = findChromium({ CHROMIUM: join(REPOSITORY, 'package.json') });
  expect(status).toBe(1);
  expect(stderr).toContain('CHROMIUM is set to');
});
