/** A Node port in the shape Comlink talks to. */
import type { Endpoint } from 'comlink';
import type { NodePort } from './machine.ts';

/** Wraps a Node Worker or parentPort. */
export function nodeEndpoint(port: NodePort): Endpoint {
  const wrapped = new WeakMap<object, (value: unknown) => void>();
  return {
    postMessage: (message, transfer) => port.postMessage(message, transfer),
    addEventListener(_type, listener) {
      const handler = (data: unknown): void => {
        const event = { data } as MessageEvent;
        if (typeof listener === 'function') listener(event);
        else listener.handleEvent(event);
      };
      wrapped.set(listener, handler);
      port.on('message', handler);
    },
    removeEventListener(_type, listener) {
      const handler = wrapped.get(listener);
      if (handler !== undefined) port.off('message', handler);
    },
  };
}
