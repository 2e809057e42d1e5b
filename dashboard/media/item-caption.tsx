/** What stands under a medium: the run it is of, and the step, where that is not the one asked for. */
import type { JSX } from 'preact';
import { formatCount } from '../parts/format.ts';
import { t } from '../parts/t.ts';
import type { MediaRun } from './media-feed.ts';
import { positionOf, type Positioned } from './media-steps.ts';

/** The step or the epoch of an item, in words. */
export function atText({ epoch, step }: Positioned): string {
  if (step !== null) return t('step {step}', { step: formatCount(step) });
  if (epoch !== null) return t('epoch {epoch}', { epoch: formatCount(epoch) });
  return t('no step');
}

/** The caption of an item. */
export function ItemCaption(props: {
  readonly run: MediaRun;
  readonly item: Positioned | undefined;
  /** The step that was asked for. */
  readonly step: number | undefined;
  /** Whether there are other runs beside it. */
  readonly isOneOfMany: boolean;
  /** More to say. */
  readonly more?: string | undefined;
}): JSX.Element {
  const { item, run, step } = props;
  const isOther = item !== undefined && step !== undefined && positionOf(item) !== step;
  return (
    <span class="media-caption row wrap gap-6 small quiet">
      {props.isOneOfMany && (
        <span class="row gap-6 media-run" title={run.name}>
          <span class="media-dot" style={{ background: run.color ?? 'var(--accent)' }} />
          <bdi class="ellipsis">{run.name}</bdi>
        </span>
      )}
      {item === undefined ? (
        <span>{t('not recorded')}</span>
      ) : (
        <span class={isOther ? 'media-other-step nowrap' : 'nowrap'}>
          {atText(item)}
          {isOther && ` ${t('(nearest)')}`}
        </span>
      )}
      {props.more !== undefined && <span class="nowrap">{props.more}</span>}
    </span>
  );
}

/** Why a content is not shown. */
export function ContentProblem({ error }: { readonly error: unknown }): JSX.Element {
  return (
    <p class="media-problem small tone-bad" role="status">
      {error instanceof Error ? error.message : String(error)}
    </p>
  );
}
