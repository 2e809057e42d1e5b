// Runs examples one after the other, each a module in a folder of its own, and says how each ended. Started with the path of a list of
// files; writes the outcomes beside it.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, formatWithOptions } from 'node:util';

const [list = ''] = process.argv.slice(2);
const LIMIT_MS = 60_000;
const inOneLine = (text) => text.replaceAll(/\s+/g, ' ').trim();
let seen = new Map();
let wrong = [];

/** `console.log` of a line that says in a comment what is printed: the first time the comment begins with it, later it has it somewhere. */
globalThis.quarkPrints = (line, expected, ...values) => {
  console.log(...values);
  const printed = inOneLine(formatWithOptions({ breakLength: Infinity }, ...values));
  const isFirst = !seen.has(line);
  seen.set(line, true);
  const rest = expected.slice(printed.length);
  const fits = isFirst
    ? expected.startsWith(printed) && /^(?:$|[:,]| \()/.test(rest)
    : expected.includes(printed);
  if (!fits) wrong.push(`prints "${printed}", and its comment says "${expected}"`);
};

process.on('unhandledRejection', (error) => wrong.push(`unhandled rejection: ${format(error)}`));

async function outcomeOf(file) {
  process.chdir(dirname(file));
  seen = new Map();
  wrong = [];
  let timer;
  const tooLong = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It runs longer than ${LIMIT_MS} ms.`)), LIMIT_MS);
  });
  try {
    await Promise.race([import(pathToFileURL(file).href), tooLong]);
  } catch (error) {
    // An error that a program is to end with is told by its name and code.
    const isTyped = typeof error?.code === 'string';
    return isTyped ? `threw ${error.name}:${error.code}\n${format(error)}` : format(error);
  } finally {
    clearTimeout(timer);
  }
  return wrong.length === 0 ? 'ok' : wrong.join('\n');
}

const outcomes = [];
for (const file of JSON.parse(readFileSync(list, 'utf8'))) outcomes.push(await outcomeOf(file));
writeFileSync(`${list}.outcomes`, JSON.stringify(outcomes));
process.exit(0);
