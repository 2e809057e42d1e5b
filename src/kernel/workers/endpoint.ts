/** A Node port in the shape Comlink talks to. */
import type { NodePort } from './machine.ts';

/** What Comlink talks to: its `Endpoint`, declared here because declarations of the package name no other package. */
export interface WorkerEndpoint {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: object,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: object,
  ): void;
  start?: () => void;
}

/** Wraps a Node Worker or parentPort. */
export function nodeEndpoint(port: NodePort): WorkerEndpoint {
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
