/** Where nothing was recorded: how it would be. */
import type { JSX } from 'preact';
import { CopyButton } from './parts.tsx';

/** A title, why there is nothing, and the lines that change it. */
export function HowTo(props: {
  readonly title: string;
  readonly text: string;
  readonly code: string;
}): JSX.Element {
  return (
    <section class="how-to">
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      <figure class="snippet">
        <figcaption>
          <span>JavaScript</span>
          <CopyButton text={props.code} label="Copy the code" />
        </figcaption>
        <pre>
          <code>{props.code}</code>
        </pre>
      </figure>
    </section>
  );
}
