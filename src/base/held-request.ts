/**
 * Requests that can be aborted until they are answered.
 *
 * Node (20, with undici 6) follows the signal of a `Request` through weak references only: once the request itself is
 * collected, aborting it does nothing, and what the network has swallowed is waited for without end. Engines let go of a
 * request as soon as nobody reads it any more, while `fetch` is still under way.
 */

const underWay = new Set<Request>();

/** Does `work`, which sends the request and reads the answer, and keeps the request from being collected meanwhile. */
export async function holding<T>(request: Request, work: () => Promise<T>): Promise<T> {
  underWay.add(request);
  try {
    return await work();
  } finally {
    underWay.delete(request);
  }
}
