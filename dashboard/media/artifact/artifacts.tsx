/** All artifacts of a run: found by name and type, looked at, and saved with size and hash checked. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { streamArtifact } from 'quark-sdk/probes';
import { saveBlob } from '../../charts/save/save-file.ts';
import { plainText } from '../../parts/address-text.ts';
import { useAddressed } from '../../parts/addressed.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { formatBytes, formatCount } from '../../parts/format.ts';
import { HowTo, Warning } from '../../parts/notices.tsx';
import { adding, setterOf } from '../../parts/signals.ts';
import { t, tn } from '../../parts/t.ts';
import { FeedGate, useFeed } from '../../parts/use-feed.tsx';
import { atText } from '../item-caption.tsx';
import type { MediaSource, StoredArtifact } from '../media-feed.ts';
import { FindBox } from '../media-panel.tsx';
import { ArtifactFeed, savedNameOf, type ArtifactGroup } from './artifact-list.ts';
import { ArtifactPreview } from './preview.tsx';
import '../style.css';

const PAGE = 100;
/** A browser cannot collect more for a file that it is to save. */
const MAX_SAVED_BYTES = 2 ** 31;

/** The artifacts of a run. */
export function ArtifactBrowser(props: {
  readonly source: MediaSource;
  readonly isLive: boolean;
}): JSX.Element {
  const feed = useMemo(() => new ArtifactFeed(props.source), [props.source]);
  const reading = useFeed(feed, props.isLive);
  void reading.revision.value;
  return (
    <FeedGate reading={reading} title={t('The artifacts cannot be read')}>
      {() =>
        feed.groups.length === 0 ? (
          <HowTo
            title={t('No artifacts')}
            text={t(
              'Files, models and everything else that is no number can be stored with the run.',
            )}
            code={`await new MediaLogger(session).logFile('labels', './labels.csv');`}
          />
        ) : (
          <Artifacts source={props.source} groups={feed.groups} damagedCount={feed.damagedCount} />
        )
      }
    </FeedGate>
  );
}

function Artifacts(props: {
  readonly source: MediaSource;
  readonly groups: readonly ArtifactGroup[];
  readonly damagedCount: number;
}): JSX.Element {
  const query = useSignal('');
  const type = useSignal('');
  const opened = useSignal('');
  const pages = useSignal(1);
  useAddressed('artifact-filter', query, plainText());
  useAddressed('artifact-type', type, plainText());
  useAddressed('artifact', opened, plainText(), 'push');
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = props.groups.filter(
    (group) =>
      (type.value === '' || group.type === type.value) &&
      words.every((word) => `${group.type} ${group.key}`.toLowerCase().includes(word)),
  );
  return (
    <section class="media" aria-label={t('Artifacts')}>
      {props.damagedCount > 0 && (
        <Warning>
          {tn(
            props.damagedCount,
            '{count} segment of artifacts is damaged and left out.',
            '{count} segments of artifacts are damaged and left out.',
          )}
        </Warning>
      )}
      <div class="media-bar row wrap gap-12">
        <FindBox
          label={t('Find artifacts by name')}
          placeholder={t('Find by name')}
          value={query.value}
          onChange={setterOf(query)}
        />
        <TypeChoice groups={props.groups} type={type} />
        <span class="quiet small">{tn(found.length, '{count} artifact', '{count} artifacts')}</span>
      </div>
      <ul class="artifact-list card ruled">
        {found.slice(0, PAGE * pages.value).map((group) => (
          <ArtifactRow
            key={`${group.type} ${group.key}`}
            source={props.source}
            group={group}
            opened={opened}
          />
        ))}
      </ul>
      {found.length > PAGE * pages.value && (
        <Button class="more" onClick={adding(pages, 1)}>
          {t('Show more of {count} artifacts', { count: formatCount(found.length) })}
        </Button>
      )}
    </section>
  );
}

