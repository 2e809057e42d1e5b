/** A part of the page whose code is loaded when somebody goes there. */
import { useSignal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ErrorNotice } from './parts.tsx';

/** The default export of the module that `load` brings, with its props. `load` is not to change. */
export function LazyView<P extends object>(props: {
  readonly load: () => Promise<{ readonly default: ComponentType<P> }>;
  readonly of: P;
}): JSX.Element {
  const loaded = useSignal<{ readonly component: ComponentType<P> } | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    let isCurrent = true;
    error.value = undefined;
    props.load().then(
      (module) => {
        if (isCurrent) loaded.value = { component: module.default };
      },
      (failure: unknown) => {
        if (isCurrent) error.value = failure;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [props.load, attempt.value]);
  if (error.value !== undefined)
    return (
      <ErrorNotice
        title="This part of the page cannot be loaded"
        error={error.value}
        onRetry={() => {
          attempt.value += 1;
        }}
      />
    );
  if (loaded.value === undefined)
    return <div class="heat-waiting" aria-busy="true" aria-label="Loading" />;
  const View = loaded.value.component;
  return <View {...props.of} />;
}
