// Every name that an entry exports has a comment saying what it is for, and every name that people call has an example in it. Read from
// the emitted declarations, so that what a user's editor shows is what is checked.
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { namesOfEntry, types } from './declared-names.mjs';
import { docExamples, namesWithUnfencedExample, namesWithoutExample } from './doc-examples.mjs';
import { ENTRIES } from './entries.mjs';

/** `entry: name` of every exported name without a comment. */
export function undocumentedNames() {
  return ENTRIES.flatMap((entry) =>
    [...namesOfEntry(entry)]
      .filter(([, known]) => known?.isDocumented !== true)
      .map(([name]) => `${entry}: ${name}`),
  );
}

/** The exported names of each entry, values and types, in order. */
export function publicNames() {
  return Object.fromEntries(
    ENTRIES.map((entry) => [entry, [...namesOfEntry(entry).keys()].map(String).toSorted()]),
  );
}

function report(what, names) {
  if (names.length === 0) return;
  console.error(`${what}:\n  ${names.join('\n  ')}`);
  process.exitCode = 1;
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const missing = undocumentedNames();
  report('Exported without a comment', missing);
  const bare = await namesWithoutExample();
  report('Exported without an example', bare);
  report('With an example that is no block of code', namesWithUnfencedExample());
  console.log(
    `${relative('.', types)}: ${missing.length} undocumented names, ${bare.length} without an example, ${docExamples().length} examples`,
  );
}