function TypeChoice(props: {
  readonly groups: readonly ArtifactGroup[];
  readonly type: Signal<string>;
}): JSX.Element {
  const types = [...new Set(props.groups.map((group) => group.type))];
  return (
    <select
      class="input"
      aria-label={t('Type of artifacts')}
      value={props.type.value}
      onChange={(event) => {
        props.type.value = event.currentTarget.value;
      }}
    >
      <option value="">{t('All types')}</option>
      {types.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

function ArtifactRow(props: {
  readonly source: MediaSource;
  readonly group: ArtifactGroup;
  readonly opened: Signal<string>;
}): JSX.Element {
  const { group, opened, source } = props;
  const id = `${group.type} ${group.key}`;
  const isOpen = opened.value === id;
  const version = useSignal<string | undefined>(undefined);
  const record = group.versions.find((one) => one.id === version.value) ?? group.versions.at(-1);
  if (record === undefined) return <li />;
  return (
    <li>
      <button
        type="button"
        class="artifact-row row gap-10"
        aria-expanded={isOpen}
        onClick={() => {
          opened.value = isOpen ? '' : id;
        }}
      >
        <span class="badge">{group.type}</span>
        <bdi class="ellipsis artifact-name" title={group.key}>
          {group.key}
        </bdi>
        <span class="quiet small nowrap push">
          {group.versions.length > 1 &&
            `${tn(group.versions.length, '{count} version', '{count} versions')} · `}
          {formatBytes(record.sizeBytes)}
        </span>
      </button>
      {isOpen && (
        <div class="artifact-open">
          <div class="row wrap gap-12 small">
            <VersionChoice versions={group.versions} shown={record} onChoose={setterOf(version)} />
            <span class="quiet nowrap">{atText(record)}</span>
            <CopyButton text={record.sha256} label={t('Copy the SHA-256')}>
              <span class="code quiet">sha256 {record.sha256.slice(0, 12)}…</span>
            </CopyButton>
            <Download source={source} record={record} />
          </div>
          <ArtifactPreview key={record.id} source={source} record={record} />
        </div>
      )}
    </li>
  );
}

function VersionChoice(props: {
  readonly versions: readonly StoredArtifact[];
  readonly shown: StoredArtifact;
  readonly onChoose: (id: string) => void;
}): JSX.Element | null {
  if (props.versions.length < 2) return null;
  return (
    <label class="row gap-6">
      <span class="quiet">{t('Version')}</span>
      <select
        class="input"
        value={props.shown.id}
        onChange={(event) => props.onChoose(event.currentTarget.value)}
      >
        {props.versions.toReversed().map((one) => (
          <option key={one.id} value={one.id}>
            {atText(one)} · {new Date(one.timestamp).toLocaleString()}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Saves the payload as a file once its hash has been checked. */
function Download(props: {
  readonly source: MediaSource;
  readonly record: StoredArtifact;
}): JSX.Element {
  const { record, source } = props;
  const said = useSignal('');
  const isBusy = useSignal(false);
  const save = async (): Promise<void> => {
    if (record.sizeBytes > MAX_SAVED_BYTES)
      throw new Error(
        t('It has {size}: too large for a page. The command "quark artifacts" saves it.', {
          size: formatBytes(record.sizeBytes),
        }),
      );
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let read = 0;
    for await (const chunk of streamArtifact(source, record)) {
      chunks.push(chunk);
      read += chunk.byteLength;
      said.value = t('{read} of {size}', {
        read: formatBytes(read),
        size: formatBytes(record.sizeBytes),
      });
    }
    saveBlob(savedNameOf(record), new Blob(chunks, { type: 'application/octet-stream' }));
    said.value = t('Saved: {size}, and the hash is right.', {
      size: formatBytes(record.sizeBytes),
    });
  };
  return (
    <span class="row wrap gap-8 push">
      <span class="quiet" role="status">
        {said.value}
      </span>
      <Button
        isSmall
        disabled={isBusy.value}
        onClick={() => {
          isBusy.value = true;
          save()
            .catch((error: unknown) => {
              said.value = error instanceof Error ? error.message : String(error);
            })
            .finally(() => {
              isBusy.value = false;
            });
        }}
      >
        {t('Download')}
      </Button>
    </span>
  );
}
