/** Runs async work of one lane in the order of the calls, and different lanes side by side. */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(lane: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(lane);
    const result = before === undefined ? work() : before.then(work);
    const tail = result.then(nothing, nothing);
    this.#tails.set(lane, tail);
    void tail.then(() => {
      if (this.#tails.get(lane) === tail) this.#tails.delete(lane);
    });
    return result;
  }
}

function nothing(): void {}
