/** Principal components in WebAssembly. */
import { copyIn, type SeriesModule } from '../module/module.ts';
import { centredRows, type PrincipalComponents, type ProjectKernel } from './project.ts';
import { findComponents } from './subspace.ts';

type ProjectFunctions = {
  readonly projectGram: (
    rows: number,
    count: number,
    size: number,
    basis: number,
    width: number,
    sums: number,
  ) => void;
};

/** Principal components in WebAssembly. */
export function wasmProject(module: SeriesModule): ProjectKernel {
  return {
    principalComponents(values, options) {
      const centred = centredRows(values, options);
      const { count, dimensions } = centred;
      return module.use<ProjectFunctions, PrincipalComponents>(
        ['projectGram'],
        ({ projectGram }, arena) => {
          const rows = copyIn(arena, centred.rows);
          return findComponents(centred, (basis, width) => {
            const mark = arena.mark();
            const from = copyIn(arena, basis);
            const sums = copyIn(arena, new Float64Array(basis.length));
            projectGram(rows, count, dimensions, from, width, sums);
            const result = arena.slots(sums, basis.length).slice();
            arena.release(mark);
            return result;
          });
        },
      );
    },
  };
}
