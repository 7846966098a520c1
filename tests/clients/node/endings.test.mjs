// Nothing is left when a client has ended, or when its hub was killed a hundred times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thoroughly } from '../../e2e/hub.mjs';
import { ConnectionLost, Hub, LastingHub, PlayedHub, agent, assertFails, client, close, failure, gate, having, pause, statesOf, until, within } from './kit.mjs';

// The resources that keep this process awake, but for the hubs and the tests themselves.
const awake = () => process.getActiveResourcesInfo().filter((name) => /TCP|Pipe|TLS|Timeout|Immediate/.test(name)).sort();

test('close unregisters, and ends calls', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await agent(hub.uri('tcp'), 'other');
  const never = gate();
  other.method('never', () => never.passed);
  const call = failure(one.call('never', { targetAgent: 'other' }));
  await one.call('hub/ping');
  const first = one.close(), begin = performance.now();
  assert.equal(await within(Promise.all([first, one.close()]), 'both').then(() => true), true);
  assert.ok(performance.now() - begin < 900, 'what is given up is owed no more, so that the hub ends at once');
  const error = await call;
  assert.ok(error instanceof ConnectionLost);
  const { agents } = await other.call('hub/agents');
  assert.deepEqual(agents.map(({ agentId }) => agentId), ['other']);
  for (const late of [one.call('m'), one.notify('m'), one.register('x'), one.publish('x')]) assert.ok(await failure(late) instanceof ConnectionLost);
  assert.deepEqual(await one.events('x').next(), { value: undefined, done: true });
  never.open();
  await close(other);
}));

test('close says agent/unregister for each agent, and waits for handlers', () => having(PlayedHub.start(), async (hub) => {
  const one = await agent(hub.uri, 'one'), { open, passed } = gate(), runs = gate();
  await one.register('two');
  one.method('work', async () => { runs.open(); await passed; return 'done'; });
  hub.peer.send({ jsonrpc: '2.0', id: 'w', method: 'work' });
  await within(runs.passed, 'the handler');
  const closing = one.close();
  await until('both are unregistered', () => hub.messages.filter(({ method }) => method === 'agent/unregister').length === 2);
  await pause(50);
  open();
  await until('it is answered', () => hub.messages.some(({ id, result }) => id === 'w' && result === 'done'));
  hub.peer.socket.on('end', () => hub.peer.socket.end());
  await within(closing, 'close');
}));

test('close cancels handlers after 5 s', { timeout: 30_000 }, () => having(PlayedHub.start(), async (hub) => {
  const one = await agent(hub.uri, 'one', {}, { concurrency: 1 }), signals = [];
  one.method('work', (params, { signal }) => { signals.push(signal); return new Promise(() => {}); });
  for (const id of ['runs', 'waits']) hub.peer.send({ jsonrpc: '2.0', id, method: 'work' });
  await until('it runs', () => signals.length === 1);
  const begin = performance.now(), closing = one.close();
  for (const id of ['runs', 'waits']) {
    const { error } = await until(`${id} is answered`, () => hub.messages.find((message) => message.id === id));
    assert.equal(error.code, -32800);
  }
  const ms = performance.now() - begin;
  assert.ok(ms > 4900 && ms < 7000, `${ms}`);
  assert.equal(signals[0].aborted, true);
  await within(closing, 'close');
}));

test('close while there is no connection, and while one is being made', () => having(PlayedHub.start(), async (hub) => {
  const before = awake();
  for (const wait of [0, 20, 150]) {
    const one = await client(hub.uri), states = statesOf(one);
    hub.answer = (message, peer) => { peer.drop(); };
    hub.peer.drop();
    await until('it is lost', () => states.includes('lost'));
    await pause(wait);
    const call = failure(one.call('m', {}, { timeoutMs: 60_000 }));
    await close(one);
    assert.ok(await call instanceof ConnectionLost);
    hub.answer = () => ({});
  }
  const count = hub.connections.length;
  await pause(300);
  assert.equal(hub.connections.length, count, 'nobody comes any more');
  await until('nothing is left', () => awake().length <= before.length);
}));

