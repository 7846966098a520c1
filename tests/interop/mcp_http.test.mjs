// Clients of both SDKs of MCP over HTTP, 20 at a time, at servers that the hub shares: each at its own path and all at one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { WAIT_MS } from '../e2e/peer.mjs';
import { web } from '../e2e/web.mjs';
import { NODE } from './node22.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-http-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const section = (name, command) => `[child ${name}]\ncommand = ${command}\nprotocol = mcp\nask-clients = yes\n`;

function hubOf(name, ...sections) {
  const config = join(directory, `${name}.ini`);
  writeFileSync(config, sections.join(''));
  return { shards: [2], options: ['--config', config] };
}
const LEGACY = section('everything', `${process.execPath} ${everything} stdio`);
const MODERN = section('modern', `${NODE} ${here('conformance_server.mjs')} stdio`);

async function use(hub, path, ...args) {
  const url = `${hub.uri('http').replace(/\/$/, '')}${path}`;
  await promisify(execFile)(NODE, [here('mcp_http_client.mjs'), url, ...args], { timeout: WAIT_MS });
}

const scenarios = {
  'the SDK of the first generation, at one server': [hubOf('one', LEGACY), '/mcp/everything', 'sdk', '20'],
  'one client of the first generation, which is asked': [hubOf('asked', LEGACY), '/mcp/everything', 'sdk', '1'],
  'one client of the second generation, which is asked': [hubOf('asked', LEGACY), '/mcp/everything', 'client', '1'],
  'the SDK of the second generation, at one server': [hubOf('two', LEGACY), '/mcp/everything', 'client', '20'],
  'the SDK of the first generation, at all servers': [hubOf('three', LEGACY, LEGACY.replace('everything]', 'twin]')), '/mcp', 'sdk', '20', 'twin__'],
  'the SDK of the second generation, in the modern era': [hubOf('four', MODERN), '/mcp/modern', 'client', '20', '', 'modern'],
  'the SDK of the second generation, in the modern era at all servers':
    [hubOf('five', MODERN, MODERN.replace('modern]', 'twin]')), '/mcp', 'client', '20', 'twin__', 'modern'],
};
for (const [name, [how, ...args]] of NODE ? Object.entries(scenarios) : [])
  web(name, how, async (hub) => {
    await use(hub, ...args);
    const watcher = await hub.peer();
    const { result } = await watcher.ask('hub/agents');
    for (const agent of result.agents) assert.deepEqual([agent.pending, agent.child.restarts], [0, 0], agent.agentId);
  });
