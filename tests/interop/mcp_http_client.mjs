// Clients of one SDK at a server of MCP over HTTP, all at a time: lists, calls, progress, a cancelled call, and what the
// server asks. Ends with 1 at the first thing that isn't as it must be.
//
// usage: mcp_http_client.mjs URL sdk|client CLIENTS [PREFIX [modern]]
//
// `sdk` is @modelcontextprotocol/sdk, `client` is @modelcontextprotocol/client. PREFIX stands before names of tools.
import assert from 'node:assert/strict';

const [url, kind, count, prefix = '', era] = process.argv.slice(2);
const sdk = kind === 'sdk'
  ? { ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js') }
  : await import('@modelcontextprotocol/client');

async function open() {
  const options = { capabilities: { sampling: {} }, ...era && { versionNegotiation: { mode: { pin: '2026-07-28' } } } };
  const client = new sdk.Client({ name: 'tester', version: '1' }, options);
  if (!era) {
    const sampled = ({ params }) => ({ model: 'none', role: 'assistant', content: { type: 'text', text: `sampled ${params.messages.length}` } });
    const method = kind === 'sdk' ? (await import('@modelcontextprotocol/sdk/types.js')).CreateMessageRequestSchema : 'sampling/createMessage';
    client.setRequestHandler(method, sampled);
  }
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(url)));
  return client;
}

const call = (client, name, given, options) => kind === 'sdk'
  ? client.callTool({ name: prefix + name, arguments: given }, undefined, options) : client.callTool({ name: prefix + name, arguments: given }, options);
const text = ({ content }) => content[0].text;

async function useLegacy(client, n) {
  assert.ok((await client.listTools()).tools.some(({ name }) => name === `${prefix}echo`));
  assert.match(text(await call(client, 'echo', { message: `hello ${n}` })), new RegExp(`hello ${n}$`));
  const steps = [];
  await call(client, 'trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: ({ progress }) => steps.push(progress) });
  assert.deepEqual(steps, [1, 2, 3, 4].slice(0, steps.length));
  assert.ok(steps.length >= 3, `steps ${steps}`);
  // A question of the server's goes to the one client that has a request in progress.
  if (count === '1') assert.match(JSON.stringify(await call(client, 'trigger-sampling-request', { prompt: 'any', maxTokens: 10 })), /sampled 1/);
  const abort = new AbortController();
  const long = call(client, 'trigger-long-running-operation', { duration: 600, steps: 6000 }, { signal: abort.signal, onprogress: () => abort.abort('enough') });
  await assert.rejects(long, /enough/);
  assert.match(text(await call(client, 'get-sum', { a: n, b: 1 })), new RegExp(`${n + 1}`));
}

async function useModern(client, n) {
  assert.ok((await client.listTools()).tools.some(({ name }) => name === `${prefix}test_simple_text`));
  assert.match(text(await call(client, 'test_simple_text', {})), /simple text/);
  const steps = [];
  await call(client, 'test_tool_with_progress', {}, { onprogress: ({ progress }) => steps.push(progress) });
  assert.deepEqual(steps, [0, 50, 100].slice(0, steps.length));
  assert.match(JSON.stringify(await client.readResource({ uri: 'test://static-text' })), /static text/);
  assert.match(JSON.stringify(await client.getPrompt({ name: `${prefix}test_prompt_with_arguments`, arguments: { arg1: `${n}`, arg2: 'b' } })), new RegExp(`arg1='${n}'`));
}

const clients = await Promise.all(Array.from({ length: Number(count) }, open));
await Promise.all(clients.map(era ? useModern : useLegacy));
await Promise.all(clients.map(client => client.close()));
