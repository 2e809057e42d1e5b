/** What is said instead of a part of the page, or above it. */
import type { ComponentChildren, JSX } from 'preact';
import { hrefOf } from '../route/route.ts';
import { Button, CopyButton } from './controls.tsx';
import { Icon } from './icons.tsx';
import { t } from './t.ts';

/** The words of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Something went wrong, in words, with a way to try again. */
export function ErrorNotice(props: {
  readonly title: string;
  readonly error: unknown;
  /** It is the whole page, not a part of one. */
  readonly isPage?: boolean;
  readonly onRetry?: () => void;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <section class="notice" role="alert">
      <span class="disc tone-bad">
        <Icon name="warning" />
      </span>
      <div>
        {props.isPage === true ? <h1>{props.title}</h1> : <h2>{props.title}</h2>}
        <p>{errorText(props.error)}</p>
        <div class="row wrap gap-10">
          {props.onRetry !== undefined && <Button onClick={props.onRetry}>{t('Try again')}</Button>}
          {props.children}
        </div>
      </div>
    </section>
  );
}

/** A line above a part that is shown all the same. */
export function Warning(props: {
  readonly isError?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const tone = props.isError === true ? 'strip-error tone-bad' : 'tone-paused';
  return (
    <p class={`strip ${tone}`} role="status">
      <Icon name="warning" /> {props.children}
    </p>
  );
}

/** The way back to the list of runs. */
export function Crumb(): JSX.Element {
  return (
    <a class="crumb" href={hrefOf({ kind: 'runs' })}>
      <Icon name="back" /> {t('Runs')}
    </a>
  );
}

/** Room for a part that is on its way; `label` says what is waited for. */
export function Waiting({ label }: { readonly label: string }): JSX.Element {
  return <div class="waiting" role="group" aria-busy="true" aria-label={label} />;
}

/** The head of a section, with what belongs beside its title. */
export function SectionHead(props: {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="section-head">
      <h2>{props.title}</h2>
      {props.children}
    </header>
  );
}

/** Names over numbers, side by side. */
export function Tiles(props: {
  readonly tiles: readonly {
    readonly name: string;
    readonly text: string;
    readonly isBad?: boolean;
  }[];
}): JSX.Element {
  return (
    <dl class="tiles card">
      {props.tiles.map(({ name, text, isBad = false }) => (
        <div key={name} class="tile">
          <dt class="quiet small">{name}</dt>
          <dd class={isBad ? 'is-bad' : ''}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Code with its title and a button that copies it. */
export function Snippet(props: {
  readonly title: string;
  readonly code: string;
  /** The code with its colours; as it is unless given. */
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <figure class="snippet card">
      <figcaption class="row spread quiet code">
        <span>{props.title}</span>
        <CopyButton text={props.code} label={t('Copy the code')} />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={t('Code: {title}', { title: props.title })}>
        <code>{props.children ?? props.code}</code>
      </pre>
    </figure>
  );
}

/** Where nothing was recorded: a title, why there is nothing, and the lines that change it. */
export function HowTo(props: {
  readonly title: string;
  readonly text: string;
  readonly code: string;
}): JSX.Element {
  return (
    <section class="how-to">
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      <Snippet title="JavaScript" code={props.code} />
    </section>
  );
}

/** How far something is, 0 to 1; undefined: it is not known how far. */
export function ProgressBar(props: {
  readonly label: string;
  readonly share: number | undefined;
}): JSX.Element {
  const { share } = props;
  return (
    <div
      class="bar"
      role="progressbar"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
      data-is-unknown={share === undefined}
    >
      <span style={{ width: `${((share ?? 0.35) * 100).toFixed(1)}%` }} />
    </div>
  );
}
