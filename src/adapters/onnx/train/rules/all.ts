/** The rules of all operators. */
import type { OpRules } from '../graph/tape.ts';
import { ACTIVATION_RULES } from './activations.ts';
import { ARITHMETIC_RULES } from './arithmetic.ts';
import { CONVOLUTION_RULES } from './convolution.ts';
import { EINSUM_RULES } from './einsum.ts';
import { INDEX_RULES } from './indices.ts';
import { LAYOUT_RULES } from './layout.ts';
import { MATRIX_RULES } from './matrix.ts';
import { NOISE_RULES } from './noise.ts';
import { NORMALISATION_RULES } from './normalisation.ts';
import { PADDING_RULES } from './padding.ts';
import { POOL_RULES } from './pools.ts';
import { RECURRENT_RULES } from './recurrent.ts';
import { REDUCTION_RULES } from './reductions.ts';
import { REPEAT_RULES } from './repeats.ts';
import { RESIZE_RULES } from './resize.ts';
import { SHAPE_RULES } from './shapes.ts';

/** Operators that can be trained through, and how. */
export const OPERATOR_RULES: OpRules = {
  ...ACTIVATION_RULES,
  ...ARITHMETIC_RULES,
  ...CONVOLUTION_RULES,
  ...EINSUM_RULES,
  ...INDEX_RULES,
  ...LAYOUT_RULES,
  ...MATRIX_RULES,
  ...NOISE_RULES,
  ...NORMALISATION_RULES,
  ...PADDING_RULES,
  ...POOL_RULES,
  ...RECURRENT_RULES,
  ...REDUCTION_RULES,
  ...REPEAT_RULES,
  ...RESIZE_RULES,
  ...SHAPE_RULES,
};
