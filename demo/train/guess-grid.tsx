/** Validation images with what the network takes them for: what the curves mean, to the eye. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { shownTheme } from '../../dashboard/theme/theme.ts';
import { DIGIT_SIDE } from './digits.ts';
import { guesses, type Guess } from './training-state.ts';
import { t } from '../../dashboard/parts/t.ts';

const INKS = { light: [28, 27, 24], dark: [238, 236, 230] } as const;

/** A grid of images; wrong guesses stand out. */
export function GuessGrid(): JSX.Element | null {
  const all = guesses.value;
  if (all.length === 0) return null;
  const known = all.filter(({ guess }) => guess !== undefined);
  const right = known.filter(({ guess, label }) => guess === label).length;
  return (
    <section class="guesses" aria-label={t('Validation images')}>
      <header class="row spread baseline medium">
        <h2>{t('Predictions')}</h2>
        <span class="quiet">
          {known.length === 0
            ? t('not trained yet')
            : t('{right} of {all} right', { right, all: known.length })}
        </span>
      </header>
      <ul>
        {all.map((guess, index) => (
          <GuessTile key={index} {...guess} />
        ))}
      </ul>
    </section>
  );
}

function GuessTile({ pixels, label, guess }: Guess): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = shownTheme.value;
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (context === null || context === undefined) return;
    const image = context.createImageData(DIGIT_SIDE, DIGIT_SIDE);
    const [red, green, blue] = INKS[theme];
    for (const [at, grey] of pixels.entries()) {
      image.data.set([red, green, blue, Math.round(grey * 255)], at * 4);
    }
    context.putImageData(image, 0, 0);
  }, [pixels, theme]);
  const isWrong = guess !== undefined && guess !== label;
  return (
    <li class={isWrong ? 'is-wrong' : ''} title={describe(label, guess)}>
      <canvas
        ref={canvas}
        width={DIGIT_SIDE}
        height={DIGIT_SIDE}
        role="img"
        aria-label={describe(label, guess)}
      />
      <span aria-hidden="true">{guess ?? '·'}</span>
    </li>
  );
}

function describe(label: number, guess: number | undefined): string {
  if (guess === undefined) return t('A {label}', { label });
  return guess === label
    ? t('A {label}, recognised', { label })
    : t('A {label}, taken for a {guess}', { label, guess });
}
