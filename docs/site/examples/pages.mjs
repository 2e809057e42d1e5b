// A page of each program in examples/: what its first comment says, and the program.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../pages/navigation.mjs';
import { exampleAddress } from '../pages/addresses.mjs';

/** The comment that a program begins with, as Markdown: its first sentence, the rest, and the command of each line behind `Run:`. */
function introductionOf(code) {
  const [comment] = /^(?:\/\/.*\n)+|^\/\*\*[\s\S]*?\*\/|^<!--[\s\S]*?-->/.exec(code) ?? [''];
  const lines = comment
    .split('\n')
    .map((line) =>
      line.replaceAll(/^\s*(?:\/\/ ?|\/\*\* ?|\*\/| \* ?|\* ?|<!-- ?)|\s*(?:\*\/|-->)\s*$/g, ''),
    );
  const commands = [];
  const words = lines.map((line) =>
    line
      .replace(
        /(?:Run(?: it twice)?|Needs|Then look at it): ((?:node|npm|npx) .+?)(?= {2,}|$)/,
        (_, command) => {
          commands.push(command);
          return '';
        },
      )
      .replace(/^ +((?:node|npm|npx) .+)$/, (_, command) => {
        commands.push(command);
        return '';
      }),
  );
  const needs = lines.flatMap((line) => /Needs: (npm .+)$/.exec(line)?.[1] ?? []);
  const all = [...new Set([...needs, ...commands])];
  const text = words
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return all.length === 0 ? text : `${text}\n\n\`\`\`sh\n${all.join('\n')}\n\`\`\``;
}

/** The pages. @param render Markdown of a page to HTML */
export function examplePages(render) {
  const names = readdirSync(join(root, 'examples')).filter((name) => /\.(?:mjs|html)$/.test(name));
  return names.map((name) => {
    const code = readFileSync(join(root, 'examples', name), 'utf8');
    const address = exampleAddress(`examples/${name}`);
    const language = name.endsWith('.html') ? 'html' : 'js';
    // A fence that is longer than any in the program.
    const program = `\`\`\`\`\`${language}\n${code}\`\`\`\`\``;
    const markdown = `# ${name}\n\n${introductionOf(code)}\n\nThe program is \`examples/${name}\` of the repository; the tests run it.\n\n${program}\n`;
    return { address, title: name, html: render(markdown, address) };
  });
}
