/** Graphs folded by the scopes of names: `features/conv1` is in the scope `features`. Pure. */
import { countBy } from '../../parts/maps.ts';
import type { ModelEdge, ModelGraph, ModelNode } from './model-graph.ts';

/** A node that is shown: one of the graph, or a scope that stands for several. */
export type ShownNode = ModelNode & {
  /** How many nodes of the graph it stands for; 1 for a node itself. */
  readonly memberCount: number;
  /** The scope that it is, where it is one. */
  readonly scope: string | undefined;
};

/** A graph as it is shown. */
export type ShownGraph = {
  readonly nodes: readonly ShownNode[];
  readonly edges: readonly ModelEdge[];
};

/** Scopes of a name, from the widest: `a/b/c` is in `a` and `a/b`. */
export function scopesOf(name: string): readonly string[] {
  const parts = name.split('/');
  return parts
    .slice(0, -1)
    .map((_part, at) => parts.slice(0, at + 1).join('/'))
    .filter((scope) => scope !== '');
}

/** All scopes with two nodes or more. */
export function graphScopes({ nodes }: ModelGraph): ReadonlySet<string> {
  const counts = countBy(
    nodes.flatMap(({ name }) => scopesOf(name)),
    (scope) => scope,
  );
  return new Set([...counts].filter(([, count]) => count > 1).map(([scope]) => scope));
}

/** The graph with each scope that is not open as one node. Edges within such a node are left out; others are there once. */
export function foldGraph(graph: ModelGraph, open: ReadonlySet<string>): ShownGraph {
  const scopes = graphScopes(graph);
  const shownAs = new Map<string, string>();
  const folded = new Map<string, ModelNode[]>();
  const nodes = new Map<string, ShownNode>();
  for (const node of graph.nodes) {
    const scope = scopesOf(node.name).find((one) => scopes.has(one) && !open.has(one));
    const id = scope === undefined ? node.id : `scope ${scope}`;
    shownAs.set(node.id, id);
    if (scope === undefined) nodes.set(id, { ...node, memberCount: 1, scope: undefined });
    else {
      const members = folded.get(scope) ?? [];
      members.push(node);
      folded.set(scope, members);
      nodes.set(id, scopeNode(id, scope, members));
    }
  }
  const edges = new Map<string, ModelEdge>();
  for (const edge of graph.edges) {
    const [from, to] = [shownAs.get(edge.from), shownAs.get(edge.to)];
    if (from === undefined || to === undefined || from === to) continue;
    edges.set(`${from} -> ${to}`, { from, to });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

function scopeNode(id: string, scope: string, members: readonly ModelNode[]): ShownNode {
  return {
    id,
    name: scope,
    type: '',
    shape: members.at(-1)?.shape ?? '',
    parameterCount: members.reduce((sum, { parameterCount }) => sum + parameterCount, 0),
    details: [],
    memberCount: members.length,
    scope,
  };
}
