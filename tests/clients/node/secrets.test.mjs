// A token shows nowhere: not in what a client looks like, not in an exception, not in what is written.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { PlayedHub, agent, client, close, failure, having, statesOf, until, within } from './kit.mjs';

const TOKEN = 'pb_a-token-that-nobody-may-see';
const shown = (value) => [inspect(value, { depth: Infinity, showHidden: true, getters: true }), String(value), JSON.stringify(value) ?? '', value?.stack ?? ''].join('\n');
const assertHidden = (...values) => { for (const value of values) assert.ok(!shown(value).includes(TOKEN), shown(value)); };

test('the token goes to the hub, and is seen nowhere else', () => {
  let refusing = false;
  return having(PlayedHub.start((message, peer) => {
    if (!refusing || message.method !== 'initialize') return {};
    // A hub that says back what it was told.
    peer.send({ jsonrpc: '2.0', id: message.id, error: { code: -32001, message: `no user has ${TOKEN}`, data: { deep: [{ token: message.params.token }] } } });
    return undefined;
  }), async (hub) => {
    const one = await agent(hub.uri, 'one', {}, { token: TOKEN }), states = statesOf(one), events = one.events('x'), call = one.call('hub/ping');
    assert.equal(hub.messages[0].params.token, TOKEN);
    assertHidden(one, events, call, one.onState(() => {}));
    await call;
    refusing = true;
    hub.peer.drop();
    await until('it is refused', () => states.includes('refused'));
    assertHidden(await failure(one.call('m')), await failure(events.next()), one);
    assertHidden(await failure(client(hub.uri, { token: TOKEN })));
    await close(one);
  });
});

test('the token is in no cause of a loss', () => having(PlayedHub.start(), async (hub) => {
  const complain = (peer) => {
    peer.send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: `what is ${TOKEN}`, data: TOKEN } });
    peer.drop();
  };
  const one = await client(hub.uri, { token: TOKEN }), call = failure(one.call('slow'));
  hub.answer = (message, peer) => { complain(peer); };
  assertHidden(await call);
  assertHidden(await failure(client(hub.uri, { token: TOKEN })));
  await close(one);
}));

test('a token that JSON writes in another way is seen nowhere, too', () => having(PlayedHub.start((message, peer) => {
  peer.send({ jsonrpc: '2.0', id: message.id, error: { code: -32001, message: `no user has ${message.params.token}` } });
}), async (hub) => {
  const error = await failure(client(hub.uri, { token: 'pb_"quoted\\token' }));
  assert.equal(error.code, -32001);
  assert.ok(!error.message.includes('quoted'), error.message);
}));

test('no exception of connect has it', async () => {
  const hub = await PlayedHub.start(), { uri } = hub;
  await hub.stop();
  for (const [where, how] of [[uri, {}], [`${TOKEN}`, {}], [`tcp://${TOKEN}@127.0.0.1:1`, {}], [`ws://127.0.0.1:1/#${TOKEN}`, {}], [uri, { concurrency: 0 }], [uri, { governanceLevel: 'x' }], ['tls://127.0.0.1:1', { tlsCa: '/nowhere' }]]) {
    assertHidden(await failure(client(where, { token: TOKEN, ...how })));
  }
  assertHidden(await failure(client(uri, { token: { TOKEN } })));
});

test('PATCHBAY_TOKEN is the default, and a process writes it nowhere', () => having(PlayedHub.start(), async (hub) => {
  const index = new URL('../../../tools/clients/node/index.js', import.meta.url);
  const code = `import { inspect } from 'node:util'; import { connect } from ${JSON.stringify(index.href)};
    const hub = await connect(); hub.method('m', () => { throw new Error('x'); }); hub.onState(console.log);
    console.log(inspect(hub, { depth: 99, showHidden: true })); hub.method('end', () => { hub.close(); }); await hub.register('a');`;
  const program = spawn(process.execPath, ['--input-type=module', '-e', code], { env: { ...process.env, PATCHBAY_HUB: hub.uri, PATCHBAY_TOKEN: TOKEN, NODE_DEBUG: '' } });
  let said = '';
  for (const stream of [program.stdout, program.stderr]) stream.setEncoding('utf8').on('data', (text) => { said += text; });
  await hub.heard('agent/register');
  assert.equal(hub.messages[0].params.token, TOKEN);
  hub.peer.notify('m', {});
  hub.peer.notify('end', {});
  hub.peer.socket.on('end', () => hub.peer.socket.end());
  await within(new Promise((resolve) => program.on('close', resolve)), 'the process to end');
  assert.match(said, /Error: x/);
  assert.ok(!said.includes(TOKEN), said);
}));
