/** `quark mcp`: runs for coding assistants, over the Model Context Protocol. */
import { randomBytes } from 'node:crypto';
import { createMcpServer, loadMcpSdk } from './mcp-server.ts';
import { serveMcp } from './mcp-http.ts';
import { UsageError } from '../support/args.ts';
import {
  EXIT,
  STORAGE_OPTIONS,
  withStore,
  type Command,
  type CommandContext,
} from '../support/command.ts';
import type { Store } from '../../index.ts';

const MAX_PORT = 65_535;
const LEAST_KEY = 16;

export const mcpCommand: Command = {
  spec: {
    name: 'mcp',
    summary: 'Let coding assistants read the runs: a Model Context Protocol server.',
    positionals: [],
    options: {
      ...STORAGE_OPTIONS,
      'allow-write': {
        kind: 'flag',
        help: 'Offer tools that name, tag, describe and archive runs. None deletes anything.',
      },
      port: {
        kind: 'count',
        value: 'N',
        max: MAX_PORT,
        help: 'Serve HTTP on this port rather than standard input and output; 0 takes a free one.',
      },
      host: {
        kind: 'text',
        value: 'ADDRESS',
        help: 'Address to listen on with --port. Default: 127.0.0.1.',
      },
    },
    notes: [
      'It needs the package @modelcontextprotocol/sdk: npm install @modelcontextprotocol/sdk',
      'An assistant starts it by itself: { "command": "npx", "args": ["quark", "mcp", "--storage-dir", "DIR"] }.',
      'Over HTTP every request needs the header "Authorization: Bearer KEY". KEY is QUARK_MCP_KEY (16 characters and more); without it, a new one is made and printed.',
    ],
  },
  async run(context) {
    const { args } = context;
    if (args.count('port') === undefined && args.text('host') !== undefined)
      throw new UsageError('--host goes with --port', 'mcp');
    const sdk = await loadMcpSdk();
    return withStore(context, (store) =>
      args.count('port') === undefined
        ? overStdio(context, sdk, store)
        : overHttp(context, sdk, store),
    );
  },
};

type Sdk = Awaited<ReturnType<typeof loadMcpSdk>>;

/** Until the assistant closes standard input. Standard output belongs to the protocol. */
async function overStdio({ io, args }: CommandContext, sdk: Sdk, store: Store): Promise<number> {
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const server = createMcpServer(sdk, store, args.flag('allow-write'));
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  process.stdin.once('end', end);
  process.stdin.once('close', end);
  const undo = io.onInterrupt(end);
  try {
    await server.connect(new StdioServerTransport());
    await ended;
    await server.close();
  } finally {
    undo();
  }
  return EXIT.ok;
}

async function overHttp({ io, args }: CommandContext, sdk: Sdk, store: Store): Promise<number> {
  const { StreamableHTTPServerTransport } =
    await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const given = io.env['QUARK_MCP_KEY'];
  if (given !== undefined && given.length < LEAST_KEY)
    throw new UsageError(`QUARK_MCP_KEY needs ${LEAST_KEY} characters and more`, 'mcp');
  const key = given ?? randomBytes(24).toString('base64url');
  const http = await serveMcp({
    host: args.text('host') ?? '127.0.0.1',
    port: args.count('port') ?? 0,
    key,
    answer: async (request, response) => {
      // A server a request: nothing is remembered between two of them.
      const server = createMcpServer(sdk, store, args.flag('allow-write'));
      const transport = new StreamableHTTPServerTransport();
      response.once('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response);
    },
  });
  await io.stderr.write(
    `Serving the Model Context Protocol at ${http.url}\n${given === undefined ? `Key: ${key}\n` : ''}`,
  );
  const interrupted = new Promise<void>((resolve) => {
    io.onInterrupt(resolve);
  });
  await interrupted;
  await http.close();
  return EXIT.ok;
}
