/** The surroundings of a command, in memory. */
import { runCli } from '../../src/cli/cli.ts';
import {
  OutputClosed,
  screenOn,
  type CliIo,
  type CliOutput,
  type TerminalScreen,
} from '../../src/cli/support/io.ts';

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type FakeIoOptions = {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Width of the terminal; no terminal unless given. */
  readonly columns?: number;
  /** Its height; 40 unless given. */
  readonly rows?: number;
  /** What is answered at the terminal; no terminal to ask at unless given. */
  readonly answer?: string;
  /** Standard output is closed after so many writes. */
  readonly closesAfter?: number;
};

export class FakeIo implements CliIo {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly opened: string[] = [];
  readonly exits: number[] = [];
  readonly stdout: CliOutput;
  readonly stderr: CliOutput;
  out = '';
  err = '';
  #listeners = new Set<() => void>();
  readonly #keys = new Set<(sent: string) => void>();
  #waiting: { readonly pattern: RegExp; readonly resolve: (match: RegExpExecArray) => void }[] = [];

  readonly asked: string[] = [];
  readonly #answer: string | undefined;

  constructor({
    cwd,
    env = {},
    columns,
    rows = 40,
    answer,
    closesAfter = Number.POSITIVE_INFINITY,
  }: FakeIoOptions) {
    this.cwd = cwd;
    this.env = env;
    this.#answer = answer;
    let writes = 0;
    this.stdout = {
      isTty: columns !== undefined,
      columns,
      rows: columns === undefined ? undefined : rows,
      write: async (data) => {
        writes += 1;
        if (writes > closesAfter) throw new OutputClosed();
        this.out += String(data);
        this.#wake();
      },
    };
    this.stderr = {
      isTty: columns !== undefined,
      columns,
      rows: columns === undefined ? undefined : rows,
      write: async (data) => {
        this.err += String(data);
      },
    };
  }

  onInterrupt(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  openScreen(): Promise<TerminalScreen> {
    return screenOn(this.stdout);
  }

  onKeys(callback: (sent: string) => void): () => void {
    this.#keys.add(callback);
    return () => this.#keys.delete(callback);
  }

  /** Types at the terminal. */
  type(sent: string): void {
    for (const listener of this.#keys) listener(sent);
  }

  async ask(question: string): Promise<string | undefined> {
    this.asked.push(question);
    return this.#answer;
  }

  openBrowser(url: string): void {
    this.opened.push(url);
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  /** Whether a signal would be handled rather than end the process. */
  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  interrupt(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves when standard output matches. */
  sees(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve) => {
      this.#waiting.push({ pattern, resolve });
      this.#wake();
    });
  }

  #wake(): void {
    this.#waiting = this.#waiting.filter(({ pattern, resolve }) => {
      const match = pattern.exec(this.out);
      if (match !== null) resolve(match);
      return match === null;
    });
  }
}

/** Runs a command that ends by itself. */
export async function quark(args: readonly string[], options: FakeIoOptions): Promise<Ran> {
  const io = new FakeIo(options);
  const code = await runCli(args, io);
  return { code, stdout: io.out, stderr: io.err };
}
