/** A model as a layered graph: scopes that fold, a search, and what is known of the chosen layer. Only what is on screen is drawn. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Button, IconButton } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { setterOf, setting } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { FindBox } from '../media-panel.tsx';
import { foldGraph, graphScopes, scopesOf, type ShownGraph, type ShownNode } from './fold-graph.ts';
import { scaledZoom, useZoomGestures, ZOOM_STEP } from './graph-zoom.ts';
import { layeredLayout, type LayeredLayout, type PlacedNode } from './layered-layout.ts';
import type { ModelGraph } from './model-graph.ts';

const SIZES = { nodeWidth: 168, nodeHeight: 46, gapX: 18, gapY: 30 };
const MARGIN = 12;
/** From so many nodes on, all scopes are folded at first. */
const MANY_NODES = 60;
/** More nodes have no drawing. */
const MAX_DRAWN = 5000;
const MAX_MATCHES = 12;
const VIEW_PX = 480;

/** The graph with its tools. */
export function GraphView(props: {
  readonly name: string;
  readonly graph: ModelGraph;
}): JSX.Element {
  const { graph, name } = props;
  const scopes = useMemo(() => graphScopes(graph), [graph]);
  const open = useSignal<ReadonlySet<string>>(graph.nodes.length > MANY_NODES ? new Set() : scopes);
  const chosen = useSignal<string | undefined>(undefined);
  const zoom = useSignal(1);
  const shown = useMemo(() => foldGraph(graph, open.value), [graph, open.value]);
  const isDrawn = shown.nodes.length <= MAX_DRAWN;
  const layout = useMemo(
    () => layeredLayout(isDrawn ? shown.nodes.map(({ id }) => id) : [], shown.edges, SIZES),
    [shown],
  );
  const stage = useRef<HTMLDivElement>(null);
  const go = (id: string): void => {
    const node = graph.nodes.find((one) => one.id === id);
    if (node === undefined) return;
    open.value = new Set([...open.peek(), ...scopesOf(node.name)]);
    chosen.value = id;
  };
  return (
    <div class="model">
      <ModelTools graph={graph} scopes={scopes} open={open} zoom={zoom} onGo={go} />
      {isDrawn ? (
        <div class="model-main">
          <Stage
            name={name}
            stage={stage}
            shown={shown}
            layout={layout}
            chosen={chosen}
            open={open}
            zoom={zoom}
          />
          <Details graph={graph} shown={shown} id={chosen.value} />
        </div>
      ) : (
        <p class="nothing">
          {t('{count} nodes are too many to be drawn at once. Fold the scopes to see them.', {
            count: formatCount(shown.nodes.length),
          })}
        </p>
      )}
    </div>
  );
}

function ModelTools(props: {
  readonly graph: ModelGraph;
  readonly scopes: ReadonlySet<string>;
  readonly open: Signal<ReadonlySet<string>>;
  readonly zoom: Signal<number>;
  readonly onGo: (id: string) => void;
}): JSX.Element {
  const { graph, open, scopes, zoom } = props;
  const scaled =
    (factor: number): (() => void) =>
    () => {
      zoom.value = scaledZoom(zoom.peek(), factor);
    };
  return (
    <div class="row wrap gap-10 small">
      <ModelSearch graph={graph} onGo={props.onGo} />
      {scopes.size > 0 && (
        <>
          <Button isSmall onClick={setting(open, scopes)}>
            {t('Unfold all')}
          </Button>
          <Button isSmall onClick={setting(open, new Set<string>())}>
            {t('Fold all')}
          </Button>
        </>
      )}
      <IconButton icon="expand" label={t('Zoom in')} onClick={scaled(ZOOM_STEP)} />
      <IconButton icon="shrink" label={t('Zoom out')} onClick={scaled(1 / ZOOM_STEP)} />
      <span class="quiet">{summaryText(graph)}</span>
    </div>
  );
}

