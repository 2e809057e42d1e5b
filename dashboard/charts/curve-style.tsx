/** How a curve is drawn, shown beside its name, and the choice of another style. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { CURVE_STYLES, dashOf, styleName, type CurveStyle } from '../theme/curve-styles.ts';
import { seriesColor } from '../theme/palette.ts';
import { t } from '../parts/t.ts';
import './curve-style.css';

const GAP_PX = 4;

/** A short stroke of a line. */
export function Swatch({
  color,
  dash,
}: {
  readonly color: string;
  readonly dash: number;
}): JSX.Element {
  return (
    <svg class="swatch" viewBox="0 0 18 4" aria-hidden="true">
      <path d="M0 2H18" stroke={color} stroke-dasharray={dashOf(dash).join(' ')} />
    </svg>
  );
}

/** The stroke as a button: it opens the choice of colours and dashes. */
export function CurveSwatch(props: {
  /** Whose curve it is. */
  readonly name: string;
  readonly style: CurveStyle;
  readonly onChange: (style: CurveStyle) => void;
}): JSX.Element {
  const id = useId();
  const isOpen = useSignal(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = menu;
    if (!isOpen.value || current === null || button.current === null) return;
    const { left, bottom } = button.current.getBoundingClientRect();
    current.style.left = `${Math.max(GAP_PX, Math.min(left, innerWidth - current.offsetWidth - GAP_PX))}px`;
    current.style.top = `${Math.max(GAP_PX, Math.min(bottom + GAP_PX, innerHeight - current.offsetHeight - GAP_PX))}px`;
    current.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus({ preventScroll: true });
  }, [isOpen.value]);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="swatch-button"
        popovertarget={id}
        aria-expanded={isOpen.value}
        aria-label={t('Colour of {name}: {style}', {
          name: props.name,
          style: styleName(props.style),
        })}
        title={t('Choose colour and dashes')}
      >
        <Swatch color={seriesColor(props.style.color)} dash={props.style.dash} />
      </button>
      <div
        ref={menu}
        id={id}
        class="style-menu floating"
        popover="auto"
        role="group"
        aria-label={t('Colours and dashes for {name}', { name: props.name })}
        onToggle={(event) => {
          isOpen.value = event.newState === 'open';
        }}
      >
        {isOpen.value && (
          <Choices
            style={props.style}
            onChange={(style) => {
              props.onChange(style);
              menu.current?.hidePopover();
            }}
          />
        )}
      </div>
    </>
  );
}

function Choices(props: {
  readonly style: CurveStyle;
  readonly onChange: (style: CurveStyle) => void;
}): JSX.Element {
  return (
    <>
      {CURVE_STYLES.map((style) => (
        <button
          key={styleName(style)}
          type="button"
          aria-label={styleName(style)}
          title={styleName(style)}
          aria-pressed={style.color === props.style.color && style.dash === props.style.dash}
          onClick={() => props.onChange(style)}
        >
          <Swatch color={seriesColor(style.color)} dash={style.dash} />
        </button>
      ))}
    </>
  );
}
