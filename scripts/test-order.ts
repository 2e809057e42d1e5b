import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Projects in the order in which they begin, where tiers run by themselves. A worker is reused by the next file only if that belongs to
 * the same project, so that projects do not mix. Those with few long files come first: the many short ones of the fast tier then fill
 * the workers evenly up to the end.
 */
const PROJECTS = ['release', 'browser', 'integration', 'fast'];
/**
 * Where in its project the last file of a folder begins, as a fraction: long files early. Beside those that need a processor run others
 * that wait for processes and clocks.
 */
const LAST_BEGINS: Readonly<Record<string, number>> = {
  adding: 0,
  contract: 0.6,
  e2e: 0.7,
  faults: 0.5,
  kill: 0.5,
  package: 0.2,
  process: 0.5,
  property: 0.6,
  service: 0.8,
};

/** The order of a whole run: files with a process of their own, then project by project, each mixed by folder. */
export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const groups = new Map<number, TestSpecification[]>();
    for (const file of await super.sort(files)) {
      const rank = PROJECTS.indexOf(file.project.name);
      groups.set(rank, [...(groups.get(rank) ?? []), file]);
    }
    return [...groups]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([, inProject]) => this.#mix(inProject));
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
          position: (index / inFolder.length) * (LAST_BEGINS[folder] ?? 1),
        })),
      )
      .toSorted((a, b) => a.position - b.position)
      .map(({ file }) => file);
  }
}
