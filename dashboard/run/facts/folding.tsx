/** Sections of the facts that fold, and stay as they were left. */
import { signal, type Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { storedText } from '../../parts/browser-storage.ts';
import { toggled } from '../../parts/signals.ts';

/** A part of the column that folds; which parts are folded is remembered in this browser. */
export function Folding(props: {
  readonly title: string;
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { title } = props;
  return (
    <section class="fact-section">
      <details
        open={!folded.value.has(title)}
        onToggle={(event) => {
          if (event.currentTarget.open === folded.value.has(title))
            folded.value = toggled(folded.value, title);
          storedFolds.set([...folded.value].join());
        }}
      >
        <summary class="fact-head">
          <h2>{title}</h2>
        </summary>
        {props.children}
      </details>
      {props.action}
    </section>
  );
}

const storedFolds = storedText('quark.facts');
const folded: Signal<ReadonlySet<string>> = signal(
  new Set(storedFolds.get()?.split(',').filter(Boolean)),
);
