import { expect, test } from 'vitest';
import { quark } from '../../cli/fake-io.ts';

const help = async (...args: string[]): Promise<string> => {
  const { code, stdout } = await quark([...args, '--help'], { cwd: '.' });
  expect(code).toBe(0);
  return stdout.trimEnd();
};

/** The names of the commands, in the order in which the command lists them. */
async function commandNames(): Promise<readonly string[]> {
  const [, list = ''] = /^Commands:\n([^]*?)\n\n/mu.exec(await help()) ?? [];
  return list.split('\n').map((line) => line.trim().split(' ')[0] ?? '');
}

/** The page on the command line. `npx vitest run <this file> -u` writes it anew. */
async function page(): Promise<string> {
  const lines = [
    '# Command line',
    '',
    'What `quark --help` and `quark COMMAND --help` print, written by `test/unit/docs/cli-docs.test.ts`.',
    '',
  ];
  const block = (text: string): void => void lines.push('```text', text, '```', '');
  block(await help());
  for (const name of await commandNames()) {
    lines.push(`## ${name}`, '');
    block(await help(name));
  }
  return lines.join('\n');
}

test('docs/cli.md says what the commands say of themselves', async () => {
  const names = await commandNames();
  expect(names.length).toBeGreaterThan(30);
  await expect(await page()).toMatchFileSnapshot('../../../docs/cli.md');
});
