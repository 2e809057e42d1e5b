/** The processes of the tests beside this file: `service OPTIONS`. */
import { writeSync } from 'node:fs';
import { serveService } from '../../src/node/serve-service.ts';
import { DEFAULT_SERVICE_LIMITS } from '../../src/service/limits.ts';

/** What a service is started with, as JSON. */
export type ServiceOptions = {
  readonly storage: string;
  readonly port?: number;
};

/** Nobody waits for the sake of others here: the limits on how often have tests of their own. */
const LIMITS = { ...DEFAULT_SERVICE_LIMITS, requestsPerSecond: 1e6, requestBurst: 1e6 };

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

async function serve({ storage, port = 0 }: ServiceOptions): Promise<void> {
  const service = await serveService({ storage, port, limits: LIMITS });
  process.once('SIGTERM', () => {
    void service.close().then(() => process.exit(0));
  });
  say(`listening ${service.port}`);
}
