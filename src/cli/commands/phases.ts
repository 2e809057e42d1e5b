/** `quark phases RUN|PATH`: the training regimes of a run. */
import { PhaseAnalyzer, type PhaseAnalysisResult } from '../../analysis.ts';
import { checkSaves, PATTERN_OPTION, SOURCE_NOTE, withRuns } from '../support/analysis-source.ts';
import { CONFIG_OPTIONS, judging } from '../support/config.ts';
import { EXIT, JSON_OPTION, jsonText, STORAGE_OPTIONS, type Command } from '../support/command.ts';
import { ROLE_OPTIONS } from '../support/role-options.ts';
import { onTerminal, table, type Style } from '../support/text.ts';

export const phasesCommand: Command = {
  spec: {
    name: 'phases',
    summary: 'Divide a run into phases: rapid learning, stagnation, divergence, ...',
    positionals: ['RUN|PATH...'],
    options: {
      ...STORAGE_OPTIONS,
      ...ROLE_OPTIONS,
      ...PATTERN_OPTION,
      ...CONFIG_OPTIONS,
      save: { kind: 'flag', help: 'Keep the result with the stored run.' },
      json: JSON_OPTION,
    },
    notes: [SOURCE_NOTE],
  },
  run: ({ io, args, style }) =>
    withRuns({ io, args }, args.positionals, async (runs) => {
      const results: PhaseAnalysisResult[] = [];
      const persist = checkSaves(args, runs, 'phases');
      const settingsFor = await judging({ args, io });
      for (const { name, reader } of runs) {
        const analyzer = settingsFor(await reader.metricKeys());
        const result = await new PhaseAnalyzer(reader, { analyzer }).analyze({ persist });
        results.push(result);
        if (args.flag('json')) continue;
        if (runs.length > 1) await io.stdout.write(`${style.bold(onTerminal(name))}\n`);
        if (result.phases.length === 0)
          await io.stderr.write('There is no loss and no accuracy to find phases by.\n');
        else await io.stdout.write(describe(result, io.stdout.columns, style));
      }
      if (args.flag('json')) {
        const [first] = results;
        await io.stdout.write(
          jsonText(results.length === 1 ? first?.toDict() : results.map((one) => one.toDict())),
        );
      }
      return EXIT.ok;
    }),
};

function describe(
  { phases }: PhaseAnalysisResult,
  width: number | undefined,
  style: Style,
): string {
  return table(
    [
      { title: 'PHASE', cell: ({ phaseName }) => phaseName },
      { title: 'FROM', cell: ({ stepStart }) => String(stepStart), align: 'right' },
      { title: 'TO', cell: ({ stepEnd }) => String(stepEnd), align: 'right' },
      { title: 'WHY', cell: ({ summary }) => onTerminal(summary), isElastic: true },
    ],
    phases,
    width,
    style,
  );
}
