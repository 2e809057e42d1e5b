/** Our own portable file: everything of one run, or of several. */
import { isQuarkError, messageOf } from '../../../base/errors.ts';
import type { Importer } from '../sink/importer.ts';
import { restoreDocument } from '../quark/quark-document.ts';
import { fieldOf, QuarkParts } from '../quark/quark-parts.ts';
import { QuarkRestore } from '../quark/quark-restore.ts';

/** "QUARKF1\n". */
const MAGIC = [0x51, 0x55, 0x41, 0x52, 0x4b, 0x46, 0x31, 0x0a];

/** `.quark` files. */
export const quarkFile: Importer = {
  format: 'quark',
  title: "Quark's portable file (.quark)",
  detect({ bytes }) {
    return MAGIC.every((byte, i) => bytes[i] === byte) ? 1 : 0;
  },
  async read(files, context) {
    for (const file of files) {
      const problem = (place: string | null, reason: string): void =>
        context.problem({ file: file.path, place, reason });
      const parts = new QuarkParts(file, context);
      let current: QuarkRestore | undefined;
      const finish = async (): Promise<void> => {
        const done = current;
        current = undefined;
        if (done !== undefined) context.restored(await done.finish());
      };
      let runCount = 0;
      for await (const { entry, meta } of parts.all()) {
        try {
          if (entry.kind === 'run') {
            await finish();
            current = new QuarkRestore(meta, parts, { ...context.target, problem });
            await current.begin();
            runCount++;
          } else if (current === undefined)
            problem(`${entry.kind} at byte ${entry.offset}`, 'It belongs to no run.');
          else if (entry.kind === 'blob' && fieldOf(meta, 'document') !== undefined)
            await restoreDocument({ parts, entry, meta }, context.target, problem);
          else if (entry.kind === 'blob') await current.blob(entry, meta);
          else current.segment(entry, meta);
        } catch (error) {
          if (isQuarkError(error, 'aborted') || isQuarkError(error, 'store_failed')) throw error;
          if (entry.kind === 'run') current = undefined;
          problem(`${entry.kind} at byte ${entry.offset}`, `It is left out: ${messageOf(error)}`);
        }
      }
      await finish();
      if (runCount === 0) problem(null, 'There is no run in it.');
    }
  },
};
