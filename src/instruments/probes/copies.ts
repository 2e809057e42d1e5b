/** Copies of tensors, for sources that overwrite their arrays. */
import type { TensorData } from '../../kernel/kernel.ts';
import type { TensorRef } from './model-source.ts';

/** The elements copied. */
export function copyOf(tensor: TensorRef, data: TensorData): TensorRef {
  return { shape: tensor.shape, dtype: tensor.dtype, data: data.slice() };
}
