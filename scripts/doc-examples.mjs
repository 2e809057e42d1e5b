// The examples of doc comments: blocks of code behind `@example`, in the declarations that an editor shows.
import { ENTRIES } from './entries.mjs';
import { namesOfEntry } from './declared-names.mjs';

const FENCE = /^\s*```(.*)$/;

/** The blocks behind `@example` in a doc comment, each with what stands behind its fence: `js`, `js page`. */
export function examplesIn(comment) {
  const examples = [];
  let isExample = false;
  let open;
  for (const line of comment.split('\n').map((each) => each.replace(/^\s*\* ?/, ''))) {
    const fence = FENCE.exec(line);
    if (open !== undefined && fence) {
      examples.push({ info: open.info, code: open.lines.join('\n') });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (fence && isExample) open = { info: fence[1].trim(), lines: [] };
    else if (/^@\w/.test(line)) isExample = line.startsWith('@example');
  }
  return examples;
}

/** Every example of the entries: `name` is that of its declaration, by the first entry that exports it. */
export function docExamples() {
  const seen = new Set();
  return ENTRIES.flatMap((entry) =>
    [...namesOfEntry(entry)].flatMap(([name, known]) => {
      const key = `${known.file} ${known.name}`;
      if (seen.has(key)) return [];
      seen.add(key);
      return known.comments
        .flatMap((comment) => examplesIn(comment))
        .map((example, index) => ({ entry, name, index, ...example }));
    }),
  );
}

/** `entry: name` of every name with an `@example` that is no block of code, which nothing runs. */
export function namesWithUnfencedExample() {
  return ENTRIES.flatMap((entry) =>
    [...namesOfEntry(entry)]
      .filter(([, { comments }]) =>
        comments.some(
          (comment) =>
            (comment.match(/^\s*\*? ?@example\b/gm)?.length ?? 0) > examplesIn(comment).length,
        ),
      )
      .map(([name]) => `${entry}: ${name}`),
  );
}

/** Whether people call a value or methods of it. Of error classes only the base needs an example: the others are caught alike. */
function isCallable(value) {
  if (typeof value === 'function')
    return !(value.prototype instanceof Error) || Object.getPrototypeOf(value) === Error;
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((one) => typeof one === 'function')
  );
}

/** The names that the build exports and that people call, by entry. */
export async function callableNames() {
  const found = await Promise.all(
    ENTRIES.map(async (entry) => {
      const exported = await import(new URL(`../dist/${entry}.js`, import.meta.url).href);
      return Object.entries(exported)
        .filter(([, value]) => isCallable(value))
        .map(([name]) => ({ entry, name }));
    }),
  );
  return found.flat();
}

/** `entry: name` of every callable name whose comment has no example. */
export async function namesWithoutExample() {
  const callable = await callableNames();
  return callable
    .filter(({ entry, name }) => {
      const comments = namesOfEntry(entry).get(name)?.comments ?? [];
      return !comments.some((comment) => examplesIn(comment).length > 0);
    })
    .map(({ entry, name }) => `${entry}: ${name}`);
}
