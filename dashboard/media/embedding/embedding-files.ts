/** Files of embeddings. Pure. */
import type { PrincipalComponents } from 'quark-sdk/kernels';
import type { MediaTable } from '../save/media-save.tsx';

/** One row a point: its number, its label, and its positions on the components. */
export function embeddingTable(
  { componentCount, positions }: PrincipalComponents,
  labels: readonly string[] | null,
): MediaTable {
  const names = Array.from({ length: componentCount }, (_, at) => `component_${at + 1}`);
  return {
    header: ['index', 'label', ...names],
    rows: Array.from({ length: positions.length / componentCount }, (_, at) => [
      at,
      labels?.[at],
      ...positions.subarray(at * componentCount, (at + 1) * componentCount),
    ]),
  };
}
