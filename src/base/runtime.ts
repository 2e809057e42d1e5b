/** Where this code runs, and how its parts come there. */
import { isQuarkError, messageOf, QuarkError } from './errors.ts';

/** As much of a stream at a time as `Blob` gives: what compresses it blocks a page for no longer. */
const STREAM_BYTES = 65_536;

/** Bytes as a stream, one part after the other. As `Blob` does it, whose `stream()` jsdom lacks. */
export function bytesStream(
  parts: readonly Uint8Array<ArrayBuffer>[],
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { stream } = Blob.prototype as Partial<Blob>;
  if (stream !== undefined) return new Blob([...parts]).stream();
  // A pull that gives nothing is not repeated.
  const [...left] = parts.filter(({ length }) => length > 0);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const [bytes] = left;
      if (bytes === undefined) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.slice(at, at + STREAM_BYTES));
      at += STREAM_BYTES;
      if (at < bytes.length) return;
      at = 0;
      left.shift();
    },
  });
}

/**
 * Refuses a Node that lacks what is used here, in one sentence instead of the first thing that is missing.
 *
 * @throws {Error}
 */
export function refuseOldNode(version: string | undefined): true {
  if (version !== undefined && Number.parseInt(version) < 20)
    throw new Error(`quark-sdk needs Node 20.16 or later, and this is Node ${version}.`);
  return true;
}

/**
 * As it is imported: every entry of the package has this module, before those that use what is missing. A constant that is read, since a
 * bundler that leaves out what is not used cannot leave out a statement.
 */
const IS_NEW_ENOUGH = refuseOldNode(nodeVersion());

/** Node, and nothing that only looks like it: bundlers' `process` has no versions, Electron's pages are pages, workerd has no files. */
export function isNode(): boolean {
  return IS_NEW_ENOUGH && nodeVersion() !== undefined;
}

/** Whether the browser is built on Chromium. A wrong answer costs its log of names some milliseconds, or leaves it alone. */
export function isChromium(): boolean {
  return typeof navigator === 'object' && /Chrom(e|ium)\//.test(navigator.userAgent);
}

function nodeVersion(): string | undefined {
  const { navigator, process } = globalThis as {
    navigator?: { userAgent?: unknown };
    process?: { versions?: { node?: unknown }; type?: unknown };
  };
  const version = process?.versions?.node;
  // workerd has Node's modules by default since 2026-08, and neither its files nor its threads.
  const isOther = process?.type === 'renderer' || navigator?.userAgent === 'Cloudflare-Workers';
  return typeof version === 'string' && !isOther ? version : undefined;
}

/** How Chromium says that it could not fetch a module, and will not ask for it again while the page is open. */
const NOT_FETCHED = /^Failed to fetch dynamically imported module: (https?:\S+)$/;

/** Other addresses of parts that could not be fetched from their own, by the text of what loads them; undefined where they fail as well. */
const OTHER_ADDRESSES = new Map<string, Promise<string | undefined>>();
let attempts = 0;

/**
 * Loads a part of the package. A part that could not be loaded is asked for again by the next call. Where the browser remembers the
 * failure, its address gets a query: the first one has no module and will have none, so that there are never two copies of a part.
 *
 * @param what what cannot be done without it, as the subject of a sentence
 * @throws {QuarkError} `unsupported` where the network, or a new release of the page, has taken the part away
 */
export async function loadPart<T>(what: string, load: () => Promise<T>): Promise<T> {
  const name = `${what} ${String(load)}`;
  try {
    const known = await OTHER_ADDRESSES.get(name);
    return await (known === undefined ? load() : importFrom<T>(known));
  } catch (cause) {
    if (isQuarkError(cause)) throw cause;
    const own = NOT_FETCHED.exec(messageOf(cause))?.[1];
    const address = own === undefined ? undefined : await otherAddress(name, own);
    if (address !== undefined) return importFrom<T>(address);
    throw new QuarkError(
      'unsupported',
      `${what} needs a part of quark-sdk that could not be loaded. Is the page offline, or were its files replaced since it was opened? It is asked for again when it is needed next. Nothing that was recorded is lost by that while the page is open.`,
      { cause },
    );
  }
}

/** Where a part could be fetched after all. Calls that ask at once get the same, and so the same module. */
async function otherAddress(name: string, own: string): Promise<string | undefined> {
  const asking = OTHER_ADDRESSES.get(name) ?? tryOther(own);
  OTHER_ADDRESSES.set(name, asking);
  const found = await asking;
  if (found === undefined) OTHER_ADDRESSES.delete(name);
  return found;
}

async function tryOther(own: string): Promise<string | undefined> {
  const address = `${own}${own.includes('?') ? '&' : '?'}again=${++attempts}`;
  return importFrom(address).then(
    () => address,
    () => undefined,
  );
}

const importFrom = <T>(address: string): Promise<T> =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ address);
