/** Texts of the page under a root by their keys, each with the line that says it, and what is wrong, as lines. */
export function pageTexts(root: string): {
  readonly keys: ReadonlyMap<string, string>;
  readonly errors: readonly string[];
};

/** What is wrong with a catalogue for these keys, as lines. */
export function catalogueErrors(
  keys: ReadonlyMap<string, string>,
  catalogue: Readonly<Record<string, string>>,
): readonly string[];

/** The German catalogue of the page under a root. */
export function readCatalogue(root: string): Readonly<Record<string, string>>;
