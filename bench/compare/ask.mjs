// Programs beside this one that measure themselves: compiled C++ where there is a compiler, Python where there is one. A program that
// cannot run here is left out, with a line that says so.
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The machine itself, or undefined. */
export async function startNative(folder) {
  for (const compiler of ['c++', 'g++', 'clang++']) {
    const { status } = spawnSync(
      compiler,
      [
        '-O3',
        '-march=native',
        '-std=c++17',
        `${folder}/bench/compare/native.cpp`,
        '-o',
        `${folder}/build/bench/native`,
      ],
      { stdio: 'ignore' },
    );
    if (status === 0) return start(`${folder}/build/bench/native`, []);
  }
  console.log('No C++ compiler here: the native programs are left out.');
}

/** Python with the packages it has, or undefined. */
export async function startPython(folder) {
  const program = await start('python3', [`${folder}/bench/compare/libraries.py`]);
  if (program === undefined || program.banner === '')
    console.log('No Python with numpy here: its libraries are left out.');
  return program;
}

/** A program that prints one line when it is ready, then answers `case repetitions` with milliseconds. */
async function start(command, args) {
  // One thread each, as the kernels have.
  const env = {
    ...process.env,
    OMP_NUM_THREADS: '1',
    OPENBLAS_NUM_THREADS: '1',
    MKL_NUM_THREADS: '1',
  };
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
  const hasFailed = new Promise((resolve) => {
    child.once('error', () => resolve(undefined));
    child.once('exit', () => resolve(undefined));
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = () => Promise.race([lines.next().then(({ value }) => value), hasFailed]);
  const banner = await read();
  if (banner === undefined) return undefined;
  return {
    banner,
    has: (name) => banner === 'ready' || banner.split(' ').includes(name),
    /** A case for `measure`. */
    case: (name, repetitions) => async () => {
      child.stdin.write(`${name} ${repetitions}\n`);
      return { ms: Number(await read()) };
    },
    end: () => child.kill(),
  };
}
