/** Names of runs whose files have none: the path that people know them by. */
import { fileName, folderOf } from '../../../codecs/input.ts';

/** What many programs call the file with their numbers: the folder says more. */
const COMMON_STEMS = new Set([
  'metrics',
  'results',
  'result',
  'log',
  'logs',
  'history',
  'progress',
  'training',
  'train',
  'training_log',
  'output',
  'out',
  'main',
]);

/** Whether a file is called what files of many programs are called. */
export function isCommonStem(stem: string): boolean {
  return COMMON_STEMS.has(stem.toLowerCase());
}

/** The name of a run out of the path of its file: the name of the file, or that of its folder where every run has one called so. */
export function runNameOf(path: string): string {
  const name = fileName(path);
  const stem = name.replace(/\.[A-Za-z0-9]{1,8}$/, '') || name;
  const folder = fileName(folderOf(path));
  return folder !== '' && isCommonStem(stem) ? folder : stem;
}
