/** Lines by which a program, a shell or a scheduler says that a process did not come to its end. */

/** How a process was stopped. */
export type Stop = {
  /** What stopped it: a class of errors, a signal, a limit. */
  readonly name: string;
  /** The line, without what loggers and shells write in front. */
  readonly message: string;
  readonly status: 'failed' | 'interrupted';
  /** Whether the process itself was ended: a line such as "finished" that follows is of the shell around it. */
  readonly isFinal: boolean;
  /** Whether it is an error without a traceback: a program that says more has caught it. */
  readonly isLone: boolean;
};

type Kind = {
  /** Group `message` is what is said; without it the whole line is. Group `name` names it; else it is `name`. */
  readonly pattern: RegExp;
  readonly name?: string;
  readonly status?: Stop['status'];
  /** Whether the program may catch it and go on. */
  readonly isCaught?: boolean;
  readonly isLone?: boolean;
};

/** `./run.sh: line 3: 4242 ` as a shell writes it of a command; `srun: error: node01: task 0: ` as Slurm does. */
const BY_SHELL = String.raw`(?:\S.{0,200}: line \d{1,9}:\s{1,8}\d{1,9}\s|srun: error: .{1,200}: tasks? [\d,-]{1,80}: |\[\d{1,6}\][+-]?\s{1,4}(?:\d{1,9} )?)?`;
/** What a shell writes behind a signal: whether the memory was written, and the command. */
const COMMAND = String.raw`(?:\s{1,8}\(core dumped\))?(?:\s{2,}\S.{0,400})?\s*$`;

const bySignal = (name: string): RegExp =>
  new RegExp(String.raw`^\s{0,4}${BY_SHELL}(?<message>${name})${COMMAND}`);

const KINDS: readonly Kind[] = [
  { pattern: bySignal('Killed'), name: 'Killed' },
  { pattern: /\]\s{0,4}(?<message>Killed)\s*$/, name: 'Killed' },
  {
    pattern: bySignal(
      '(?<name>Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception)',
    ),
  },
  { pattern: bySignal('Out Of Memory'), name: 'Out Of Memory' },
  { pattern: bySignal('Terminated'), name: 'Terminated', status: 'interrupted' },
  { pattern: /^\s{0,4}(?:\^C)+\s*$/, name: 'KeyboardInterrupt', status: 'interrupted' },
  {
    pattern: /^(?:\^C)*\s{0,4}(?<message>KeyboardInterrupt)(?::.{0,200})?\s*$/,
    name: 'KeyboardInterrupt',
    status: 'interrupted',
    isCaught: true,
  },
  {
    pattern:
      /^(?:slurmstepd|srun): error: (?<message>\*{3} (?:JOB|STEP) .{1,200} CANCELLED AT \S{1,40} DUE TO NODE FAILURE.*)$/,
    name: 'NODE FAILURE',
  },
  {
    pattern:
      /^(?:slurmstepd|srun): error: (?<message>\*{3} (?:JOB|STEP) .{1,200} CANCELLED AT \S{1,40}(?: DUE TO (?<name>[A-Z][A-Z ]{0,60}[A-Z]))?.*)$/,
    name: 'CANCELLED',
    status: 'interrupted',
  },
  {
    pattern:
      /^(?:slurmstepd|srun): error: (?<message>Detected \d{1,9} oom[-_ ]kill event.{0,400})$/i,
    name: 'Out Of Memory',
  },
  {
    pattern:
      /^(?:slurmstepd|srun): error: (?<message>.{0,200}memory limit.{0,200}being killed.*)$/i,
    name: 'Out Of Memory',
  },
  {
    pattern: /^=>> (?<message>PBS: job killed: (?<name>walltime) .{0,200})$/,
    status: 'interrupted',
  },
  { pattern: /^=>> (?<message>PBS: job killed: .{0,200})$/, name: 'PBS' },
  {
    pattern: /^\s{0,4}(?<message>(?<name>TERM_(?:RUNLIMIT|CPULIMIT)): .{0,200})$/,
    status: 'interrupted',
  },
  { pattern: /^\s{0,4}(?<message>(?<name>TERM_MEMLIMIT): .{0,200})$/ },
  {
    pattern:
      /^\s{0,8}(?:\[[\d.\s]{1,20}\]\s)?(?<message>Out of memory: Kill(?:ed)? process \d.{0,300})$/i,
    name: 'Killed',
  },
  {
    pattern: /^\s{0,4}(?<message>FATAL ERROR: .{0,200}JavaScript heap out of memory.{0,100})$/,
    name: 'FATAL ERROR',
  },
  {
    pattern:
      /^(?<message>terminate called after throwing an instance of '(?<name>[^']{1,200})')\s*$/,
  },
  { pattern: /^(?:\S{1,40} ){0,3}F tensorflow\/(?<message>\S{1,200}\] .{1,1000})$/, name: 'abort' },
  { pattern: /^F\d{4} \d\d:\d\d:\d\d\S{0,20}\s.{0,200}?\] (?<message>.{1,1000})$/, name: 'abort' },
  { pattern: /^(?<message>thread '.{1,80}' panicked at .{0,400})$/, name: 'panic' },
  {
    pattern: /^(?<message>Process finished with exit code (?:130|-1073741510))\b/,
    name: 'exit code',
    status: 'interrupted',
  },
  { pattern: /^(?<message>Process finished with exit code -?[1-9]\d{0,9})\b/, name: 'exit code' },
  {
    pattern: /^(?<message>Loss is -?(?:nan|inf(?:inity)?)[^,]{0,20}, stopping training)/i,
    name: 'Loss',
    isCaught: true,
  },
  {
    pattern: /^(?!.*\bskip)(?<message>(?<name>CUDA (?:error|out of memory))\b.{0,1000})$/,
    isCaught: true,
  },
  {
    // A class and a message; a name with nothing but a number behind it is a metric.
    pattern:
      /^(?:\[rank\d{1,6}\]:\s?|Uncaught )?(?<message>(?<name>(?:[A-Za-z_]\w{0,80}\.){0,8}(?:[A-Z]\w{0,80})?(?:Error|Exception))(?!:?\s*[-+]?[\d.]+(?:e[-+]?\d+)?%?\s*$)(?::\s.{0,1500})?)$/,
    isCaught: true,
    isLone: true,
  },
];

const MAX_CHARS = 2000;

/** How a line says that the process was stopped; undefined where it says nothing of it. */
export function stopIn(line: string): Stop | undefined {
  // A line is what a terminal shows of it: bars are in front of what ends them.
  const cut = line.slice(-MAX_CHARS);
  for (const { isCaught = false, isLone = false, name = '', pattern, status = 'failed' } of KINDS) {
    const match = pattern.exec(cut);
    if (match === null) continue;
    const { message = name, name: own = name } = match.groups ?? {};
    return { name: own, message: message.trim(), status, isFinal: !isCaught, isLone };
  }
  return undefined;
}
