/** What differs between the code of two runs, for a person and as JSON. */
import type { CodeComparison, ValueChange } from '../../media.ts';
import { columns } from './args.ts';
import { onTerminal, type Style } from './text.ts';

/** A comparison as JSON. A run that has no value has null. */
export function codeJson({
  code,
  environment,
  files,
  isRecorded,
  packages,
  scripts,
}: CodeComparison): object {
  const values = (changes: readonly ValueChange[]): object[] =>
    changes.map(({ first, path, second }) => ({
      path,
      first: first ?? null,
      second: second ?? null,
    }));
  return {
    is_recorded: isRecorded,
    code: values(code),
    files: files.map(({ changedIn, path }) => ({ path, changed_in: changedIn })),
    packages: values(packages),
    scripts: values(scripts),
    environment: values(environment),
  };
}

/** A comparison as tables. */
export function codeText(comparison: CodeComparison, style: Style): string {
  const { code, environment, files, isRecorded, packages, scripts } = comparison;
  const changed = files.map(({ changedIn, path }): [string, string] => [
    onTerminal(path),
    changedIn === 'both' ? 'other changes in each run' : `changed in the ${changedIn} run only`,
  ]);
  const parts = [
    valueSection('Code', code, style),
    section('Files changed since the commit', changed, style),
    valueSection('Packages', packages, style),
    valueSection('Scripts', scripts, style),
    valueSection('Environment', environment, style),
  ].filter((part) => part !== '');
  const note = isRecorded
    ? ''
    : 'Only commits and environments are compared: not both runs have recorded their code with logCode().\n';
  return `${parts.length === 0 ? 'Nothing differs.\n' : parts.join('\n')}${note}`;
}

function valueSection(title: string, changes: readonly ValueChange[], style: Style): string {
  const shown = (value: ValueChange['first']): string =>
    value === undefined
      ? '-'
      : onTerminal(typeof value === 'string' ? value : JSON.stringify(value));
  return section(
    title,
    changes.map(({ first, path, second }) => [
      onTerminal(path),
      `${shown(first)} | ${shown(second)}`,
    ]),
    style,
  );
}

function section(title: string, rows: readonly [string, string][], style: Style): string {
  return rows.length === 0 ? '' : `${style.bold(title)}\n${columns(rows)}`;
}
