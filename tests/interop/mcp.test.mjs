// The reference server of the Model Context Protocol behind the hub, and clients of its SDK. Each client starts
// `patchbay connect` as it would start a server of its own, counts its ids from 0, and uses its ids as progress tokens.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { scenario } from '../e2e/hub.mjs';
import { within } from '../e2e/peer.mjs';

const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
const { CreateMessageRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const config = join(directory, 'hub.ini');
writeFileSync(config, `[child everything]\ncommand = ${process.execPath} ${program} stdio\nprotocol = mcp\nask-clients = yes\n`);
const SHARED = { shards: [1, 2], transports: ['tcp', 'unix'], options: ['--config', config] };

// `client.progress` has what has come of the progress of its calls. The SDK leaves out what it reads together with the answer.
async function started(hub, capabilities = {}) {
  const client = new Client({ name: 'tester', version: '1' }, { capabilities });
  const args = ['--hub', hub.uri(), 'connect', '--agent', 'everything', '--framing', 'lines'];
  hub.peers.push({ drop: () => client.close() });
  await within(client.connect(new StdioClientTransport({ command: process.env.PATCHBAY, args })), 'a session');
  const { onmessage } = client.transport;
  client.progress = [];
  client.transport.onmessage = (message, ...more) => {
    if (message.method === 'notifications/progress') client.progress.push(message.params.progress);
    onmessage(message, ...more);
  };
  return client;
}

const call = (client, name, given, options) => within(client.callTool({ name, arguments: given }, undefined, options), name);

scenario('20 clients at a time: tools, progress and cancellation', SHARED, async (hub) => {
  const clients = await Promise.all(Array.from({ length: 20 }, () => started(hub)));
  await Promise.all(clients.map(async (client, n) => {
    assert.equal(client.getServerVersion().name, 'mcp-servers/everything');
    assert.match((await call(client, 'echo', { message: `hello ${n}` })).content[0].text, new RegExp(`hello ${n}$`));
    await call(client, 'trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: () => {} });
    assert.deepEqual(client.progress, [1, 2, 3, 4]);
    const abort = new AbortController();
    const onprogress = () => abort.abort('enough');
    const long = call(client, 'trigger-long-running-operation', { duration: 600, steps: 6000 }, { signal: abort.signal, onprogress });
    await assert.rejects(long, /enough/);
    assert.match((await call(client, 'get-sum', { a: n, b: 1 })).content[0].text, new RegExp(`${n + 1}`));
  }));
  const watcher = await hub.peer();
  const { result } = await watcher.ask('hub/agents');
  assert.equal(result.agents[0].pending, 0);
  assert.equal(result.agents[0].child.restarts, 0);
  await Promise.all(clients.map((client) => client.close()));
});

scenario('what the server asks goes to the client that called it', SHARED, async (hub) => {
  const [client, other] = await Promise.all([started(hub, { sampling: {} }), started(hub)]);
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    model: 'none', role: 'assistant', content: { type: 'text', text: `sampled ${params.messages.length}` },
  }));
  const { content } = await call(client, 'trigger-sampling-request', { prompt: 'anything', maxTokens: 10 });
  assert.match(JSON.stringify(content), /sampled 1/);
  await other.ping();
  await Promise.all([client.close(), other.close()]);
});
