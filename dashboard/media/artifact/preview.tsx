/** What is inside an artifact, shown as what its bytes are. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { usePromise } from '../../parts/hooks.ts';
import { LazyView } from '../../parts/lazy-view.tsx';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import { t } from '../../parts/t.ts';
import { checkImage, payloadOf, useBlobUrl } from '../content.ts';
import { ContentProblem } from '../item-caption.tsx';
import type { MediaSource, StoredArtifact } from '../media-feed.ts';
import type { LoadedModel } from '../model/view.tsx';
import { DataTable } from '../table/data-table.tsx';
import { PlainText } from '../text/view.tsx';
import { savedNameOf } from './artifact-list.ts';
import { previewOf, type FilePreview } from './file-preview.ts';
import { JsonTree } from './json-tree.tsx';

/** Bytes that are shown as hexadecimal digits. */
const HEX_BYTES = 512;

const loadModelView = async (): Promise<{ readonly default: typeof LoadedModel }> => ({
  default: (await import('../model/view.tsx')).LoadedModel,
});

/** The preview of an artifact. */
export function ArtifactPreview(props: {
  readonly source: MediaSource;
  readonly record: StoredArtifact;
}): JSX.Element {
  const { record, source } = props;
  const isModel = record.artifactType === 'model';
  const { found, error } = usePromise(isModel ? undefined : record, async (wanted) =>
    previewOf(await payloadOf(source, wanted), savedNameOf(wanted)),
  );
  if (isModel) return <LazyView load={loadModelView} of={{ run: { source }, record }} />;
  if (error !== undefined) return <ContentProblem error={error} />;
  if (found === undefined) return <span class="skeleton" style={{ width: '40%' }} />;
  return <Shown preview={found.value} name={record.artifactKey} />;
}

function Shown(props: { readonly preview: FilePreview; readonly name: string }): JSX.Element {
  const { name, preview } = props;
  switch (preview.kind) {
    case 'image':
      return <ImagePreview bytes={preview.bytes} name={name} />;
    case 'json':
      return <JsonTree value={preview.value} />;
    case 'table':
      return <DataTable label={name} table={preview.table} />;
    case 'markdown':
      return <Markdown text={preview.text} topLevel={4} />;
    case 'text':
      return <PlainText text={preview.text} label={name} />;
    case 'bytes':
      return <Bytes bytes={preview.bytes} />;
  }
}

function ImagePreview(props: {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly name: string;
}): JSX.Element {
  const checked = useMemo(() => {
    try {
      return { image: checkImage(props.bytes) };
    } catch (problem) {
      return { problem };
    }
  }, [props.bytes]);
  const isFine = checked.image !== undefined;
  const url = useBlobUrl(isFine ? props.bytes : undefined, checked.image?.mimeType ?? '');
  if (!isFine) return <ContentProblem error={checked.problem} />;
  return <img class="artifact-image" src={url} alt={props.name} />;
}

function Bytes({ bytes }: { readonly bytes: Uint8Array }): JSX.Element {
  const digits = Array.from(bytes.subarray(0, HEX_BYTES), (byte) =>
    byte.toString(16).padStart(2, '0'),
  );
  const lines = Array.from({ length: Math.ceil(digits.length / 16) }, (_, at) =>
    digits.slice(16 * at, 16 * at + 16).join(' '),
  );
  return (
    <>
      <p class="quiet small">
        {t('Its bytes are none of the kinds that are shown. It begins with:')}
      </p>
      <pre class="code artifact-bytes">{lines.join('\n')}</pre>
    </>
  );
}
