/** Small drawings, in the colour of the text around them. */
import type { JSX } from 'preact';

const PATHS = {
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  check: 'M3 8.5l3.2 3.2L13 5',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.8 10.8L14 14',
  expand: 'M9.5 2.5h4v4M13.5 2.5l-4.5 4.5M6.5 13.5h-4v-4M2.5 13.5L7 9',
  shrink: 'M13.5 6.5h-4v-4M9.5 6.5L14 2M2.5 9.5h4v4M6.5 9.5L2 14',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9L13 13M13 3l-1.1 1.1M4.1 11.9L3 13',
  moon: 'M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z',
  auto: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  close: 'M4 4l8 8M12 4l-8 8',
  forward: 'M6.5 3l5 5-5 5',
  back: 'M9.5 3L4.5 8l5 5',
  play: 'M5 3.2v9.6l7.5-4.8z',
  stop: 'M4 4h8v8H4z',
  warning: 'M8 2.2L14.4 13.4H1.6zM8 6.4v3.4M8 11.4v.4',
  open: 'M2.5 12.5v-9h4l1.5 2h5.5v7zM8 11V7.5M6.4 9L8 7.4 9.6 9',
  key: 'M7.2 8.8a3.4 3.4 0 1 0-4.8 0 3.4 3.4 0 0 0 4.8 0zM7.2 4l6-2.5M10.2 2.8l1.4 3.2M4.8 6.4v.01',
  leave: 'M6.5 13.5h-4v-11h4M6 8h7.5M10.5 5l3 3-3 3',
  cloud: 'M4.5 12.5a3 3 0 0 1-.3-6A4 4 0 0 1 12 6.8a2.9 2.9 0 0 1-.4 5.7z',
  upload: 'M8 13V4M4 7.5L8 3.5l4 4',
  more: 'M3.5 8v.01M8 8v.01M12.5 8v.01',
  archive: 'M2 2.5h12v3H2zM3 5.5v8h10v-8M6.5 8.5h3',
  save: 'M8 2.5v7.5M4.8 7L8 10.2 11.2 7M2.5 11v2.5h11V11',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.6 7v4M9.4 7v4',
  undo: 'M5.5 2.5L2.5 5.5l3 3M2.5 5.5h7a4 4 0 0 1 0 8h-4',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9.2 4.5l2.3 2.3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6',
  parent: 'M4 2.5v6.2a2.3 2.3 0 0 0 2.3 2.3H13M10 8l3 3-3 3',
  pencil: 'M10.5 2.5l3 3-8 8h-3v-3zM8.8 4.2l3 3',
  tag: 'M2.5 2.5h5.5l5.5 5.5-5.5 5.5-5.5-5.5zM5.4 5.4v.01',
  pin: 'M6 2.5h4l-.5 4 2.5 2.5H4l2.5-2.5zM8 9v5',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  filter: 'M2 3.5h12M4.5 8h7M6.8 12.5h2.4',
  note: 'M3 2.5h10v8l-3 3H3zM5.5 5.5h5M5.5 8h3M10 13.5v-3h3',
  rows: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  down: 'M3.5 6l4.5 4.5L12.5 6',
  up: 'M3.5 10L8 5.5l4.5 4.5',
} as const;

/** Names of the drawings. */
export type IconName = keyof typeof PATHS;

/** A drawing of 16 by 16; says nothing to a screen reader. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of Quark: three quarks, bound. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 28 28" aria-hidden="true">
      <path class="logo-bond" d="M9 10.5L19 8.5M9 10.5L15.5 19.5M19 8.5L15.5 19.5" />
      <circle class="logo-up" cx="9" cy="10.5" r="4.6" />
      <circle class="logo-down" cx="19" cy="8.5" r="3.7" />
      <circle class="logo-charm" cx="15.5" cy="19.5" r="4.1" />
    </svg>
  );
}
