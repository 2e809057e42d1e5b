/** Our own Arrow exports, of any table: every bit comes back. Names are keys already: no rule is asked. */
import { invalidInput } from '../../../base/errors.ts';
import { readArrowTable } from '../tables/arrow-table.ts';
import type { Importer } from '../sink/importer.ts';
import { eachFile, groupTables, importQuarkTable, isTableName } from '../tables/quark-tables.ts';

/** Tables that `exportTableArrow` and `exportMetricsArrow` wrote. */
export const quarkArrow: Importer = {
  format: 'quark_arrow',
  title: "Quark's Arrow export",
  detect({ bytes, text }) {
    // A stream begins with a continuation mark; the schema names the table.
    const isStream = [0, 1, 2, 3].every((i) => bytes[i] === 0xff);
    return isStream && text.includes('quark:table') ? 1 : 0;
  },
  group: (files) => groupTables(files, isTableName),
  read: (files, context) =>
    eachFile(files, context, async (file) => {
      const { maxDocumentBytes } = context.limits;
      if (file.sizeBytes > maxDocumentBytes)
        throw invalidInput(
          'file.sizeBytes',
          file.sizeBytes,
          `at most ${maxDocumentBytes} (limits.maxDocumentBytes)`,
        );
      const { facts, batches } = readArrowTable(await file.slice(0, file.sizeBytes));
      await importQuarkTable(file, context, facts, batches);
    }),
};
