import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnnxGraph } from 'quark-sdk/onnx';
import { foldGraph, graphScopes, scopesOf } from '../../../../dashboard/media/model/fold-graph.ts';
import { layeredLayout } from '../../../../dashboard/media/model/layered-layout.ts';
import { onnxModelGraph, tfjsModelGraph } from '../../../../dashboard/media/model/model-graph.ts';
import { trainingStepModel } from '../../../support/onnx-model.ts';
import { runs } from '../../../support/property.ts';

const SIZES = { nodeWidth: 100, nodeHeight: 40, gapX: 10, gapY: 20 };

const graphs = fc.integer({ min: 1, max: 40 }).chain((count) =>
  fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 80 }).map((pairs) => ({
    ids: Array.from({ length: count }, (_, i) => `n${i}`),
    edges: pairs.map(([from, to]) => ({ from: `n${from}`, to: `n${to}` })),
  })),
);

describe('a layered layout', () => {
  it('has every node once, none over another, and all of them inside', () => {
    fc.assert(
      fc.property(graphs, ({ edges, ids }) => {
        const { height, nodes, width } = layeredLayout(ids, edges, SIZES);
        expect([...nodes.keys()].toSorted()).toEqual(ids.toSorted());
        const all = [...nodes.values()];
        for (const [i, one] of all.entries()) {
          expect(one.x - SIZES.nodeWidth / 2).toBeGreaterThanOrEqual(-1e-6);
          expect(one.x + SIZES.nodeWidth / 2).toBeLessThanOrEqual(width + 1e-6);
          expect(one.y + SIZES.nodeHeight).toBeLessThanOrEqual(height);
          for (const other of all.slice(i + 1))
            expect(
              one.layer !== other.layer ||
                Math.abs(one.x - other.x) >= SIZES.nodeWidth + SIZES.gapX - 1e-6,
            ).toBe(true);
        }
      }),
      runs(200),
    );
  });

  it('leads downwards along every edge of a graph without circles', () => {
    fc.assert(
      fc.property(graphs, ({ edges, ids }) => {
        const at = (id: string): number => Number(id.slice(1));
        const forward = edges.filter(({ from, to }) => at(from) < at(to));
        const { nodes } = layeredLayout(ids, forward, SIZES);
        for (const { from, to } of forward)
          expect(nodes.get(from)?.layer).toBeLessThan(nodes.get(to)?.layer ?? -1);
      }),
      runs(200),
    );
  });

  it('puts a chain in one column, and takes five thousand nodes', () => {
    const ids = Array.from({ length: 5000 }, (_, i) => `n${i}`);
    const chain = ids.slice(1).map((to, at) => ({ from: ids[at] ?? '', to }));
    const skips = ids.slice(10).map((to, at) => ({ from: ids[at] ?? '', to }));
    const { nodes } = layeredLayout(ids, [...chain, ...skips], SIZES);
    expect(nodes.size).toBe(5000);
    expect(new Set([...nodes.values()].map(({ x }) => Math.round(x))).size).toBe(1);
  });
});

const node = (
  name: string,
): {
  id: string;
  name: string;
  type: string;
  shape: string;
  parameterCount: number;
  details: [];
} => ({
  id: name,
  name,
  type: 'T',
  shape: '',
  parameterCount: 2,
  details: [],
});

