/** The media of one run or of several: a kind at a time, found by name, at a step. */
import { useComputed, useSignal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Store } from 'quark-sdk';
import { FINITE_NUMBER, plainText, type AddressText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Button, Chip } from '../../parts/controls.tsx';
import { formatCount } from '../../parts/format.ts';
import { LazyView } from '../../parts/lazy-view.tsx';
import { HowTo, Warning } from '../../parts/notices.tsx';
import { adding, setterOf } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import type { KindProps } from '../kind-view.ts';
import {
  MediaFeed,
  type GalleryItem,
  type GalleryKind,
  type MediaRun,
  type MediaTarget,
} from '../media-feed.ts';
import { positionsOf } from '../media-steps.ts';
import { FindBox } from '../media-panel.tsx';
import { StepSlider } from '../step-slider.tsx';
import '../style.css';

type View = () => Promise<{ readonly default: ComponentType<KindProps> }>;

/** What is shown together. */
type Section = {
  readonly id: string;
  readonly title: () => string;
  readonly kinds: readonly GalleryKind[];
  readonly load: View;
  /** Names that are shown at first, and with each "Show more". */
  readonly pageSize: number;
};

const SECTIONS: readonly Section[] = [
  {
    id: 'images',
    title: () => t('Images'),
    kinds: ['image'],
    load: () => import('../image/view.tsx'),
    pageSize: 24,
  },
  {
    id: 'tables',
    title: () => t('Tables'),
    kinds: ['table'],
    load: () => import('../table/view.tsx'),
    pageSize: 4,
  },
  {
    id: 'texts',
    title: () => t('Texts'),
    kinds: ['text'],
    load: () => import('../text/view.tsx'),
    pageSize: 12,
  },
  {
    id: 'audio',
    title: () => t('Audio'),
    kinds: ['audio'],
    load: () => import('../audio/view.tsx'),
    pageSize: 12,
  },
  {
    id: 'confusion',
    title: () => t('Confusion matrices'),
    kinds: ['confusion_matrix'],
    load: () => import('../evaluation/confusion-view.tsx'),
    pageSize: 4,
  },
  {
    id: 'curves',
    title: () => t('PR and ROC curves'),
    kinds: ['pr_curve', 'roc_curve'],
    load: () => import('../evaluation/curves-view.tsx'),
    pageSize: 24,
  },
  {
    id: 'distributions',
    title: () => t('Distributions'),
    kinds: ['distribution', 'histogram'],
    load: () => import('../distribution/view.tsx'),
    pageSize: 8,
  },
  {
    id: 'embeddings',
    title: () => t('Embeddings'),
    kinds: ['embedding'],
    load: () => import('../embedding/view.tsx'),
    pageSize: 1,
  },
  {
    id: 'models',
    title: () => t('Models'),
    kinds: ['model'],
    load: () => import('../model/view.tsx'),
    pageSize: 1,
  },
];

/** A section by its id in the address; undefined: the first one there is something of. */
const SECTION: AddressText<string | undefined> = { write: (id) => id, read: (text) => text };

/** The media of these runs of a store, beside each other. */
export function MediaGallery(props: {
  readonly store: Store;
  readonly targets: readonly MediaTarget[];
  readonly isLive: boolean;
}): JSX.Element {
  const { isLive, store, targets } = props;
  const identity = targets
    .map(({ color, name, runId }) => [runId, name, color].join(' '))
    .join('\n');
  const feed = useMemo(() => new MediaFeed(store, targets), [store, identity]);
  const reading = useFeed(feed, isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title={t('The media cannot be read')}>
      {() => {
        const { runs } = feed;
        if (runs.every(({ items }) => items.length === 0)) return <NoMedia isLive={isLive} />;
        return <Sections runs={runs} />;
      }}
    </FeedGate>
  );
}

