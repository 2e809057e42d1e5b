/** What a process that deletes, restores, backs up and sweeps is told by its argument, as JSON. */
export type ForgetPlan = {
  /** A folder, or the address of a service: there retention is applied, and nothing is backed up or swept. */
  readonly storage: string;
  readonly backup: string;
  readonly seed: number;
  /** The start of the names of its runs. */
  readonly life: string;
};

/** Batches and rows of each of its runs. */
export const DOOMED = { writer: 'w', batches: 3, rows: 25 };
