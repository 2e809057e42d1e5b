/** Light, dark, or as the system has it; remembered in this browser. */
import { computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';

const THEME_CHOICES = ['system', 'light', 'dark'] as const;

/** What the person chose. */
export type ThemeChoice = (typeof THEME_CHOICES)[number];

const STORAGE_KEY = 'quark.theme';
const systemDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(systemDark.matches);

/** The choice of the person in front of the page. */
export const themeChoice: Signal<ThemeChoice> = signal(remembered());

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
    remember(themeChoice.value);
  });
}

/** The choice after this one, in the order of the button. */
export function nextTheme(choice: ThemeChoice): ThemeChoice {
  return THEME_CHOICES[(THEME_CHOICES.indexOf(choice) + 1) % THEME_CHOICES.length] ?? 'system';
}

function remembered(): ThemeChoice {
  try {
    const found = localStorage.getItem(STORAGE_KEY);
    return THEME_CHOICES.find((choice) => choice === found) ?? 'system';
  } catch {
    // A browser may refuse storage to a page; the system's choice will do.
    return 'system';
  }
}

function remember(choice: ThemeChoice): void {
  try {
    localStorage.setItem(STORAGE_KEY, choice);
  } catch {
    // Not remembered, still shown.
  }
}
