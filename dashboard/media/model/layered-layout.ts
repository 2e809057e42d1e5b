/**
 * A layered drawing of a directed graph (Sugiyama, Tagawa and Toda, 1981): nodes in layers by their longest path, in an order with few
 * crossings, near to the nodes that they are joined to. Edges that close a circle are drawn and do not count for layers. Pure.
 */
import { getOrMake } from '../../parts/maps.ts';

/** Where a node lies: the middle of its top edge. */
export type PlacedNode = {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly layer: number;
};

/** A drawing. */
export type LayeredLayout = {
  readonly nodes: ReadonlyMap<string, PlacedNode>;
  readonly width: number;
  readonly height: number;
};

/** Sizes in the units of the drawing. */
export type LayoutSizes = {
  readonly nodeWidth: number;
  readonly nodeHeight: number;
  readonly gapX: number;
  readonly gapY: number;
};

type Links = ReadonlyMap<string, readonly string[]>;

const SWEEPS = 6;

/** The drawing of a graph. */
export function layeredLayout(
  ids: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[],
  sizes: LayoutSizes,
): LayeredLayout {
  const known = new Set(ids);
  const real = edges.filter(({ from, to }) => from !== to && known.has(from) && known.has(to));
  const into = links(real.map(({ from, to }) => [to, from]));
  const outOf = links(real.map(({ from, to }) => [from, to]));
  const layers = orderedLayers(layersOf(ids, into, outOf), into, outOf);
  const pitch = sizes.nodeWidth + sizes.gapX;
  const xs = placed(layers, into, outOf, pitch);
  const least = Math.min(0, ...xs.values());
  const nodes = new Map<string, PlacedNode>();
  let right = 0;
  for (const [layer, members] of layers.entries())
    for (const id of members) {
      const x = (xs.get(id) ?? 0) - least + sizes.nodeWidth / 2;
      right = Math.max(right, x + sizes.nodeWidth / 2);
      nodes.set(id, { id, x, y: layer * (sizes.nodeHeight + sizes.gapY), layer });
    }
  const height = Math.max(0, layers.length * (sizes.nodeHeight + sizes.gapY) - sizes.gapY);
  return { nodes, width: right, height };
}

function links(pairs: readonly (readonly [string, string])[]): Links {
  const found = new Map<string, string[]>();
  for (const [key, value] of pairs) getOrMake(found, key, () => []).push(value);
  return found;
}

/** Layers by longest paths; of nodes on a circle the first one in the list is taken as if nothing led to it. */
function layersOf(ids: readonly string[], into: Links, outOf: Links): string[][] {
  const waiting = new Map(ids.map((id) => [id, into.get(id)?.length ?? 0]));
  const depths = new Map<string, number>();
  const done = new Set<string>();
  const ready = ids.filter((id) => waiting.get(id) === 0);
  let next = 0;
  for (let at = 0; at < ids.length; at += 1) {
    if (at >= ready.length) {
      while (done.has(ids[next] ?? '')) next += 1;
      ready.push(ids[next] ?? '');
    }
    const id = ready[at] ?? '';
    const depth = depths.get(id) ?? 0;
    done.add(id);
    depths.set(id, depth);
    for (const to of outOf.get(id) ?? []) {
      if (done.has(to)) continue;
      depths.set(to, Math.max(depths.get(to) ?? 0, depth + 1));
      const left = (waiting.get(to) ?? 1) - 1;
      waiting.set(to, left);
      if (left === 0) ready.push(to);
    }
  }
  const layers: string[][] = [];
  for (const id of ids) {
    const depth = depths.get(id) ?? 0;
    while (layers.length <= depth) layers.push([]);
    layers[depth]?.push(id);
  }
  return layers;
}

/** Nodes of each layer by the mean position of those that they are joined to, downwards and upwards in turn. */
function orderedLayers(
  layers: readonly string[][],
  into: Links,
  outOf: Links,
): readonly string[][] {
  const position = new Map<string, number>();
  const number = (layer: readonly string[]): void => {
    for (const [at, id] of layer.entries()) position.set(id, at - layer.length / 2);
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = new Map(
        layer.map((id) => {
          const others = (isDown ? into : outOf).get(id);
          return [id, meanOf(others, position) ?? position.get(id) ?? 0];
        }),
      );
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      number(layer);
    }
  }
  return layers;
}

function meanOf(
  ids: readonly string[] | undefined,
  position: ReadonlyMap<string, number>,
): number | undefined {
  if (ids === undefined || ids.length === 0) return undefined;
  return ids.reduce((sum, id) => sum + (position.get(id) ?? 0), 0) / ids.length;
}

/** Left edges: each node as near to those that it is joined to as its neighbours in the layer leave room for. */
function placed(
  layers: readonly (readonly string[])[],
  into: Links,
  outOf: Links,
  pitch: number,
): Map<string, number> {
  const xs = new Map<string, number>();
  for (const layer of layers)
    for (const [at, id] of layer.entries()) xs.set(id, (at - (layer.length - 1) / 2) * pitch);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = layer.map(
        (id) => meanOf((isDown ? into : outOf).get(id), xs) ?? xs.get(id) ?? 0,
      );
      for (const [at, x] of spaced(wanted, pitch).entries()) xs.set(layer[at] ?? '', x);
    }
  }
  return xs;
}

/**
 * The positions nearest to those that are wanted, at least `pitch` apart: neighbours that would overlap are moved together, as blocks
 * (isotonic regression by pooling adjacent violators).
 */
function spaced(wanted: readonly number[], pitch: number): readonly number[] {
  const blocks: { sum: number; count: number }[] = [];
  for (const [at, x] of wanted.entries()) {
    let block = { sum: x - at * pitch, count: 1 };
    for (;;) {
      const before = blocks.at(-1);
      if (before === undefined || before.sum / before.count <= block.sum / block.count) break;
      blocks.pop();
      block = { sum: before.sum + block.sum, count: before.count + block.count };
    }
    blocks.push(block);
  }
  const result: number[] = [];
  for (const { count, sum } of blocks)
    for (let i = 0; i < count; i += 1) result.push(sum / count + result.length * pitch);
  return result;
}