function summaryText({ nodes }: ModelGraph): string {
  const parameters = nodes.reduce((sum, { parameterCount }) => sum + parameterCount, 0);
  return `${tn(nodes.length, '{count} layer', '{count} layers')} · ${tn(parameters, '{count} parameter', '{count} parameters', { count: formatCount(parameters) })}`;
}

function ModelSearch(props: {
  readonly graph: ModelGraph;
  readonly onGo: (id: string) => void;
}): JSX.Element {
  const query = useSignal('');
  const wanted = query.value.trim().toLowerCase();
  const matches =
    wanted === ''
      ? []
      : props.graph.nodes
          .filter(({ name, type }) => `${name} ${type}`.toLowerCase().includes(wanted))
          .slice(0, MAX_MATCHES);
  return (
    <form
      class="model-search"
      onSubmit={(event) => {
        event.preventDefault();
        const [first] = matches;
        if (first !== undefined) props.onGo(first.id);
      }}
    >
      <FindBox
        label={t('Find a layer by name or type')}
        placeholder={t('Find a layer')}
        value={query.value}
        onChange={setterOf(query)}
      />
      {wanted !== '' && (
        <ul class="row wrap gap-6" aria-label={t('Layers that were found')}>
          {matches.map(({ id, name }) => (
            <li key={id}>
              <button type="button" class="tag" onClick={() => props.onGo(id)}>
                {name}
              </button>
            </li>
          ))}
          {matches.length === 0 && <li class="quiet">{t('no layer has these words')}</li>}
        </ul>
      )}
    </form>
  );
}

type StageProps = {
  readonly name: string;
  readonly stage: RefObject<HTMLDivElement | null>;
  readonly shown: ShownGraph;
  readonly layout: LayeredLayout;
  readonly chosen: Signal<string | undefined>;
  readonly open: Signal<ReadonlySet<string>>;
  readonly zoom: Signal<number>;
};

/** The part of a drawing that is on screen, in its units. */
type Frame = {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
};

function Stage(props: StageProps): JSX.Element {
  const { chosen, layout, shown, stage } = props;
  const zoom = props.zoom.value;
  const byKey = useZoomGestures(stage, props.zoom);
  const frame = useFrame(stage, zoom);
  useEffect(() => {
    const at = chosen.value === undefined ? undefined : layout.nodes.get(chosen.value);
    const { current } = stage;
    if (at === undefined || current === null) return;
    const [x, y] = [(at.x + MARGIN) * zoom, (at.y + MARGIN) * zoom];
    const isSeen =
      x > current.scrollLeft &&
      x < current.scrollLeft + current.clientWidth &&
      y > current.scrollTop &&
      y < current.scrollTop + current.clientHeight;
    if (!isSeen) current.scrollTo(x - current.clientWidth / 2, y - current.clientHeight / 2);
  }, [chosen.value, layout]);
  const width = layout.width + 2 * MARGIN;
  const height = layout.height + 2 * MARGIN;
  const isSeen = ({ x, y }: PlacedNode): boolean =>
    x > frame.left && x < frame.right && y > frame.top && y < frame.bottom;
  return (
    <div
      ref={stage}
      class="model-stage"
      tabIndex={0}
      role="region"
      aria-label={t('Graph of {name}. Plus and minus zoom, 0 shows it in its size.', {
        name: props.name,
      })}
      onKeyDown={byKey}
      style={{ maxHeight: `${VIEW_PX}px` }}
    >
      <svg
        width={width * zoom}
        height={height * zoom}
        viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}
      >
        <Edges shown={shown} layout={layout} frame={frame} chosen={chosen.value} />
        {shown.nodes.map((node) => {
          const at = layout.nodes.get(node.id);
          if (at === undefined || !isSeen(at)) return null;
          return <NodeBox key={node.id} node={node} at={at} chosen={chosen} open={props.open} />;
        })}
      </svg>
    </div>
  );
}

