/** How the page writes what a report shows. */
import type { ReportScope } from 'quark-sdk/workspace';
import { formatValue } from '../parts/format.ts';
import { t } from '../parts/t.ts';

/** In the language of the page. */
export function pageText(): Pick<ReportScope, 'formatValue' | 'runTitle'> {
  return { formatValue, runTitle: t('Run') };
}
