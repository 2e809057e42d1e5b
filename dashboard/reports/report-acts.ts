/** What readers do with reports as a whole, each with the way back. */
import type { Store } from 'quark-sdk';
import { deleteReport, restoreReport, type DocumentHeader } from 'quark-sdk/workspace';
import type { PageChange } from '../changes/page-changes.ts';
import { t, tn } from '../parts/t.ts';

/** Deletes a report. The store has it for some days, so that it comes back also when this page is closed: `quark reports --undelete`. */
export function deletingReport(
  store: Store,
  project: string,
  { id, name }: Pick<DocumentHeader, 'id' | 'name'>,
): PageChange {
  return {
    id: `report ${project} ${id}`,
    name,
    words: {
      kind: 'delete report',
      one: (title) => t('deleted the report {title}', { title }),
      many: (count) => tn(count, 'deleted {count} report', 'deleted {count} reports'),
      failed: (title) => t('The report {title} was not deleted.', { title }),
      notUndone: (title) => t('The report {title} was not restored.', { title }),
    },
    make: async () =>
      (await deleteReport(store, project, id))
        ? () => restoreReport(store, project, id)
        : undefined,
  };
}
