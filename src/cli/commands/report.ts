/** `quark report RUN|PATH`: what a run means, as Markdown or as one HTML file. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { report } from '../../analysis.ts';
import { PATTERN_OPTION, SOURCE_NOTE, withRuns } from '../support/analysis-source.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import { UsageError } from '../support/args.ts';
import { EXIT, STORAGE_OPTIONS, unwritable, type Command } from '../support/command.ts';
import { ROLE_OPTIONS } from '../support/role-options.ts';
import { onTerminal } from '../support/text.ts';

export const reportCommand: Command = {
  spec: {
    name: 'report',
    summary: 'Write a report of a run: Markdown, or one HTML file with plots.',
    positionals: ['RUN|PATH'],
    options: {
      ...STORAGE_OPTIONS,
      ...ROLE_OPTIONS,
      ...PATTERN_OPTION,
      ...CONFIG_OPTIONS,
      html: { kind: 'flag', help: 'Write HTML rather than Markdown.' },
      out: {
        kind: 'text',
        value: 'FILE',
        help: 'Write to a file; one that ends in .html gets HTML. Default: standard output.',
      },
      title: { kind: 'text', value: 'TEXT', help: 'Heading. Default: project and id of the run.' },
    },
    notes: [SOURCE_NOTE],
  },
  run: ({ io, args }) =>
    withRuns({ io, args }, args.positionals, async (runs) => {
      const [run] = runs;
      if (run === undefined || runs.length > 1) {
        const names = runs.map(({ name }) => onTerminal(name)).join(', ');
        throw new UsageError(
          `A report is of one run; there are ${runs.length}: ${names}`,
          'report',
        );
      }
      const out = args.text('out');
      const title = args.text('title') ?? (run.isStored ? undefined : run.name);
      const settingsFor = await judging({ args, io });
      const made = await report(run.reader, {
        ...(title === undefined ? {} : { title }),
        analyzer: settingsFor(await run.reader.metricKeys()),
      });
      const isHtml = args.flag('html') || /\.html?$/iu.test(out ?? '');
      const text = isHtml ? made.html : made.markdown;
      if (out === undefined) await io.stdout.write(text);
      else {
        try {
          await writeFile(resolve(io.cwd, out), text);
        } catch (cause) {
          throw unwritable(out, cause);
        }
        await io.stderr.write(`Wrote ${onTerminal(out)}.\n`);
      }
      return EXIT.ok;
    }),
};