/** What is on screen, with a border around it. */
function useFrame(stage: RefObject<HTMLDivElement | null>, zoom: number): Frame {
  const frame = useSignal<Frame>({ left: -400, top: -400, right: 2400, bottom: 1200 });
  useEffect(() => {
    const { current } = stage;
    if (current === null) return undefined;
    const measure = (): void => {
      const { clientHeight, clientWidth, scrollLeft, scrollTop } = current;
      frame.value = {
        left: scrollLeft / zoom - 300,
        top: scrollTop / zoom - 200,
        right: (scrollLeft + clientWidth) / zoom + 300,
        bottom: (scrollTop + clientHeight) / zoom + 200,
      };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener('scroll', measure);
    };
  }, [zoom]);
  return frame.value;
}

function Edges(props: {
  readonly shown: ShownGraph;
  readonly layout: LayeredLayout;
  readonly frame: Frame;
  readonly chosen: string | undefined;
}): JSX.Element {
  const { chosen, frame, layout } = props;
  return (
    <g class="model-edges" aria-hidden="true">
      {props.shown.edges.map(({ from, to }) => {
        const [a, b] = [layout.nodes.get(from), layout.nodes.get(to)];
        if (a === undefined || b === undefined) return null;
        const isOutside =
          Math.max(a.x, b.x) < frame.left ||
          Math.min(a.x, b.x) > frame.right ||
          Math.max(a.y, b.y) < frame.top ||
          Math.min(a.y, b.y) > frame.bottom;
        if (isOutside) return null;
        const [fromY, half] = [a.y + SIZES.nodeHeight, SIZES.gapY * 0.8];
        return (
          <path
            key={`${from} ${to}`}
            data-chosen={from === chosen || to === chosen}
            d={`M${a.x} ${fromY}C${a.x} ${fromY + half} ${b.x} ${b.y - half} ${b.x} ${b.y}`}
          />
        );
      })}
    </g>
  );
}

function NodeBox(props: {
  readonly node: ShownNode;
  readonly at: PlacedNode;
  readonly chosen: Signal<string | undefined>;
  readonly open: Signal<ReadonlySet<string>>;
}): JSX.Element {
  const { at, chosen, node, open } = props;
  const pick = (): void => {
    if (node.scope === undefined) chosen.value = node.id;
    else open.value = new Set([...open.peek(), node.scope]);
  };
  const first =
    node.scope === undefined ? node.type : tn(node.memberCount, '{count} layer', '{count} layers');
  return (
    <g
      class="model-node"
      role="button"
      tabIndex={0}
      aria-pressed={chosen.value === node.id}
      data-scope={node.scope !== undefined}
      transform={`translate(${at.x - SIZES.nodeWidth / 2} ${at.y})`}
      onClick={pick}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        pick();
      }}
    >
      <title>
        {node.scope === undefined
          ? `${node.name} ${node.type} ${node.shape}`.trim()
          : t('Unfold {scope} {layers}', { scope: node.scope, layers: first })}
      </title>
      <rect width={SIZES.nodeWidth} height={SIZES.nodeHeight} rx={7} />
      <text x={10} y={19} class="model-name">
        {shortened(node.name, 23)}
      </text>
      <text x={10} y={36} class="model-type">
        {shortened([first, node.shape].filter(Boolean).join(' '), 26)}
      </text>
    </g>
  );
}

/** The end of a long name says more than its beginning. */
function shortened(text: string, most: number): string {
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

function Details(props: {
  readonly graph: ModelGraph;
  readonly shown: ShownGraph;
  readonly id: string | undefined;
}): JSX.Element {
  const node = props.graph.nodes.find(({ id }) => id === props.id);
  if (node === undefined)
    return <p class="quiet small">{t('Choose a layer for its shape and its parameters.')}</p>;
  const rows: readonly (readonly [string, string])[] = [
    [t('type'), node.type],
    [t('output shape'), node.shape === '' ? '–' : node.shape],
    [t('parameters'), formatCount(node.parameterCount)],
    ...node.details,
  ];
  return (
    <section class="model-details small" aria-label={t('Layer {name}', { name: node.name })}>
      <h4 class="breakable">{node.name}</h4>
      <dl>
        {rows.map(([term, value], at) => (
          <div key={`${at} ${term}`}>
            <dt class="quiet breakable">{term}</dt>
            <dd class="breakable">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
