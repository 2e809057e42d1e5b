/**
 * Yields to the event loop now and then. Work that awaits only settled promises never leaves the microtask queue: a training loop
 * on the ONNX provider `wasm`, or the merge of a long run, would block timers, messages of workers and rendering until it ends.
 */
import { nextTask } from './next-task.ts';

/** Milliseconds after which everything else gets a turn; a sixtieth of a second has 16. */
const TURN_MS = 8;

/** One for each loop. */
export class Breather {
  #lastMs = performance.now();

  /** Waits for one turn of the event loop, if the last was long enough ago. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#lastMs < TURN_MS) return;
    await nextTask();
    this.#lastMs = performance.now();
  }
}
