/** Choices that are part of the address: a link, a reload and the way back show what was seen. */
import { useSignalEffect, type Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { param, setParam, visit } from '../route/location.ts';
import type { AddressText } from './address-text.ts';

/**
 * Keeps a signal and a part of the address the same for as long as the component is there. A plain link to the page, which says
 * nothing, leaves the signal as it is.
 *
 * @param how `push` makes each change a step that one can go back from
 */
export function useAddressed<T>(
  name: string,
  target: Signal<T>,
  text: AddressText<T>,
  how: 'replace' | 'push' = 'replace',
): void {
  const seen = useRef(-1);
  const { count, isExact } = visit.value;
  // Before the first drawing: what is drawn is what the address says.
  if (seen.current !== count) {
    seen.current = count;
    const said = param(name);
    const isNew = said !== text.write(target.peek());
    if (isNew && (said !== undefined || isExact)) target.value = text.read(said);
  }
  const wasWritten = useRef(-1);
  useSignalEffect(() => {
    const value = text.write(target.value);
    const { count: now } = visit.value;
    // The first write after a navigation completes the address that was opened; only later writes are changes of the user.
    setParam(name, value, wasWritten.current === now ? how : 'replace');
    wasWritten.current = now;
  });
}
