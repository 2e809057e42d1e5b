/** Which folders of event files are one run: a side of it each, or one curve of it each. */
import { fileName, folderOf, groupByFolder, type InputFile } from '../../../codecs/input.ts';

const TRAIN = /^(?:train|training|learn|fit)$/iu;
const HELD_OUT = /^(?:val|valid|validation|eval|evaluation|dev|test)$/iu;
/** A folder that PyTorch's `add_scalars` makes for each curve: the tag, and what tells the curve from the others. */
const CURVE = /^(.+)_(train|training|val|valid|validation|eval|test)$/iu;

/**
 * Files by run. A folder is one, as it is for TensorBoard, but for the two sides of a training: `train` beside `validation` as Keras writes
 * them, `learn` beside `test` as CatBoost does, `eval` within the folder of an estimator, and the folders `Loss_train` and `Loss_val` that
 * `add_scalars` of PyTorch makes within the folder of a run.
 */
export function runsOfFolders(files: readonly InputFile[]): InputFile[][] {
  const folders = groupByFolder(files).map((group) => ({
    path: folderOf(group[0]?.path ?? ''),
    group,
  }));
  const paths = new Set(folders.map(({ path }) => path));
  const runs = new Map<string, InputFile[]>();
  for (const { group, path } of folders) {
    const run = isPart(path, paths) ? folderOf(path) : path;
    runs.set(run, [...(runs.get(run) ?? []), ...group]);
  }
  return [...runs.values()];
}

/** The folder of the run that some files are of. */
export function runFolderOf(files: readonly InputFile[]): string {
  const folders = [...new Set(files.map(({ path }) => folderOf(path)))];
  const [first = ''] = folders;
  if (folders.length === 1) return first;
  const parent = folders.find((folder) =>
    folders.every((one) => one === folder || folderOf(one) === folder),
  );
  return parent ?? folderOf(first);
}

/** What a folder says of the tags in it: a word before them, or behind them. */
export type FolderWords = { readonly before: string; readonly behind: string };

/** The words that the tags of a folder get, as the folder of a run, or a part of it. */
export function wordsOfFolder(path: string, run: string): FolderWords {
  const name = fileName(path);
  const curve = path === run ? undefined : CURVE.exec(name)?.[2];
  if (curve !== undefined) return { before: '', behind: curve };
  return { before: HELD_OUT.test(name) ? name : '', behind: '' };
}

function isPart(path: string, paths: ReadonlySet<string>): boolean {
  const parent = folderOf(path);
  const name = path.slice(parent === '' ? 0 : parent.length + 1);
  if (path === '' || name === '') return false;
  const siblings = [...paths]
    .filter(
      (other) => other !== path && other !== parent && folderOf(other) === parent && other !== '',
    )
    .map(fileName);
  const hasParent = paths.has(parent) && parent !== path;
  if (TRAIN.test(name)) return siblings.some((other) => HELD_OUT.test(other));
  if (HELD_OUT.test(name)) return hasParent || siblings.some((other) => TRAIN.test(other));
  const [, tag, side] = CURVE.exec(name) ?? [];
  return (
    hasParent &&
    tag !== undefined &&
    siblings.some((other) => {
      const [, otherTag, otherSide] = CURVE.exec(other) ?? [];
      return otherTag === tag && otherSide !== side;
    })
  );
}
