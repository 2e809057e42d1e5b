import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects whose files share processes. Those that follow one another in a process must follow one another in the order. */
const SHARING = 'unit';
/** How far into its part of the run the last file of a folder begins: the long ones early, so that none is left alone at the end. */
const LAST_BEGINS: Readonly<Record<string, number>> = {
  e2e: 0.5,
  faults: 0.5,
  kill: 0.5,
  process: 0.5,
  property: 0.6,
  contract: 0.6,
};

/**
 * The order of a whole run: first the files that have a process each, then those that share. Both mixed by folder, so that
 * some wait for processes and browsers where others compute, and never are all browsers open at once.
 */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const apart = sorted.filter(({ project }) => project.name !== SHARING);
    const shared = sorted.filter(({ project }) => project.name === SHARING);
    return [...this.#mix(apart), ...this.#mix(shared)];
  }

  #folder({ moduleId }: TestSpecification): string {
    return relative(this.ctx.config.root, moduleId).split(/[/\\]/)[1] ?? '';
  }

  /** Spreads the files of each folder evenly, from the first on. */
  #mix(files: readonly TestSpecification[]): TestSpecification[] {
    const folders = new Map<string, TestSpecification[]>();
    for (const file of files) {
      const inFolder = folders.get(this.#folder(file));
      if (inFolder) inFolder.push(file);
      else folders.set(this.#folder(file), [file]);
    }
    return [...folders]
      .flatMap(([folder, inFolder]) =>
        inFolder.map((file, index) => ({
          file,
          place: (index / inFolder.length) * (LAST_BEGINS[folder] ?? 1),
        })),
      )
      .toSorted((a, b) => a.place - b.place)
      .map(({ file }) => file);
  }
}
