/** Which run, report and column stands for what in the views of a store. */
export type ShownRuns = {
  readonly compared: readonly string[];
  readonly media: string;
  readonly probed: { readonly id: string; readonly layer: string };
  readonly broken: string;
  readonly profiled: string;
  readonly batches: string;
  readonly report: { readonly project: string; readonly id: string };
  readonly group: string;
};
/** A view: what it is called, its address from `#` on, and the selector of an element that is there once it is complete. */
export type View = { readonly name: string; readonly hash: string; readonly sign: string };
export function viewsOf(runs: ShownRuns): readonly View[];
