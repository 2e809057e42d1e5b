/** Where this code runs. */

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

/** Node, and nothing that only looks like it: bundlers' `process` has no versions, Electron's pages are pages. */
export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: unknown }; type?: unknown } };
  return typeof process?.versions?.node === 'string' && process.type !== 'renderer';
}
