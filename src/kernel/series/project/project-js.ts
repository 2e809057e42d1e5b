/** Principal components in plain JavaScript: the twin of the kernel in WebAssembly, equal to the last bit. */
import { centredRows, type ProjectKernel } from './project.ts';
import { addScaled, findComponents, scalarProduct } from './subspace.ts';

/** Principal components in plain JavaScript. */
export const jsProject: ProjectKernel = {
  principalComponents(values, options) {
    const centred = centredRows(values, options);
    const { count, dimensions, rows } = centred;
    return findComponents(centred, (basis, width) => {
      const sums = new Float64Array(width * dimensions);
      for (let i = 0; i < count; i++) {
        const row = rows.subarray(i * dimensions, (i + 1) * dimensions);
        for (let j = 0; j < width; j++) {
          const from = j * dimensions;
          const factor = scalarProduct(row, basis.subarray(from, from + dimensions));
          addScaled(sums.subarray(from, from + dimensions), row, factor);
        }
      }
      return sums;
    });
  },
};
