// The official conformance suite of MCP, in both eras: through the hub a server must do in each scenario as it does by
// itself. By itself the server passes all of them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WAIT_MS, within } from '../e2e/peer.mjs';
import { web } from '../e2e/web.mjs';
import { NODE } from './node22.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-conformance-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const server = fileURLToPath(new URL('conformance_server.mjs', import.meta.url));
const suite = fileURLToPath(new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url));
const config = join(directory, 'hub.ini');
writeFileSync(config, `[child conformance]\ncommand = ${NODE} ${server} stdio\nprotocol = mcp\nask-clients = yes\n`);
const SUITE_MS = 120_000;

async function run(program, args) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => { said += part; });
  await within(once(child, 'close'), `${args[0]} to end`, SUITE_MS);
  return said;
}

// The checks of each scenario that aren't passed: {scenario: [check, …]}. What is said of an answer that is JSON and no
// stream is no check.
async function verdicts(url, version, name) {
  const out = join(directory, name);
  const said = await run(NODE, [suite, 'server', '--url', url, '--suite', 'all', '--spec-version', version, '--output-dir', out]);
  const found = {};
  for (const folder of readdirSync(out)) {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    const checks = JSON.parse(readFileSync(join(out, folder, 'checks.json'), 'utf8'));
    found[scenario] = checks.filter(({ status }) => !['SUCCESS', 'INFO'].includes(status)).map(({ id, errorMessage }) => `${id}: ${errorMessage}`);
  }
  assert.ok(Object.keys(found).length > 30, said);
  return found;
}

async function alone(version) {
  const child = spawn(NODE, [server, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await within(once(child.stdout.setEncoding('utf8'), 'data'), 'the server to listen', WAIT_MS);
    return await verdicts(line.trim(), version, `alone-${version}`);
  } finally {
    child.kill('SIGKILL');
  }
}

for (const version of NODE ? ['2025-11-25', '2026-07-28'] : [])
  web(`conformance to ${version}`, { shards: [2], options: ['--config', config] }, async (hub) => {
    const expected = await alone(version);
    for (const [scenario, failed] of Object.entries(expected)) assert.deepEqual(failed, [], scenario);
    assert.deepEqual(await verdicts(`${hub.uri('http').replace(/\/$/, '')}/mcp/conformance`, version, `hub-${version}`), expected);
  });
