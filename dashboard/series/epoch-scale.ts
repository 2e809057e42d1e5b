/** Where epochs begin and how long they are, so that a step has a position within its epoch. */

/** First step of each epoch and how many steps an epoch has: what gives a step its position within its epoch. */
export type EpochScale = {
  readonly firstStep: ReadonlyMap<number, number>;
  /** Largest number of steps seen in one epoch, at least 1. */
  readonly stepsPerEpoch: number;
};

/** An epoch with its first and last step. */
export type EpochSpan = readonly [epoch: number, first: number, last: number];

/** Finds where epochs begin, from every point that has both a step and an epoch, as the points come. */
export class EpochScaler {
  #first = new Map<number, number>();
  readonly #last = new Map<number, number>();
  #scale: EpochScale = { firstStep: this.#first, stepsPerEpoch: 1 };
  #stepsPerEpoch = 1;
  #isMoved = false;

  /** The span of the points since the epoch changed last, which is most of them: not in the maps yet. */
  #epoch = Number.NaN;
  #from = Number.POSITIVE_INFINITY;
  #to = Number.NEGATIVE_INFINITY;

  /** Takes a point in; points without a step or an epoch say nothing. */
  add(step: number, epoch: number): void {
    if (Number.isNaN(step) || Number.isNaN(epoch)) return;
    if (epoch !== this.#epoch) {
      this.#settle();
      this.#epoch = epoch;
    }
    if (step < this.#from) this.#from = step;
    if (step > this.#to) this.#to = step;
  }

  #settle(): void {
    if (this.#from <= this.#to) this.addSpan([this.#epoch, this.#from, this.#to]);
    this.#from = Number.POSITIVE_INFINITY;
    this.#to = Number.NEGATIVE_INFINITY;
  }

  /** Takes in a first and last step of an epoch. */
  addSpan([epoch, from, to]: EpochSpan): void {
    const first = this.#first.get(epoch);
    const last = this.#last.get(epoch);
    if (first === undefined || from < first) {
      this.#first.set(epoch, from);
      if (first !== undefined) this.#isMoved = true;
    }
    if (last === undefined || to > last) this.#last.set(epoch, to);
    const length = Math.max(last ?? to, to) - Math.min(first ?? from, from) + 1;
    if (length > this.#stepsPerEpoch) {
      this.#stepsPerEpoch = length;
      this.#isMoved = true;
    }
  }

  /** First and last step of each epoch so far. */
  get spans(): EpochSpan[] {
    this.#settle();
    return Array.from(this.#first, ([epoch, first]): EpochSpan => [
      epoch,
      first,
      this.#last.get(epoch) ?? first,
    ]);
  }

  /** The scale so far: the same object as long as every point stays where it was. */
  get scale(): EpochScale {
    this.#settle();
    if (this.#isMoved) {
      this.#first = new Map(this.#first);
      this.#scale = { firstStep: this.#first, stepsPerEpoch: this.#stepsPerEpoch };
      this.#isMoved = false;
    }
    return this.#scale;
  }

  /** The furthest position of any point that was added, undefined before the first. */
  get end(): number | undefined {
    this.#settle();
    let end: number | undefined;
    for (const [epoch, last] of this.#last) {
      const first = this.#first.get(epoch) ?? last;
      const position = epoch + Math.min(1, (last - first) / this.#stepsPerEpoch);
      if (end === undefined || position > end) end = position;
    }
    return end;
  }
}

/** The scale of a run without epochs. */
export const NO_EPOCHS: EpochScale = { firstStep: new Map(), stepsPerEpoch: 1 };
