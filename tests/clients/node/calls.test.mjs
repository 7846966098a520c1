// Calls of a client, connect, over every transport: each ends once.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConnectionLost, HubError, Hub, PlayedHub, agent, assertFails, client, close, connect, failure, gate, having, until, within } from './kit.mjs';
import { file, serving } from '../../e2e/certificates.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-clients-'));
after(() => rmSync(directory, { recursive: true }));

const LISTENERS = ['tcp://127.0.0.1:0', 'tcp-lines://127.0.0.1:0', 'tls://127.0.0.1:0', 'tls-lines://127.0.0.1:0'];
const options = ['--validate', 'strict', '--shards', '2', ...LISTENERS.slice(1).flatMap((uri) => ['--listen', uri]), ...serving];

async function everyUri() {
  const hub = await Hub.start([...options, '--listen', `unix-lines://${directory}/lines.sock`, '--http', '127.0.0.1:0']);
  const secure = await Hub.start([...serving, '--http', 'https://127.0.0.1:0']);
  const uris = hub.uris.filter((uri) => !uri.startsWith('http'));
  uris.push(hub.uri('http').replace('http', 'ws'), `${hub.uri('http').replace('http', 'ws')}/ws`, secure.uri('https').replace('https', 'wss'));
  return { uris, async stop() { await hub.stop(); await secure.stop(); } };
}

test('everything over every transport, against a strict hub', () => having(everyUri(), async ({ uris }) => {
  assert.deepEqual(uris.map((uri) => uri.split(':')[0]).sort(), ['tcp', 'tcp-lines', 'tls', 'tls-lines', 'unix', 'unix-lines', 'ws', 'ws', 'wss']);
  for (const uri of uris) {
    const tlsCa = file('authority.pem');
    const [one, other] = [await client(uri, { tlsCa }), await client(uri, { tlsCa })], seen = [];
    one.method('tests/run', async (params, request) => {
      await request.progress({ percentage: 50 });
      return { got: params.text, method: request.method };
    });
    one.task('generate', ({ sourceAgent, context, priority }) => ({ sourceAgent, context, priority }));
    one.method('tests/note', (params) => { seen.push(params); });
    assert.deepEqual(await one.register('one', { capabilities: { methods: ['tests/run', 'tests/note'] }, governanceLevel: 'supervised' }), { agentId: 'one', registered: true });
    await other.register('other');
    await other.register('second');
    const progress = [], text = `ä"\\\n\u2028${'x'.repeat(200_000)}`;
    assert.deepEqual(await other.call('tests/run', { text }, { timeoutMs: 5000, onProgress: (value) => progress.push(value) }), { got: text, method: 'tests/run' }, uri);
    assert.deepEqual(progress, [{ percentage: 50 }]);
    assert.deepEqual(await other.request('one', 'generate', { context: { a: 1 }, priority: 'high' }), { sourceAgent: 'other', context: { a: 1 }, priority: 'high' });
    await other.notify('tests/note', { n: 1 });
    await until('the notification comes', () => seen.length === 1);
    assert.deepEqual(seen, [{ n: 1 }]);
    const events = one.events('build-*');
    await until('it is subscribed', async () => await other.publish('build-done', { ok: true }) === 1);
    assert.deepEqual((await events.next()).value, { name: 'build-done', data: { ok: true }, missed: 0 });
    await events.return();
    assert.equal(await other.publish('build-done'), 0);
    await close(one, other);
  }
}));

test('an address that the client can\'t speak to is an error at once', async () => {
  for (const uri of ['', 'http://127.0.0.1:1', 'nats://127.0.0.1:1', 'tcp://127.0.0.1', 'tcp://127.0.0.1:70000', 'tcp://user:secret@127.0.0.1:1', 'tcp-binary://127.0.0.1:1',
    'unix://relative', 'unix:///folder/', `unix:///${'x'.repeat(108)}`, 'ws://', 'ws://127.0.0.1:1/#x', 'tcp://[::1:1', '127.0.0.1:1', 7]) {
    const error = await failure(client(uri), String(uri));
    assert.ok(error instanceof TypeError, `${uri}: ${error.stack}`);
    assert.doesNotMatch(error.stack, /secret/);
  }
});

