/** Light, dark, or as the system has it; remembered in this browser. */
import { computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import { storedText } from '../parts/browser-storage.ts';
import { frameSettings } from '../route/frame-settings.ts';

const THEME_CHOICES = ['system', 'light', 'dark'] as const;

/** What the person chose. */
export type ThemeChoice = (typeof THEME_CHOICES)[number];

const stored = storedText('quark.theme');
const systemDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(systemDark.matches);

/** The choice of the person in front of the page. */
export const themeChoice: Signal<ThemeChoice> = signal(
  frameSettings === undefined ? remembered() : (frameSettings.theme ?? 'system'),
);

/** What is shown. Charts redraw when this changes: a canvas does not follow style sheets. */
export const shownTheme: ReadonlySignal<'light' | 'dark'> = computed(() => {
  if (themeChoice.value !== 'system') return themeChoice.value;
  return systemIsDark.value ? 'dark' : 'light';
});

/** Keeps the document in step with the choice. */
export function followTheme(): void {
  systemDark.addEventListener('change', (event) => {
    systemIsDark.value = event.matches;
  });
  effect(() => {
    document.documentElement.dataset['theme'] = shownTheme.value;
    if (frameSettings === undefined) stored.set(themeChoice.value);
  });
}

/** The choice after this one, in the order of the button. */
export function nextTheme(choice: ThemeChoice): ThemeChoice {
  return THEME_CHOICES[(THEME_CHOICES.indexOf(choice) + 1) % THEME_CHOICES.length] ?? 'system';
}

function remembered(): ThemeChoice {
  const found = stored.get();
  return THEME_CHOICES.find((choice) => choice === found) ?? 'system';
}
