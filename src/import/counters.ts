/** Steps and epochs as a file has them: counters that count on, begin again with every epoch, or begin again with a new run. */

/** Follows the counters of a file from row to row. */
export class Counters {
  /** What to add to a step that begins again with every epoch, so that it counts over the whole run. */
  offset = 0;
  #first = Number.NaN;
  #last = Number.NaN;
  #firstEpoch = Number.NaN;
  #lastEpoch = Number.NaN;

  /** Whether the counters are where they began. */
  get isAtStart(): boolean {
    return !(this.#last > this.#first) && !(this.#lastEpoch > this.#firstEpoch);
  }

  /**
   * Takes the counters of a row, NaN for one that is not there. True when they are back where they began: this is another run, when the
   * row has something that was there at the beginning too. {@link begin} then starts over.
   */
  isBack(step: number, epoch: number): boolean {
    const hasEpoch = epoch === epoch;
    if (step === step) {
      if (!(step < this.#last)) {
        if (!(this.#first <= step)) this.#first = step;
        this.#last = step;
      } else if (hasEpoch && epoch > this.#lastEpoch) {
        if (step <= this.#first) this.offset += this.#last + (this.#first > 0 ? 0 : 1);
        this.#last = step;
      } else {
        const hasAdvanced = this.#last > this.#first;
        if (hasAdvanced && step <= this.#first && !(epoch > this.#firstEpoch)) return true;
        if (step < this.#first) this.#first = step;
        this.#last = step;
      }
    } else if (hasEpoch && this.#lastEpoch > this.#firstEpoch && epoch <= this.#firstEpoch)
      return true;
    if (hasEpoch) {
      if (!(this.#firstEpoch <= epoch)) this.#firstEpoch = epoch;
      this.#lastEpoch = epoch;
    }
    return false;
  }

  /** The row that was back at the beginning begins another run. */
  begin(step: number, epoch: number): void {
    this.offset = 0;
    this.#first = this.#last = step;
    this.#firstEpoch = this.#lastEpoch = epoch;
  }
}
