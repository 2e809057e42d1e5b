/** A part of the page whose code is loaded when somebody goes there. */
import type { ComponentType, JSX } from 'preact';
import { usePromise } from './hooks.ts';
import { ErrorNotice, Waiting } from './notices.tsx';
import { t } from './t.ts';

/** The default export of the module that `load` brings, with its props. `load` is not to change. */
export function LazyView<P extends object>(props: {
  readonly load: () => Promise<{ readonly default: ComponentType<P> }>;
  readonly of: P;
}): JSX.Element {
  const { found, error, retry } = usePromise(props.load, (load) => load());
  if (error !== undefined)
    return (
      <ErrorNotice
        title={t('This part of the page cannot be loaded')}
        error={error}
        onRetry={retry}
      />
    );
  if (found === undefined) return <Waiting label={t('Loading')} />;
  const View = found.value.default;
  return <View {...props.of} />;
}
