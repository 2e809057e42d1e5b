/** All files of the matrix. */
import type { ModelCase } from './model-case.ts';
import { CLASSIFIERS } from './models/classifiers.ts';
import { FROZEN } from './models/frozen.ts';
import { FRAMEWORKS } from './models/frameworks.ts';
import { IMAGE_MODELS } from './models/image-to-image.ts';
import { RECURRENT_MODELS } from './models/recurrent.ts';
import { TRANSFORMERS } from './models/transformers.ts';
import { UNUSUAL } from './models/unusual.ts';

export const MODEL_CASES: readonly ModelCase[] = [
  ...CLASSIFIERS,
  ...IMAGE_MODELS,
  ...TRANSFORMERS,
  ...RECURRENT_MODELS,
  ...FRAMEWORKS,
  ...UNUSUAL,
  ...FROZEN,
];