test('a hub that isn\'t there is an error of connect, which isn\'t tried again', async () => {
  const played = await PlayedHub.start(), { uri, port } = played;
  await played.stop();
  for (const one of [uri, `ws://127.0.0.1:${port}`, 'unix:///nowhere/hub.sock']) {
    const error = await failure(client(one));
    assert.match(error.code, /ECONNREFUSED|ENOENT/);
  }
  await having(PlayedHub.start((message, peer) => { peer.socket.destroy(); }), async (hub) => {
    assert.ok(await failure(client(hub.uri)) instanceof ConnectionLost);
    assert.equal(hub.connections.length, 1);
  });
});

test('PATCHBAY_HUB is the default', () => having(Hub.start(), async (hub) => {
  process.env.PATCHBAY_HUB = hub.uri('unix');
  try {
    const one = await client(undefined);
    assert.equal(await one.call('hub/ping', { a: 1 }).then((result) => result.a), 1);
    await close(one);
  } finally {
    delete process.env.PATCHBAY_HUB;
  }
}));

test('errors of the hub and of agents come as they are', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('unix'));
  one.method('fails', () => { throw new HubError(-31999, 'no luck', { why: ['x'] }); });
  const error = await assertFails(other.call('fails', { targetAgent: 'one' }), -31999);
  assert.ok(error instanceof HubError && error instanceof Error && !(error instanceof ConnectionLost));
  assert.deepEqual([error.name, error.message, error.data], ['HubError', 'no luck', { why: ['x'] }]);
  await assertFails(other.request('nobody', 'x'), -32010);
  await assertFails(other.call('nothing'), -32601);
  await assertFails(other.register('one'), -32053);
  await close(one, other);
}));

test('what can\'t be sent is an error at once, and sends nothing', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), before = hub.messages.length, loop = {};
  loop.self = loop;
  for (const params of ['text', 7, null, () => 1, { big: 1n }, loop]) {
    assert.ok(await failure(one.call('m', params)) instanceof TypeError, String(params));
    assert.ok(await failure(one.notify('m', params)) instanceof TypeError);
  }
  for (const timeoutMs of [0, -1, -Infinity]) await assertFails(one.call('m', {}, { timeoutMs }), -32051, `a call with ${timeoutMs} ms`);
  for (const onProgress of [5, {}]) assert.ok(await failure(one.call('m', {}, { onProgress })) instanceof TypeError, String(onProgress));
  assert.throws(() => one.onState('lost'), TypeError);
  for (const timeoutMs of [NaN, '5', null, {}]) assert.ok(await failure(one.call('m', {}, { timeoutMs })) instanceof RangeError, String(timeoutMs));
  for (const level of ['strict', 'manual\r\nX: y', 1]) assert.ok(await failure(one.call('m', {}, { level })) instanceof TypeError);
  for (const wrong of [() => one.method('m'), () => one.method(1, () => {}), () => one.task('t', 7), () => one.events(7)]) assert.throws(wrong, TypeError);
  assert.ok(await failure(one.call(7)) instanceof TypeError);
  assert.ok(await failure(connect(hub.uri, { tlsKey: 'key.pem' })) instanceof TypeError);
  assert.equal((await one.call('m', {})).constructor, Object);
  assert.equal(hub.messages.length, before + 1);
  await close(one);
}));

test('a level goes in the header block, and is an error where there is none', () => having(Hub.start(['--listen', 'tcp-lines://127.0.0.1:0', '--http', '127.0.0.1:0']), async (hub) => {
  const loose = await agent(hub.uri('tcp'), 'loose'), strict = await agent(hub.uri('tcp'), 'strict', { governanceLevel: 'manual' });
  for (const one of [loose, strict]) one.task('t', () => 'done');
  assert.equal(await loose.request('strict', 't', { level: 'manual' }), 'done');
  await assertFails(strict.request('loose', 't', { level: 'manual' }), -32011);
  assert.equal(await strict.publish('e', {}, { level: 'manual' }), 0);
  for (const uri of [hub.uri('tcp-lines'), hub.uri('ws')]) {
    const bare = await client(uri);
    for (const call of [bare.request('strict', 't', { level: 'manual' }), bare.notify('m', {}, { level: 'manual' }), bare.publish('e', 1, { level: 'manual' })]) {
      assert.ok(await failure(call) instanceof TypeError);
    }
    await close(bare);
  }
  await close(loose, strict);
}));