function NoMedia({ isLive }: { readonly isLive: boolean }): JSX.Element {
  return (
    <HowTo
      title={isLive ? t('No media yet') : t('No media were recorded')}
      text={t(
        'Images, tables, texts, sound, curves, distributions, embeddings and models are logged by a line each.',
      )}
      code={`const media = new MediaLogger(session); // of quark-sdk/media
await media.logImage('samples/first', { data, width, height }, { step });
await media.logDistribution('weights/dense', weights, { step });`}
    />
  );
}

function Sections({ runs }: { readonly runs: readonly MediaRun[] }): JSX.Element {
  const chosen = useSignal<string | undefined>(undefined);
  const query = useSignal('');
  const step = useSignal<number | undefined>(undefined);
  const shownCount = useSignal(1);
  useAddressed('media', chosen, SECTION, 'push');
  useAddressed('media-filter', query, plainText());
  useAddressed('media-step', step, FINITE_NUMBER);
  const there = SECTIONS.filter((section) => runs.some((run) => run.items.some(isOf(section))));
  const section = there.find(({ id }) => id === chosen.value) ?? there[0];
  const items = section === undefined ? [] : runs.flatMap((run) => run.items.filter(isOf(section)));
  const words = useComputed(() => query.value.toLowerCase().split(/\s+/).filter(Boolean));
  const keys = [...new Set(items.map(({ key }) => key))]
    .filter((key) => words.value.every((word) => key.toLowerCase().includes(word)))
    .toSorted();
  const shown = keys.slice(0, (section?.pageSize ?? 1) * shownCount.value);
  if (section === undefined) return <p class="nothing">{t('Nothing of it can be shown.')}</p>;
  const ofShown = new Set(shown);
  const steps = positionsOf(items.filter(({ key }) => ofShown.has(key)));
  return (
    <section class="media" aria-label={t('Media')}>
      <h2 class="sr-only">{section.title()}</h2>
      <Problems runs={runs} />
      <KindChoice
        sections={there}
        shown={section}
        runs={runs}
        onChoose={(id) => {
          chosen.value = id;
          shownCount.value = 1;
        }}
      />
      <div class="media-bar row wrap gap-12">
        <FindBox
          label={t('Find media by name')}
          placeholder={t('Find by name')}
          value={query.value}
          onChange={setterOf(query)}
        />
        <StepSlider steps={steps} step={step} />
      </div>
      {shown.length === 0 ? (
        <p class="nothing">{t('No name has these words.')}</p>
      ) : (
        <LazyView key={section.id} load={section.load} of={{ runs, keys: shown, step }} />
      )}
      {keys.length > shown.length && (
        <Button class="more" onClick={adding(shownCount, 1)}>
          {t('Show more of {count} names', { count: formatCount(keys.length) })}
        </Button>
      )}
    </section>
  );
}

function Problems({ runs }: { readonly runs: readonly MediaRun[] }): JSX.Element | null {
  const problems = runs.flatMap((run) => run.problems);
  const [first] = problems;
  if (first === undefined) return null;
  return (
    <Warning>
      {tn(
        problems.length,
        '{count} medium cannot be read: {first}',
        '{count} media cannot be read; the first: {first}',
        { first },
      )}
    </Warning>
  );
}

function KindChoice(props: {
  readonly sections: readonly Section[];
  readonly shown: Section;
  readonly runs: readonly MediaRun[];
  readonly onChoose: (id: string) => void;
}): JSX.Element {
  const countOf = (section: Section): number =>
    new Set(props.runs.flatMap(({ items }) => items.filter(isOf(section)).map(({ key }) => key)))
      .size;
  return (
    <div class="media-kinds row wrap gap-6" role="group" aria-label={t('Kind of media')}>
      {props.sections.map((section) => (
        <Chip
          key={section.id}
          isOn={section === props.shown}
          count={formatCount(countOf(section))}
          onClick={() => props.onChoose(section.id)}
        >
          {section.title()}
        </Chip>
      ))}
    </div>
  );
}

function isOf(section: Section): (item: GalleryItem) => boolean {
  return ({ kind }) => section.kinds.includes(kind);
}
