/** The settings a person may change, and what they may be. */
import { t } from '../../dashboard/parts/t.ts';

/** One numeric setting and its limits. */
export type FormField = {
  readonly name: 'epochs' | 'learningRate' | 'batchSize';
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number | 'any';
  readonly isWhole: boolean;
  readonly choices: readonly number[];
};

/** The settings of the training page. */
export const FIELDS: readonly FormField[] = [
  {
    name: 'epochs',
    get label() {
      return t('Epochs');
    },
    min: 1,
    max: 500,
    step: 1,
    isWhole: true,
    choices: [3, 20, 60],
  },
  {
    name: 'learningRate',
    get label() {
      return t('Learning rate');
    },
    min: 1e-6,
    max: 10,
    step: 'any',
    isWhole: false,
    choices: [0.0003, 0.001, 0.01],
  },
  {
    name: 'batchSize',
    get label() {
      return t('Batch size');
    },
    min: 1,
    max: 512,
    step: 1,
    isWhole: true,
    choices: [16, 32, 128],
  },
];

/** Why a text is no value of a field, or undefined when it is one. */
export function fieldError(
  field: Pick<FormField, 'min' | 'max' | 'isWhole'>,
  text: string,
): string | undefined {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return t('a number is needed');
  if (value < field.min || value > field.max)
    return t('from {min} to {max}', { min: field.min, max: field.max });
  return field.isWhole && !Number.isInteger(value) ? t('a whole number is needed') : undefined;
}
