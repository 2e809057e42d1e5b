import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects whose files share processes. Those that follow one another in a process must follow one another in the order. */
const SHARING = 'unit';
/** Of those, the folders with the longest files, before the rest. */
const LONG_FOLDERS = ['contract', 'property'];

/**
 * The order of a whole run. Files that start processes and browsers come first, mixed by folder: some wait where others
 * compute, and never are all browsers open at once. The short ones come last, so that no long one is left alone at the end.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const apart = sorted.filter(({ project }) => project.name !== SHARING);
    const shared = sorted.filter(({ project }) => project.name === SHARING);
    const rank = (file: TestSpecification): number => {
      const at = LONG_FOLDERS.indexOf(this.#folder(file));
      return at < 0 ? LONG_FOLDERS.length : at;
    };
    return [...this.#mix(apart), ...shared.toSorted((a, b) => rank(a) - rank(b))];
  }

  #folder({ moduleId }: TestSpecification): string {
    return relative(this.ctx.config.root, moduleId).split(/[/\\]/)[1] ?? '';
  }

  /** Spreads the files of each folder evenly. */
  #mix(files: readonly TestSpecification[]): TestSpecification[] {
    const folders = new Map<string, TestSpecification[]>();
    for (const file of files) {
      const inFolder = folders.get(this.#folder(file));
      if (inFolder) inFolder.push(file);
      else folders.set(this.#folder(file), [file]);
    }
    return [...folders.values()]
      .flatMap((inFolder) =>
        inFolder.map((file, index) => ({ file, place: index / inFolder.length })),
      )
      .toSorted((a, b) => a.place - b.place)
      .map(({ file }) => file);
  }
}
