/** Names this process among those of the machine, so that others see that it has ended. */
import { hostname } from 'node:os';

/** Names this process: host and number. */
export const processTag: string = `${hostname()} ${process.pid}`;

/** Whether the process of a tag was one of this machine and has ended. A number that was given out again passes for alive. */
export function isProcessGone(tag: string): boolean {
  const [host, pid = ''] = tag.split(' ');
  if (host !== hostname() || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && Reflect.get(error, 'code') === 'ESRCH';
  }
}
