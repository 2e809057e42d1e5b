/** Cells with a unit behind their number, as `nvidia-smi --format=csv` writes them: `45 %`, `1234 MiB`. */
import { numberFromText } from '../../../codecs/number-text.ts';

/** A number and its unit. */
export type Amount = { readonly value: number; readonly unit: string };

/** Units of time, memory, frequency, power, temperature and rates; a word that is none of these makes a cell a text. */
const AMOUNT =
  /^\s{0,8}(?<value>[-+]?[\d.]{1,40}(?:[eE][-+]?\d{1,3})?)\s{0,4}(?<unit>%|°?[CF]|K|[kMGT]?Hz|[munµ]?s|sec|min|h|[kKMGT]i?B|B|m?W|kW|m?V|m?A|k?J|RPM|(?:it|[kMG]i?B|B|samples|tokens|steps|img|images|examples)\/s(?:ec)?)\s{0,8}$/;

/** What the cell says; undefined for one that is no number with a unit. */
export function amountIn(text: string): Amount | undefined {
  const { unit = '', value = '' } = AMOUNT.exec(text)?.groups ?? {};
  const number = unit === '' ? undefined : numberFromText(value);
  return typeof number === 'number' ? { value: number, unit } : undefined;
}

/** The unit in brackets at the end of the name of a column. */
const NAMED_UNIT = /\s{0,4}\[(?<unit>[^[\]]{1,12})\]\s{0,4}$/;

/** The name of a column with its unit as a word, so that a key tells it: `utilization.gpu [%]` is `utilization.gpu percent`. */
export function nameWithUnit(name: string, unitOfCells = ''): string {
  const named = NAMED_UNIT.exec(name)?.groups?.['unit'];
  const unit = (named ?? unitOfCells).trim();
  if (unit === '') return name;
  const word = unit === '%' ? 'percent' : unit.replace('°', '').replaceAll('/', '_per_');
  const stem = named === undefined ? name : name.replace(NAMED_UNIT, '');
  return new RegExp(`(?:^|[^a-z])${word}$`, 'i').test(stem) ? stem : `${stem} ${word}`;
}
