/** How a run is shown beside its figures: its name, its colour, and how it ended. */
import type { JSX } from 'preact';
import type { RunSummary } from 'quark-sdk';
import { CurveSwatch, Swatch } from '../charts/curve-style.tsx';
import { Icon } from '../parts/icons.tsx';
import { StatusChip, shownStatus } from '../parts/run-status.tsx';
import { t } from '../parts/t.ts';
import { hrefOf } from '../route/route.ts';
import { seriesColor } from '../theme/palette.ts';
import { chooseStyle, styleOfRun } from './run-styles.ts';

/** The stroke of a run or a group. */
export function RunSwatch({ styleKey }: { readonly styleKey: string }): JSX.Element {
  const { color, dash } = styleOfRun(styleKey);
  return <Swatch color={seriesColor(color)} dash={dash} />;
}

/** The stroke as a button that opens the choice of colours and dashes. */
export function StyleButton(props: {
  readonly styleKey: string;
  readonly name: string;
}): JSX.Element {
  const { name, styleKey } = props;
  return (
    <CurveSwatch
      name={name}
      style={styleOfRun(styleKey)}
      onChange={(style) => chooseStyle(styleKey, style)}
    />
  );
}

/** A link to the page of a run. */
export function RunLink(props: { readonly runId: string; readonly name: string }): JSX.Element {
  const { name, runId } = props;
  return (
    <a
      class="icon-button legend-link"
      href={hrefOf({ kind: 'run', runId })}
      aria-label={t('Show {name}', { name })}
      title={t('Show {name}', { name })}
    >
      <Icon name="forward" />
    </a>
  );
}

/** How a run ended, where it did not complete: figures of such a run are what it had reached. Nothing for a completed run. */
export function RunEnd({ summary }: { readonly summary: RunSummary }): JSX.Element | null {
  const status = shownStatus(summary);
  if (status === 'completed') return null;
  const end = summary.run.statusReason;
  return (
    <span class="run-end inline gap-6">
      <StatusChip status={status} />
      {end !== null && <span class="run-end-why small breakable">{end}</span>}
    </span>
  );
}
