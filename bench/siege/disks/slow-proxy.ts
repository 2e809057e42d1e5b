/** A connection that takes its time, between a service and its database. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy whose every chunk comes later, in both directions. */
export async function slowProxy(
  target: { readonly host: string; readonly port: number },
  delayMs: number,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (data) => {
      setTimeout(() => {
        if (!to.destroyed) to.write(data);
      }, delayMs);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      setTimeout(() => to.destroy(), delayMs);
    });
  };
  const server = createServer((client) => {
    const database = connect(target.port, target.host);
    pass(client, database);
    pass(database, client);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
