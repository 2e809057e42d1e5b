/** Steps and epochs as a file has them: counters that count on, begin again with every epoch, or begin again with a new run. */

/** Where the steps of an epoch, and of those after it up to the next of these, begin. */
type Lap = { readonly epoch: number; readonly offset: number };

/** Follows the counters of a file from row to row. */
export class Counters {
  /** What to add to a step that begins again with every epoch, so that it counts over the whole run. */
  offset = 0;
  #first = Number.NaN;
  #last = Number.NaN;
  #firstEpoch = Number.NaN;
  #lastEpoch = Number.NaN;
  /** The highest epoch that had steps, and the highest step in it. */
  #topEpoch = Number.NaN;
  #end = Number.NaN;
  /** In ascending order; empty while the steps have counted on over all epochs. */
  #laps: Lap[] = [];

  /** Whether the counters are where they began. */
  get isAtStart(): boolean {
    return !(this.#last > this.#first) && !(this.#lastEpoch > this.#firstEpoch);
  }

  /** Whether a row with these counters would stand where the first row stood, or before. */
  isAtFirst(step: number, epoch: number): boolean {
    const hasBegun = step === step ? this.#first === this.#first : this.#firstEpoch === epoch;
    return hasBegun && !(step > this.#first) && !(epoch > this.#firstEpoch);
  }

  /**
   * Takes the counters of a row, NaN for one that is not there. True when they are back where they began: this is another run, when the
   * row has something that was there at the beginning too. {@link begin} then starts over.
   * @param epochSteps steps of an epoch where the row says them; 0 when it says no more than that the step is one of an epoch; NaN when
   * the step may as well be one of the run
   */
  isBack(step: number, epoch: number, epochSteps = Number.NaN): boolean {
    const hasEpoch = epoch === epoch;
    if (step === step) {
      const isLater = this.#isLaterEpoch(step, Math.floor(epoch), epochSteps);
      if (!(step < this.#last)) {
        const hasLaps = this.#laps.length > 0 && !isLater;
        if (hasLaps && this.#lastEpoch > this.#firstEpoch && this.#isAtBeginning(step, epoch))
          return true;
        if (!(this.#first <= step)) this.#first = step;
      } else if (!isLater) {
        if (this.#last > this.#first && this.#isAtBeginning(step, epoch)) return true;
        if (step < this.#first) this.#first = step;
      }
      this.#last = step;
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
    this.#first = this.#last = this.#end = step;
    this.#firstEpoch = this.#lastEpoch = epoch;
    this.#topEpoch = step === step ? Math.floor(epoch) : Number.NaN;
    this.#laps = [];
  }

  /** Whether a row with these counters would stand before the last one. */
  isBefore(step: number, epoch: number): boolean {
    return step === step ? step < this.#last : epoch < this.#lastEpoch;
  }

  #isAtBeginning(step: number, epoch: number): boolean {
    return step <= this.#first && !(epoch > this.#firstEpoch);
  }

  /**
   * Finds the offset of a step. A step that is lower than one of an epoch before counts within its epoch; so do those after it.
   * @returns whether no epoch before was as high
   */
  #isLaterEpoch(step: number, epoch: number, epochSteps: number): boolean {
    const isLater = epoch > this.#topEpoch;
    if (isLater) {
      const isOfEpoch = epochSteps === epochSteps;
      const isLap =
        step < this.#end || (isOfEpoch && (step === this.#end || this.#laps.length > 0));
      if (isLap) {
        const counted = this.#end + (this.#first > 0 ? 0 : 1);
        const written = isOfEpoch ? (epoch - this.#topEpoch) * epochSteps : 0;
        const offset = this.#offsetOf(this.#topEpoch) + Math.max(counted, written);
        this.#laps.push({ epoch, offset });
      }
      this.#end = step;
    } else if (!(step <= this.#end) && !(epoch < this.#topEpoch)) this.#end = step;
    if (!(epoch <= this.#topEpoch) && epoch === epoch) this.#topEpoch = epoch;
    if (epoch === epoch) this.offset = this.#offsetOf(epoch);
    return isLater;
  }

  /** A run that was gone on with from a checkpoint is in epochs again that it was in before. */
  #offsetOf(epoch: number): number {
    let low = 0;
    let high = this.#laps.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#laps[middle]?.epoch ?? 0) <= epoch) low = middle + 1;
      else high = middle;
    }
    return this.#laps[low - 1]?.offset ?? 0;
  }
}
