/** The part of Node's `node:child_process` that rooms use which browsers load as well: they reach it by `process.getBuiltinModule`. */
export type ChildProgram = {
  /** Undefined when the program could not be started. */
  readonly pid: number | undefined;
  readonly stdout: {
    setEncoding(encoding: 'utf8'): void;
    on(event: 'data', listener: (text: string) => void): void;
    unref?(): void;
  };
  on(event: 'error' | 'exit' | 'close', listener: () => void): void;
  unref(): void;
  kill(): boolean;
};

/** `node:child_process`, as far as it is used. */
export type ChildPrograms = {
  spawn(command: string, args: readonly string[], options: object): ChildProgram;
};

/** The process of the caller ends when it is done, whether or not this program was closed. One that was not started has nothing to wait for. */
export function releaseChild(child: ChildProgram): void {
  if (child.pid === undefined) return;
  child.unref();
  child.stdout.unref?.();
}
