/** The step whose media are shown: a slider over the steps that there are, with keys and a button that plays them. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useActions } from '../parts/actions.ts';
import { IconButton } from '../parts/controls.tsx';
import { formatCount } from '../parts/format.ts';
import { t } from '../parts/t.ts';

const PLAY_MS = 300;
/** For readers who asked for less motion. */
const CALM_PLAY_MS = 1500;

/** A slider over `steps`. An undefined step is the last one, and stays the last one while a run goes on. */
export function StepSlider(props: {
  readonly steps: readonly number[];
  readonly step: Signal<number | undefined>;
}): JSX.Element | null {
  const { step, steps } = props;
  const isPlaying = useSignal(false);
  const last = steps.length - 1;
  const wanted = step.value;
  const at = wanted === undefined ? last : nearestIndex(steps, wanted);
  const go = (to: number): void => {
    const index = Math.max(0, Math.min(last, to));
    step.value = index === last ? undefined : steps[index];
  };
  usePlaying(isPlaying, at >= last, () => go(at + 1));
  const toggle = (): void => {
    if (!isPlaying.peek() && at >= last) go(0);
    isPlaying.value = !isPlaying.peek();
  };
  useStepActions(steps.length, { before: () => go(at - 1), next: () => go(at + 1), toggle });
  if (steps.length < 2) return null;
  return (
    <div class="step-slider row gap-8" role="group" aria-label={t('Step of the media')}>
      <IconButton
        icon={isPlaying.value ? 'stop' : 'play'}
        label={isPlaying.value ? t('Stop playing') : t('Play the steps')}
        onClick={toggle}
      />
      <IconButton
        icon="back"
        label={t('Step before')}
        disabled={at <= 0}
        onClick={() => go(at - 1)}
      />
      <input
        type="range"
        min={0}
        max={last}
        step={1}
        value={at}
        aria-label={t('Step')}
        aria-valuetext={t('step {step}', { step: formatCount(steps[at] ?? 0) })}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <IconButton
        icon="forward"
        label={t('Next step')}
        disabled={at >= last}
        onClick={() => go(at + 1)}
      />
      <Readout steps={steps} at={at} />
    </div>
  );
}

/** The step in words. */
function Readout(props: { readonly steps: readonly number[]; readonly at: number }): JSX.Element {
  const { at, steps } = props;
  return (
    <output class="strong nowrap">
      {t('step {step}', { step: formatCount(steps[at] ?? 0) })}
      <span class="quiet small">
        {' '}
        {t('{at} of {count}', { at: formatCount(at + 1), count: formatCount(steps.length) })}
      </span>
    </output>
  );
}

function useStepActions(
  count: number,
  does: {
    readonly before: () => void;
    readonly next: () => void;
    readonly toggle: () => void;
  },
): void {
  useActions(() => {
    if (count < 2) return [];
    const section = t('Media');
    return [
      { id: 'media.before', title: t('Step before'), section, keys: ',', run: does.before },
      { id: 'media.next', title: t('Next step'), section, keys: '.', run: does.next },
      { id: 'media.play', title: t('Play the steps'), section, keys: 'shift+p', run: does.toggle },
    ];
  });
}

/** Index of the step that is nearest. */
function nearestIndex(steps: readonly number[], wanted: number): number {
  let best = 0;
  for (const [at, step] of steps.entries())
    if (Math.abs(step - wanted) < Math.abs((steps[best] ?? 0) - wanted)) best = at;
  return best;
}

function usePlaying(isPlaying: Signal<boolean>, isAtEnd: boolean, next: () => void): void {
  useEffect(() => {
    if (!isPlaying.value) return undefined;
    if (isAtEnd) {
      isPlaying.value = false;
      return undefined;
    }
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const timer = setTimeout(next, isCalm ? CALM_PLAY_MS : PLAY_MS);
    return () => clearTimeout(timer);
  });
}
