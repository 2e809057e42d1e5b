/** Commands of which the output is compared: what machines read of it, and how they end. */

/** @param runIds the runs of the store in the folder */
export function commands([
  first = '',
  second = '',
]: readonly string[]): readonly (readonly string[])[] {
  return [
    ['runs', '--json'],
    ['runs', '--json', '--status', 'failed'],
    ['runs', '--json', '--project', 'nobody'],
    ['runs', '--json', '--tag', 'a b', '--limit', '1'],
    ['runs'],
    ['show', first, '--json'],
    ['show', 'latest', '--json'],
    ['show', first],
    ['show', 'run_nobody', '--json'],
    ['show', 'run_nobody'],
    ['metrics', first, '--csv'],
    ['metrics', first, '--csv', '--key', 'train/loss', '--step-min', '10', '--step-max', '20'],
    ['metrics', first, '--json', '--key', 'train/odd'],
    ['metrics', first, '--json', '--epoch-min', '2', '--limit', '3'],
    ['metrics', second, '--json'],
    ['metrics', first],
    ['metrics', first, '--json', '--limit', 'many'],
    ['metrics', '--json'],
    ['events', first, '--json'],
    ['events', second],
    ['analyze', first, '--json'],
    ['analyze', second, '--json'],
    ['analyze', second, '--fail-on', 'warning'],
    ['analyze', 'missing.quark', '--json'],
    ['phases', first, '--json'],
    ['phases', second, '--json'],
    ['compare', first, second, '--json'],
    ['compare', first, second, '--json', '--baseline', '--target', 'train/loss<=1.5'],
    ['compare', first, '--json'],
    ['report', first],
    ['report', first, '--html'],
    ['export', first, '--format', 'csv', '--table', 'metrics', '--out', 'out.csv', '--json'],
    ['export', first, '--format', 'csv', '--table', 'metrics', '--out', 'out.csv', '--json'],
    ['export', first, '--format', 'nonsense', '--json'],
    ['import', 'out.csv', '--storage-dir', 'imported', '--json'],
    ['import', 'nothing-there', '--storage-dir', 'imported', '--json'],
    ['runs', '--storage-dir', 'nowhere', '--json'],
    ['sync', '--json'],
    ['verify', first, '--json'],
    ['keys', 'list', '--storage-dir', '.', '--json'],
    ['share', '--storage-dir', '.', '--json'],
    ['nonsense'],
    ['nonsense', '--json'],
    [],
    ['--help'],
    ['runs', '--help'],
  ];
}

/** What a command came to. Sentences for people may change, so that only JSON and CSV are told in full. */
export type Ended = {
  readonly args: readonly string[];
  readonly code: number;
  readonly stdout?: string;
  readonly stderr?: string;
};

/** @param folder where the command ran: its path is taken out */
export function endOf(
  args: readonly string[],
  ran: { readonly code: number; readonly stdout: string; readonly stderr: string },
  folder: string,
): Ended {
  const { code } = ran;
  if (!args.includes('--json') && !args.includes('--csv')) return { args, code };
  const [stdout = '', stderr = ''] = [ran.stdout, ran.stderr].map((text) =>
    withoutSentences(text.replaceAll(folder, '<folder>')),
  );
  return { args, code, stdout, ...(stderr.startsWith('{') ? { stderr } : {}) };
}

/** Fields with text for people: at least two words. */
const SENTENCES =
  /"(message|title|summary|fact|inference|reason|rule)": ?"(?:[^"\\\s]|\\.)*\s(?:[^"\\]|\\.)*"/g;

/** JSON with the sentences taken out. */
export function withoutSentences(json: string): string {
  return json.replaceAll(SENTENCES, '"$1":"..."');
}

/**
 * JSON without what analyses say since schema version 2: the coverage, the groups, the roles, scores that may be null, and how a run
 * ended, which was no alert before.
 */
export function withoutVersion2(args: readonly string[], json: string | undefined) {
  if (json === undefined || !['analyze', 'compare'].includes(args[0] ?? '')) return json;
  if (!json.startsWith('{')) return json;
  const added = new Set(['coverage', 'groups', 'roles', 'schema_version']);
  const all: Dict = JSON.parse(json);
  const rest: Dict = Object.fromEntries(Object.entries(all).filter(([name]) => !added.has(name)));
  const scores = Array.isArray(rest['health_scores'])
    ? { health_scores: rest['health_scores'].map((one: Dict) => one['score_key']) }
    : {};
  return withoutRunEnd({ ...rest, ...scores });
}

type Dict = { readonly [name: string]: unknown };

function withoutRunEnd(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .filter((one: unknown) => (one as Dict | null)?.['rule_id'] !== 'run_end')
      .map(withoutRunEnd);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutRunEnd(one)]));
}