describe('a folded graph', () => {
  const graph = {
    nodes: ['in', 'a/b/x', 'a/b/y', 'a/z', 'c/only'].map(node),
    edges: [
      { from: 'in', to: 'a/b/x' },
      { from: 'a/b/x', to: 'a/b/y' },
      { from: 'in', to: 'a/z' },
      { from: 'a/b/y', to: 'c/only' },
      { from: 'a/z', to: 'c/only' },
    ],
  };

  it('has scopes of two nodes or more', () => {
    expect(scopesOf('a/b/x')).toEqual(['a', 'a/b']);
    expect(scopesOf('/model/x')).toEqual(['/model']);
    expect([...graphScopes(graph)].toSorted()).toEqual(['a', 'a/b']);
  });

  it('shows a scope as one node with the sum of its parameters, and each edge once', () => {
    const folded = foldGraph(graph, new Set());
    expect(
      folded.nodes.map(({ id, memberCount, parameterCount }) => [id, memberCount, parameterCount]),
    ).toEqual([
      ['in', 1, 2],
      ['scope a', 3, 6],
      ['c/only', 1, 2],
    ]);
    expect(folded.edges).toEqual([
      { from: 'in', to: 'scope a' },
      { from: 'scope a', to: 'c/only' },
    ]);
    expect(foldGraph(graph, new Set(['a'])).nodes.map(({ id }) => id)).toEqual([
      'in',
      'scope a/b',
      'a/z',
      'c/only',
    ]);
    expect(foldGraph(graph, new Set(['a', 'a/b'])).edges).toEqual(graph.edges);
  });
});

describe('the graph of a model', () => {
  it('of ONNX has operations, what flows between them, and their weights', () => {
    const graph = onnxModelGraph(readOnnxGraph(trainingStepModel(8, 16, 4)));
    const types = graph.nodes.map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual(['Input', 'Input', 'Input']);
    expect(types).toContain('LogSoftmax');
    const named = new Map(graph.nodes.map(({ id, name }) => [id, name]));
    const edges = graph.edges.map(({ from, to }) => `${named.get(from)} > ${named.get(to)}`);
    expect(edges).toContain('x > before');
    expect(edges).toContain('before > h');
    expect(edges).toContain('h > logits');
    expect(() => readOnnxGraph(Uint8Array.of(1, 2, 3))).toThrow('model');
  });

  it('of Keras has layers in a row, or as their inputs say, in all forms of these', () => {
    const layer = (name: string, inbound: unknown): object => ({
      class_name: 'Dense',
      name,
      config: { name, units: 4, batch_input_shape: [null, 3] },
      inbound_nodes: inbound,
    });
    const functional = {
      model_config: {
        config: {
          layers: [
            layer('in', []),
            layer('a', [[['in', 0, 0, {}]]]),
            layer('b', [{ args: [{ config: { keras_history: ['in', 0, 0] } }] }]),
            layer('sum', [
              [
                ['a', 0, 0],
                ['b', 0, 0],
              ],
            ]),
          ],
        },
      },
    };
    const weights = [
      { name: 'a/kernel', shape: [3, 4] },
      { name: 'a/bias', shape: [4] },
      { name: 'a/bias/m', shape: [4], group: 'optimizer' },
      { name: 'elsewhere/kernel', shape: [9] },
    ];
    const graph = tfjsModelGraph(functional, weights);
    expect(graph.edges).toEqual([
      { from: 'in', to: 'a' },
      { from: 'in', to: 'b' },
      { from: 'a', to: 'sum' },
      { from: 'b', to: 'sum' },
    ]);
    expect(graph.nodes.find(({ id }) => id === 'a')).toMatchObject({
      type: 'Dense',
      parameterCount: 16,
      shape: '[?, 3]',
    });
    const sequence = tfjsModelGraph(
      { config: [layer('one', undefined), layer('two', undefined)] },
      [],
    );
    expect(sequence.edges).toEqual([{ from: 'one', to: 'two' }]);
  });

  it('of a GraphDef goes by the inputs of nodes', () => {
    const graph = tfjsModelGraph(
      {
        node: [
          { name: 'x', op: 'Placeholder' },
          { name: 'y', op: 'Relu', input: ['x:0', '^gone'] },
        ],
      },
      [],
    );
    expect(graph.edges).toEqual([{ from: 'x', to: 'y' }]);
  });

  it('of anything else is empty, and never throws', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 5 }), (topology) => {
        const graph = tfjsModelGraph(topology, []);
        expect(Array.isArray(graph.nodes)).toBe(true);
      }),
      runs(200),
    );
    expect(
      tfjsModelGraph({ config: { layers: [null, 3, { config: null }] } }, []).nodes,
    ).toHaveLength(3);
  });
});