test('close while a hub that has greeted answers nothing more, which is given up by itself, too', { timeout: 60_000 }, () => having(PlayedHub.start(), async (hub) => {
  const one = await agent(hub.uri, 'one'), states = statesOf(one);
  hub.answer = ({ method }) => (method === 'initialize' ? {} : undefined);
  hub.messages.length = 0;
  hub.peer.drop();
  await hub.heard('agent/register');
  const given = hub.peer;
  await until('it is given up', () => given.closed);
  await until('the next one is greeted', () => hub.messages.filter(({ method }) => method === 'agent/register').length === 2);
  assert.deepEqual(states, ['lost']);
  const begin = performance.now();
  await close(one);
  assert.ok(performance.now() - begin < 3000);
  await until('the connection has ended', () => hub.peer.closed);
}));

test('a signal has no listener left', () => having(Hub.start(), async (hub) => {
  const one = await client(hub.uri('tcp')), counts = { add: 0, remove: 0 }, { signal } = new AbortController();
  for (const how of Object.keys(counts)) {
    const real = signal[`${how}EventListener`].bind(signal);
    signal[`${how}EventListener`] = (...all) => { counts[how]++; real(...all); };
  }
  await one.call('hub/ping', {}, { signal });
  await failure(one.call('none', {}, { signal }));
  await failure(one.request('nobody', 't', { signal, timeoutMs: 1000 }));
  const last = failure(one.call('hub/ping', {}, { signal }));
  await Promise.race([last, close(one)]);
  assert.deepEqual(counts, { add: 4, remove: 4 });
}).catch((error) => { if (!/ended with/.test(error.message)) throw error; }));

const ROUNDS = thoroughly ? 100 : 30;

test(`a hub that is killed ${ROUNDS} times under load: each call ends once, nothing is left`, { timeout: 280_000 }, () => having(LastingHub.start(), async (hub) => {
  const before = awake();
  const one = await agent(hub.uri, 'one'), other = await agent(hub.uri, 'other'), events = other.events('*');
  const counts = { begun: 0, results: 0, lost: 0, hub: 0 }, running = new Set(), controller = new AbortController();
  let over = false, twice = 0, signals = 0;
  one.method('work', async ({ n }, { signal }) => {
    running.add(n);
    signal.addEventListener('abort', () => { signals++; });
    await pause(n % 7 || 30); // so that some run whenever the hub is killed
    running.delete(n);
    return n;
  });
  const load = Array.from({ length: 32 }, async () => {
    while (!over) {
      const n = counts.begun++;
      let ends = 0;
      const options = { timeoutMs: 30_000, ...(n % 3 === 0 ? { signal: controller.signal } : {}), ...(n % 5 === 0 ? { onProgress() {} } : {}) };
      await other.call('work', { targetAgent: 'one', n }, options).then(
        (result) => { ends++; assert.equal(result, n); counts.results++; },
        (error) => { ends++; counts[error instanceof ConnectionLost ? 'lost' : 'hub']++; assert.ok([-32050, -32010].includes(error.code), error.stack); },
      );
      if (ends !== 1) twice++;
    }
  });
  const drained = (async () => { for await (const event of events) assert.ok(event); })();
  for (let round = 0; round < ROUNDS; round++) {
    const { results } = counts;
    await until('there is load', () => counts.results > results + 5);
    await hub.kill();
    await hub.restart();
  }
  over = true;
  await within(Promise.all(load), 'the last calls');
  assert.equal(counts.results + counts.lost + counts.hub, counts.begun);
  assert.equal(twice, 0);
  assert.ok(counts.lost > ROUNDS, JSON.stringify(counts));
  assert.ok(signals > 0);
  await until('no handler runs', () => running.size === 0);
  await close(one, other);
  await within(drained, 'the events to end');
  await until('nothing is left', () => awake().length <= before.length);
  assert.equal(awake().join(), before.join());
}));

test('a process that has closed its client ends', () => having(Hub.start(), async (hub) => {
  const { spawn } = await import('node:child_process');
  const index = new URL('../../../tools/clients/node/index.js', import.meta.url);
  const code = `const { connect } = await import(${JSON.stringify(index.href)});
    const hub = await connect(); hub.method('m', () => 1); await hub.register('a'); const events = hub.events('x');
    await hub.call('m', { targetAgent: 'a' }, { timeoutMs: 3600000, signal: new AbortController().signal }); await hub.close(); console.log('closed')`;
  const program = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PATCHBAY_HUB: hub.uri('tcp') } });
  let said = '';
  program.stdout.setEncoding('utf8').on('data', (text) => { said += text; });
  assert.equal(await within(new Promise((resolve) => program.on('close', resolve)), 'the process to end', 10_000), 0);
  assert.equal(said, 'closed\n');
}));
