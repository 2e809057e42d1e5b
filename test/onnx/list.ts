/** All files of the matrix. */
import type { ModelCase } from './model-case.ts';
import { CLASSIFIERS } from './models/classifiers.ts';
import { FROZEN } from './models/frozen.ts';
import { FRAMEWORKS } from './models/frameworks.ts';
import { IMAGE_MODELS } from './models/image-to-image.ts';
import { RECURRENT_MODELS } from './models/recurrent.ts';
import { TRANSFORMERS } from './models/transformers.ts';
import { UNUSUAL } from './models/unusual.ts';

/** Files of exporters that write the weights beside the model, once more so. */
const SPLIT = [...CLASSIFIERS, ...TRANSFORMERS]
  .filter(({ exporter }) => exporter.includes('Dynamo'))
  .map((one) => ({ ...one, name: `${one.name}, weights in another file`, isSplit: true }));

export const MODEL_CASES: readonly ModelCase[] = [
  ...CLASSIFIERS,
  ...IMAGE_MODELS,
  ...TRANSFORMERS,
  ...RECURRENT_MODELS,
  ...FRAMEWORKS,
  ...UNUSUAL,
  ...FROZEN,
  ...SPLIT,
];
