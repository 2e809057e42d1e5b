/** The frame of one medium: its name, its run and its step. */
import type { ComponentChildren, JSX } from 'preact';
import { ItemCaption } from './item-caption.tsx';
import type { MediaRun } from './media-feed.ts';
import type { Positioned } from './media-steps.ts';

/** A card with the name of a medium; what is inside is left out where the run has none. */
export function MediaPanel(props: {
  readonly name: string;
  readonly run: MediaRun;
  readonly item: Positioned | undefined;
  /** The step that was asked for. */
  readonly step: number | undefined;
  readonly isOneOfMany: boolean;
  readonly more?: string | undefined;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { children, name, ...caption } = props;
  return (
    <section class="card text-panel" aria-label={name}>
      <header class="row gap-8">
        <h3 class="ellipsis" title={name}>
          {name}
        </h3>
        <ItemCaption {...caption} />
      </header>
      {props.item !== undefined && children}
    </section>
  );
}

/** A box to type words in. */
export function FindBox(props: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): JSX.Element {
  return (
    <input
      class="input media-filter"
      type="search"
      placeholder={props.placeholder}
      aria-label={props.label}
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
