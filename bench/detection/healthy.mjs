// Programs that look odd and are right: nothing may be said of them.
import { hasRelu, isClassification, isDense, isHidden, mostlyFirstClass, rated } from './edits.mjs';

export const HEALTHY = [
  { id: 'healthy', change: (program) => program },
  {
    id: 'sparse-relu',
    appliesTo: hasRelu,
    change: (program) => ({
      ...program,
      initial: (variable) =>
        !variable.isKernel && /^(hidden|hidden_1|conv_1)\//.test(variable.name)
          ? variable.fill(-0.12)
          : undefined,
      layers: program.layers.map((layer) =>
        layer.kind === 'dense' && layer.activation === 'relu'
          ? { ...layer, units: layer.units * 3 }
          : layer,
      ),
    }),
  },
  { id: 'converged', change: (program) => ({ ...program, steps: program.steps * 3 }) },
  {
    id: 'warm-up-cosine',
    change: (program) => ({
      ...program,
      rateAt: (step, steps) =>
        step < 0.1 * steps
          ? (step + 1) / (0.1 * steps)
          : 0.5 * (1 + Math.cos((Math.PI * (step - 0.1 * steps)) / (0.9 * steps))),
    }),
  },
  {
    id: 'dropout',
    change: (program) => ({
      ...program,
      steps: Math.round(program.steps * 1.5),
      layers: program.layers.flatMap((layer, i, layers) =>
        i === layers.length - 2
          ? [layer, { kind: 'dropout', name: 'dropout', rate: 0.5 }]
          : [layer],
      ),
    }),
  },
  {
    id: 'small-batches',
    change: (program) => ({ ...rated(program, 0.5), batchSize: 4, steps: program.steps * 2 }),
  },
  { id: 'weight-decay', change: (program) => ({ ...program, l2: 0.0005 }) },
  {
    id: 'imbalance-1-4',
    appliesTo: isClassification,
    change: (program) => ({
      ...program,
      prepare: mostlyFirstClass(['train', 'val'], 0.45),
    }),
  },
  {
    id: 'batch-norm',
    appliesTo: isDense,
    change: (program) => ({
      ...program,
      layers: program.layers.flatMap((layer, i, layers) =>
        isHidden(layer, i, layers)
          ? [layer, { kind: 'batchNormalization', name: `${layer.name}_norm` }]
          : [layer],
      ),
    }),
  },
  {
    id: 'slow',
    change: (program) => ({ ...rated(program, 0.25), steps: Math.round(program.steps * 1.5) }),
  },
].map((variant) => ({ appliesTo: () => true, ...variant }));
