/** The processes of the tests beside this file: `service OPTIONS`. */
import { writeSync } from 'node:fs';
import { serveService } from '../../src/node/serve-service.ts';
import type { ServiceLimits } from '../../src/service/limits.ts';

/** What a service is started with, as JSON. */
export type ServiceOptions = {
  readonly storage: string;
  readonly port?: number;
  /** In place of limits that are never reached. */
  readonly limits?: Partial<ServiceLimits>;
};

/** Nobody waits for the sake of others here: the limits on how often have tests of their own. */
const LIMITS: Partial<ServiceLimits> = { requestsPerSecond: 1e6, requestBurst: 1e6 };

/** What a parent may say: by how much all clocks of the process are wrong from now on. */
export type ClockMessage = { readonly clockOffsetMs: number };

let offsetMs = 0;
const realNow = Date.now.bind(Date);
class JumpingDate extends Date {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [JumpingDate.now()] : given) as [number]));
  }

  static override now(): number {
    return realNow() + offsetMs;
  }
}
globalThis.Date = JumpingDate as DateConstructor;
process.on('message', ({ clockOffsetMs }: ClockMessage) => {
  offsetMs = clockOffsetMs;
});
// The channel of a parent keeps no process alive.
process.channel?.unref();

const [mode = '', options = '{}'] = process.argv.slice(2);
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};

switch (mode) {
  case 'service':
    await serve(JSON.parse(options) as ServiceOptions);
    break;
  default:
    throw new Error(`There is no mode ${mode}.`);
}

async function serve({ storage, port = 0, limits = LIMITS }: ServiceOptions): Promise<void> {
  const service = await serveService({ storage, port, limits });
  process.once('SIGTERM', () => {
    void service.close().then(() => process.exit(0));
  });
  say(`listening ${service.port}`);
}
