// The package as its users get it: npm needs no network for it, and leaves nothing in the checkout.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Hub, having, until } from './kit.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = join(root, 'tools/clients/node');
const directory = mkdtempSync(join(tmpdir(), 'patchbay-package-'));
after(() => rmSync(directory, { recursive: true }));

// An address without a listener: a request to the registry fails.
const offline = { ...process.env, npm_config_registry: 'http://127.0.0.1:1/', npm_config_cache: join(directory, 'cache'), npm_config_audit: 'false', npm_config_fund: 'false', npm_config_fetch_retries: '0' };
const npm = (where, ...args) => execFileSync('npm', args, { cwd: where, env: offline, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const files = (where) => readdirSync(where, { recursive: true }).map(String).sort();

// The ten lines that the page begins with, as a user would copy them.
async function answers(where) {
  await having(Hub.start(), async (hub) => {
    writeFileSync(join(where, 'agent.mjs'), `
      import { connect } from '@patchbay/client';
      const hub = await connect();
      hub.task('greet', ({ context }) => ({ text: \`Hello, \${context.name}!\` }));
      hub.method("stop", () => { hub.close(); });
      await hub.register('greeter');`);
    const env = { ...process.env, PATCHBAY_HUB: hub.uri('tcp') };
    const { spawn } = await import('node:child_process');
    const agent = spawn(process.execPath, ['agent.mjs'], { cwd: where, env, stdio: 'inherit' });
    const ended = new Promise((resolve) => agent.on('close', resolve));
    const send = (...args) => execFileSync(process.env.PATCHBAY, ['send', ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const said = await until('it answers', () => { try { return send('greeter', 'greet', '--context', '{"name":"Ada"}'); } catch { return undefined; } });
    assert.deepEqual(JSON.parse(said), { text: 'Hello, Ada!' });
    send('greeter', 'x', '--method', 'stop');
    assert.equal(await ended, 0);
  });
}

test('npm install FOLDER', async () => {
  const before = files(folder), where = mkdtempSync(join(directory, 'install-'));
  writeFileSync(join(where, 'package.json'), '{"private":true}');
  npm(where, 'install', folder);
  await answers(where);
  assert.deepEqual(files(folder), before, 'nothing is left in the checkout');
});

test('npm pack, and npm install of what that makes', async () => {
  const before = files(folder), where = mkdtempSync(join(directory, 'pack-'));
  const [{ filename, files: packed }] = JSON.parse(npm(where, 'pack', '--json', folder));
  const names = packed.map(({ path }) => path).sort();
  assert.deepEqual(names, before.filter((name) => name !== 'lib').sort());
  writeFileSync(join(where, 'package.json'), '{"private":true}');
  npm(where, 'install', `./${filename}`);
  await answers(where);
  assert.deepEqual(files(folder), before, 'nothing is left in the checkout');
});

test('the package needs nothing', () => {
  const { dependencies, peerDependencies, scripts, type, engines } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  assert.deepEqual([dependencies, peerDependencies, scripts, type, engines.node], [undefined, undefined, undefined, 'module', '>=18']);
  const nodeOnly = new Set(['dial_node.js', 'websocket.js', 'frame.js', 'lines.js', 'stream_transport.js']);
  for (const name of readdirSync(join(folder, 'lib'))) {
    const text = readFileSync(join(folder, 'lib', name), 'utf8');
    for (const [, from] of text.matchAll(/(?:from |import\()'([^']+)'/g)) {
      assert.ok(from.startsWith('./') || (from.startsWith('node:') && nodeOnly.has(name)), `${name} imports ${from}`);
      if (!nodeOnly.has(name) && name !== 'connection.js') assert.ok(!nodeOnly.has(from.slice(2)), `${name} imports ${from}, which a browser can't load`);
    }
  }
});
