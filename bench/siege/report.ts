/** What a part of a siege found: tables, and the criteria that it held to. */
export type Criterion = {
  readonly what: string;
  readonly isMet: boolean;
  /** What was found, in a few words. */
  readonly found: string;
};

export type Table = {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export type Report = {
  readonly tables: readonly Table[];
  readonly criteria: readonly Criterion[];
  /** For the line of a campaign. */
  readonly figures?: readonly string[];
};

/** Where a part is run, and how long it may take. */
export type Siege = {
  readonly dist: string;
  /** An empty folder. */
  readonly folder: string;
  /** The bundle of `siege-program.ts`. */
  readonly program: string;
  readonly seed: number;
  readonly isLong: boolean;
  /** Servers beside the service; each undefined where it is not installed. Absent: the part does without. */
  readonly servers?: {
    readonly postgres: () => Promise<ServerBeside | undefined>;
    /** A PgBouncer in front of a server. */
    readonly pooler: (server: ServerBeside) => Promise<ServerBeside | undefined>;
  };
  /** The build of an earlier commit, made where it is not there. */
  readonly oldBuild?: () => { readonly dist: string } | { readonly missing: string };
  /** The bundle of `kills/forgetter.ts`. */
  readonly forgetter?: string;
  /** The program of a client that takes its build from its arguments. */
  readonly upgradeClient?: string;
};

/** A PostgreSQL, or a PgBouncer in front of it. */
export type ServerBeside = {
  readonly uri: string;
  /** Kills it, and waits until it has started again. Absent for a server that is not ours. */
  readonly kill?: (signal: string) => Promise<void>;
  readonly stop: () => Promise<void>;
};

export function criterion(what: string, isMet: boolean, found: string): Criterion {
  return { what, isMet, found };
}

/** A table in Markdown, as the README has it. */
export function printed({ title, head, rows }: Table): string {
  const widths = head.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [`\n${title}\n`, line(head), rule, ...rows.map(line)].join('\n');
}

/** The value below which a share of all lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Statuses and how often. */
export function statusText(statuses: Readonly<Record<string, number>>): string {
  const text = Object.entries(statuses).map(([status, times]) => `${status}: ${times}`);
  return text.length === 0 ? 'none' : text.join(', ');
}

export function ms(value: number): string {
  return value >= 10 ? value.toFixed(0) : value.toFixed(1);
}

const START_MS = performance.now();

/** Says on standard error what is being done. */
export function progress(what: string): void {
  process.stderr.write(`[${((performance.now() - START_MS) / 1_000).toFixed(0)} s] ${what}\n`);
}