test('a call whose time is up is cancelled at its target, and what comes later is dropped', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('tcp')), { open, passed } = gate();
  let aborted = 0;
  one.method('slow', async (params, { signal }) => {
    signal.addEventListener('abort', () => { aborted++; });
    await passed;
    return 'late';
  });
  const begin = performance.now();
  const error = await assertFails(other.call('slow', { targetAgent: 'one' }, { timeoutMs: 100 }), -32051);
  assert.ok(error instanceof HubError && performance.now() - begin < 5000);
  await until('the target hears of it', () => aborted === 1);
  open();
  assert.deepEqual(await other.call('hub/ping', { a: 1 }), { a: 1 });
  await close(one, other);
}));

test('the time goes along in the header block, and the hub may be the one that tells', () => having(PlayedHub.start((message) => (message.method === 'slow' ? undefined : {})), async (hub) => {
  const one = await client(hub.uri), fields = async (options) => {
    hub.messages.length = 0;
    const call = one.call('slow', {}, options).catch((error) => error);
    return [Object.fromEntries((await hub.heard('slow')).fields), call];
  };
  const [fieldsOfOne, call] = await fields({ timeoutMs: 250, level: 'manual' });
  assert.deepEqual(Object.keys(fieldsOfOne), ['Content-Length', 'Governance-Level', 'Custom-Timeout-Ms']);
  assert.ok(fieldsOfOne['Custom-Timeout-Ms'] <= 250 && fieldsOfOne['Custom-Timeout-Ms'] > 100);
  assert.equal((await call).code, -32051);
  assert.deepEqual((await hub.heard('$/cancelRequest')).params, { id: hub.messages[0].id });
  assert.equal((await fields({ timeoutMs: 0.1 }))[0]['Custom-Timeout-Ms'], '1');
  assert.equal((await fields({ timeoutMs: 1e10 }))[0]['Custom-Timeout-Ms'], '3600000');
  assert.equal((await fields({ timeoutMs: Infinity }))[0]['Custom-Timeout-Ms'], undefined);
  assert.equal((await fields({}))[0]['Custom-Timeout-Ms'], undefined);
  await close(one);
}));

test('a signal gives a call up', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('tcp'));
  const controller = new AbortController(), reached = gate(), told = gate();
  one.method('slow', (params, { signal }) => new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => { told.open(signal.reason); reject(signal.reason); });
    reached.open();
  }));
  const call = other.call('slow', { targetAgent: 'one' }, { signal: controller.signal });
  await within(reached.passed, 'the request');
  controller.abort();
  assert.equal((await failure(call)).name, 'AbortError');
  assert.equal((await within(told.passed, 'the cancel')).code, -32800);
  const reason = new Error('mine');
  assert.equal(await failure(other.call('slow', {}, { signal: AbortSignal.abort(reason) })), reason);
  await close(one, other);
}));

test('a frame over the hub\'s limit ends its call alone', () => having(Hub.start(['--max-frame', '64K']), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('tcp')), states = [];
  other.onState((state) => states.push(state));
  one.method('large', () => 'x'.repeat(70_000));
  await assertFails(other.call('large', { text: 'é'.repeat(40_000) }), -32055);
  await assertFails(other.notify('large', { text: 'x'.repeat(70_000) }), -32055);
  one.method('fails', () => { throw new Error('x'.repeat(70_000)); });
  one.method('tells', (params, request) => request.progress('x'.repeat(70_000)));
  for (const name of ['large', 'fails', 'tells']) {
    const { data } = await assertFails(other.call(name, { targetAgent: 'one' }, { onProgress: () => {} }), -32055, name);
    assert.deepEqual(data, { limit: 65536 });
  }
  assert.deepEqual(await other.call('hub/ping', { text: 'x'.repeat(60_000) }).then(({ text }) => text.length), 60_000);
  assert.deepEqual(states, []);
  await close(one, other);
}));

test('many calls at once are each answered with their own result', () => having(Hub.start(['--shards', '2']), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('tcp'));
  one.method('n', async ({ n }) => { if (n % 3 === 0) await null; return n; });
  const results = await Promise.all(Array.from({ length: 5000 }, (_, n) => other.call('n', { targetAgent: 'one', n })));
  assert.ok(results.every((result, n) => result === n));
  await close(one, other);
}));
