/** Messages between a page and its workers. */

/** One end of the line: a worker, the inside of one, or a port. */
export interface Line {
  postMessage(message: unknown, options?: { transfer?: Transferable[] }): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}
