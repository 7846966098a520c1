// The same source in a browser, over the browser's own WebSocket: an agent and a caller in a page.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Chromium, chromiumIsThere } from '../../interop/chromium.mjs';
import { Hub, agent, client, close, having, until } from './kit.mjs';

const folder = fileURLToPath(new URL('../../../tools/clients/node', import.meta.url));
const PAGE = '<!DOCTYPE html><link rel="icon" href="data:,"><script type="module">import * as patchbay from "/index.js"; Object.assign(window, patchbay); window.ready = true;</script>';
let browser, site;

before(async () => {
  if (!chromiumIsThere) return;
  browser = await Chromium.start();
  site = http.createServer(({ url }, response) => {
    const isPage = url === '/';
    response.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript');
    response.end(isPage ? PAGE : readFileSync(join(folder, new URL(url, 'http://x').pathname)));
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
});
after(async () => {
  site?.close();
  site?.closeAllConnections();
  await browser?.stop();
});

const origin = () => `http://127.0.0.1:${site.address().port}`;
const start = (...options) => Hub.start(['--http', '127.0.0.1:0', '--allow-origin', origin(), ...options]);
const wsOf = (hub) => hub.uri('http').replace('http', 'ws');

async function page(hub) {
  const shown = await browser.open(`${origin()}/`);
  await shown.until('window.ready === true', 'the client');
  await shown.value(`window.uri = ${JSON.stringify(wsOf(hub))}`);
  return shown;
}

if (!chromiumIsThere) console.error('chromium is missing: the client in a browser was NOT tested');
else {
  test('an agent in a page answers, reports progress and is cancelled', () => having(start('--validate', 'strict'), async (hub) => {
    const shown = await page(hub), other = await agent(hub.uri('tcp'), 'other');
    await shown.value(`(async () => {
      window.hub = await connect(uri);
      hub.method('tests/run', async (params, request) => { await request.progress({ n: 1 }); return { got: params.text }; });
      hub.method('slow', (params, { signal }) => new Promise((_, reject) => { window.runs = true; signal.addEventListener('abort', () => { window.aborted = signal.reason.code; reject(signal.reason); }); }));
      hub.task('fail', () => { throw new HubError(-31000, 'no', { why: 'x' }); });
      await hub.register('page', { capabilities: { methods: ['tests/run'] } });
    })()`);
    const text = `é𝄞${'x'.repeat(300_000)}`, progress = [];
    assert.deepEqual(await other.call('tests/run', { text }, { onProgress: (value) => progress.push(value) }), { got: text });
    assert.deepEqual(progress, [{ n: 1 }]);
    const error = await other.request('page', 'fail').catch((one) => one);
    assert.deepEqual([error.code, error.message, error.data], [-31000, 'no', { why: 'x' }]);
    const controller = new AbortController(), call = other.call('slow', { targetAgent: 'page' }, { signal: controller.signal }).catch((one) => one);
    await shown.until('window.runs === true');
    controller.abort();
    await call;
    await shown.until('window.aborted === -32800', 'the cancel');
    await shown.value('hub.close()');
    assert.deepEqual((await other.call('hub/agents')).agents.map(({ agentId }) => agentId), ['other']);
    assert.deepEqual(shown.errors, []);
    await shown.close();
    await close(other);
  }));

  test('a caller in a page calls, publishes and iterates over events', () => having(start(), async (hub) => {
    const shown = await page(hub), other = await agent(hub.uri('tcp'), 'other');
    other.task('t', ({ context }) => context);
    const events = other.events('page-*');
    await shown.value(`(async () => {
      window.hub = await connect(uri, { concurrency: 2 });
      window.seen = [];
      window.loop = (async () => { for await (const event of hub.events('build-*')) { seen.push(event); if (event.data === 'last') break; } })();
    })()`);
    assert.deepEqual(await shown.value("hub.request('other', 't', { context: { a: 'ü' }, timeoutMs: 5000 })"), { a: 'ü' });
    assert.equal(await shown.value("hub.request('nobody', 't').catch((error) => error instanceof HubError && error.code)"), -32010);
    assert.equal(await shown.value("hub.publish('page-loaded', { n: 1 })"), 1);
    assert.deepEqual((await events.next()).value, { name: 'page-loaded', data: { n: 1 }, missed: 0 });
    assert.equal(await other.publish('build-done', 1), 1);
    await other.publish('build-done', 'last');
    await shown.value('loop');
    assert.deepEqual(await shown.value('seen.map(({ name, data, missed }) => [name, data, missed])'), [['build-done', 1, 0], ['build-done', 'last', 0]]);
    assert.equal(await other.publish('build-done'), 0);
    assert.equal(await shown.value("hub.notify('m', { targetAgent: 'other', text: 'x'.repeat(3000000) }).then(() => 'sent')"), 'sent');
    assert.equal(await shown.value("hub.request('other', 't', { level: 'manual' }).catch((error) => error instanceof TypeError)"), true);
    assert.equal(await shown.value("hub.call('hub/ping', {}, { signal: AbortSignal.abort() }).catch((error) => error.name)"), 'AbortError');
    assert.equal(await shown.value("Promise.all([undefined, 'tcp://127.0.0.1:1', 'unix:///x', 'http://127.0.0.1:1'].map((one) => connect(one).catch((error) => error instanceof TypeError))).then((all) => all.every(Boolean))"), true);
    await shown.value('hub.close()');
    await shown.close();
    await close(other);
  }));

  test('a page comes back when its hub does', () => having(start(), async (hub) => {
    const shown = await page(hub), address = new URL(hub.uri('http')).host;
    await shown.value(`(async () => {
      window.hub = await connect(uri); window.states = []; hub.onState((state) => states.push(state));
      hub.method('n', ({ n }) => n); await hub.register('page');
      window.call = hub.call('x', { targetAgent: 'page' }).catch((error) => error.code); await call;
    })()`);
    hub.process.kill('SIGKILL');
    await hub.exit;
    await shown.until("states.join() === 'lost'", 'the loss');
    await shown.value("void (window.waits = hub.call('n', { n: 7, targetAgent: 'page' }))");
    const next = await Hub.launch(['--http', address, '--listen', 'tcp://127.0.0.1:0', '--allow-origin', origin()]);
    assert.equal(await shown.value('waits'), 7);
    assert.equal(await shown.value('states.join()'), 'lost,connected');
    const other = await client(next.uri('tcp'));
    assert.equal(await other.call('n', { n: 8, targetAgent: 'page' }), 8);
    await shown.value('hub.close()');
    await until('it has left', async () => (await other.call('hub/agents')).agents.length === 0);
    await close(other);
    next.process.kill('SIGTERM');
    await next.ended();
    await shown.close();
    hub.stop = async () => hub.clean();
  }));
}
