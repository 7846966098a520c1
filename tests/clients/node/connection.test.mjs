// A connection that is lost, and what a client makes of it: hubs that are killed, come back, drain, stand still and refuse.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { ConnectionLost, HubError, LastingHub, PlayedHub, agent, assertFails, client, close, failure, gate, having, pause, statesOf, until, within } from './kit.mjs';
import { ALL, directoryOfUsers, tokenOf, usersText } from '../../e2e/users.mjs';

const lasting = (run, options) => having(LastingHub.start(options), run);

test('what was in flight ends with ConnectionLost, and handlers are cancelled', () => lasting(async (hub) => {
  const one = await agent(hub.uri, 'one'), other = await client(hub.uri), { open, passed } = gate(), told = gate();
  one.method('work', async (params, { signal }) => {
    signal.addEventListener('abort', () => told.open(signal.reason));
    await passed;
    return 'late';
  });
  let count = 0;
  one.method('never', () => { count++; return new Promise(() => {}); });
  const ends = [other.call('work', { targetAgent: 'one' }), other.call('never', { targetAgent: 'one' }, { timeoutMs: 60_000 })].map((call) => failure(call));
  await until('both run', () => count === 1);
  const states = statesOf(other), details = [];
  other.onState((state, detail) => details.push(detail));
  await hub.kill();
  for (const error of await Promise.all(ends)) {
    assert.ok(error instanceof ConnectionLost && error instanceof HubError);
    assert.equal(error.code, -32050);
  }
  assert.ok(await within(told.passed, 'the signal') instanceof ConnectionLost);
  await hub.restart();
  await until('it is back', () => states.includes('connected'));
  assert.deepEqual(states, ['lost', 'connected']);
  assert.ok(details[0].error instanceof ConnectionLost);
  open(); // whose answer would belong to the connection before
  assert.deepEqual(await other.call('hub/ping', { a: 1 }), { a: 1 });
  await close(one, other);
}));

test('registrations and subscriptions are made again, first of all', () => having(PlayedHub.start(({ method }) => (method === 'event' ? { delivered: 0 } : {})), async (hub) => {
  const one = await agent(hub.uri, 'first', { capabilities: { methods: ['m'] }, governanceLevel: 'manual' }), states = statesOf(one);
  await one.register('second', { capabilities: ['x'], version: '1.2.0' });
  await one.register('first', { capabilities: { methods: ['n'] } });
  const events = one.events('build-*'), gone = one.events('gone');
  await gone.return();
  await one.call('hub/ping');
  const before = hub.messages.splice(0);
  const controller = new AbortController(), waits = [];
  one.onState((state) => {
    if (state !== 'lost') return;
    waits.push(one.call('early', { n: 1 }), one.notify('note', { n: 2 }), one.publish('done'), failure(one.call('given-up', {}, { signal: controller.signal })));
    controller.abort();
  });
  hub.peer.drop();
  await until('it is back', () => states.includes('connected'));
  await within(Promise.all(waits), 'what waited');
  assert.ok(!hub.messages.some(({ method }) => method === 'given-up' || method === '$/cancelRequest'));
  const said = hub.messages.map(({ method, params }) => [method, params.agentId ?? params.events ?? params.n ?? params.event]);
  assert.deepEqual(said.slice(0, 4), [['initialize', 'patchbay-client'], ['agent/register', 'first'], ['agent/register', 'second'], ['hub/subscribe', ['build-*']]]);
  assert.deepEqual(said.filter(([method]) => ['early', 'note', 'event'].includes(method)), [['early', 1], ['note', 2], ['event', 'done']]);
  assert.deepEqual(hub.messages[1].params, { agentId: 'first', capabilities: { methods: ['n'] }, governanceLevel: 'autonomous' });
  assert.deepEqual(hub.messages[2].params, before.find(({ params }) => params.agentId === 'second').params);
  assert.ok(hub.messages.every(({ id }) => id === undefined || !before.some((old) => old.id === id)), 'no id is used again');
  await events.return();
  await close(one);
}));

test('nothing is sent twice', () => having(PlayedHub.start((message) => (message.method === 'm' ? undefined : {})), async (hub) => {
  const one = await client(hub.uri), call = one.call('m');
  await hub.heard('m');
  hub.peer.drop();
  await assertFails(call, -32050);
  await one.call('hub/ping');
  assert.equal(hub.messages.filter(({ method }) => method === 'm').length, 1);
  await close(one);
}));

test('the pauses: at once, 0.1 s doubling to 5 s, less up to a quarter, anew once the hub has answered', () => {
  let refusing = false;
  return having(PlayedHub.start((message, peer) => {
    if (!refusing) return {};
    peer.drop();
    return undefined;
  }), async (hub) => {
    const one = await client(hub.uri), states = statesOf(one);
    for (let round = 0; round < 2; round++) {
      hub.connections.splice(0, hub.connections.length - 1);
      refusing = true;
      const lost = performance.now();
      hub.peer.drop();
      await until('it has tried five times', () => hub.connections.length === 6);
      const times = [lost, ...hub.connections.slice(1).map(({ came }) => came)], gaps = times.slice(1).map((time, at) => time - times[at]);
      assert.ok(gaps[0] < 70, `at once: ${gaps}`);
      for (const [at, nominal] of [100, 200, 400, 800].entries()) {
        assert.ok(gaps[at + 1] >= 0.75 * nominal - 2 && gaps[at + 1] < nominal + 150, `${gaps}`);
      }
      refusing = false;
      await until('it is back', () => states.length === 2 * (round + 1));
    }
    assert.deepEqual(states, ['lost', 'connected', 'lost', 'connected']);
    await close(one);
  });
});

test('a hub that accepts and stands still is given up, and calls keep to their time', () => lasting(async (hub) => {
  const one = await client(hub.uri);
  hub.signal('SIGSTOP');
  const begin = performance.now();
  await assertFails(one.call('hub/ping', {}, { timeoutMs: 200 }), -32051);
  assert.ok(performance.now() - begin < 3000);
  const waits = one.call('hub/ping', { a: 1 });
  hub.signal('SIGCONT');
  assert.deepEqual(await within(waits, 'the answer'), { a: 1 });
  hub.signal('SIGSTOP');
  const closing = performance.now();
  await close(one);
  assert.ok(performance.now() - closing < 4000, 'close waits for no hub that stands still');
  hub.signal('SIGCONT');
}));

test('connect doesn\'t wait for ever', { timeout: 20_000 }, () => having(PlayedHub.start(() => undefined), async (hub) => {
  const begin = performance.now();
  assert.match((await failure(client(hub.uri))).message, /does not answer/);
  assert.ok(performance.now() - begin < 12_000);
}));

test('a hub that drains answers what is pending, and is waited for', () => lasting(async (hub) => {
  const one = await agent(hub.uri, 'one'), other = await client(hub.uri), states = statesOf(other), reached = gate(), { open, passed } = gate();
  one.method('work', async () => { reached.open(); await passed; return 'done'; });
  const call = other.call('work', { targetAgent: 'one' });
  await within(reached.passed, 'the request');
  hub.signal('SIGTERM');
  await until('it drains', async () => (await failure(other.request('one', 'none'))).code === -32052);
  open();
  assert.equal(await call, 'done');
  await hub.hub.ended();
  await until('it is lost', () => states.includes('lost'));
  const waits = other.call('hub/ping', { a: 1 });
  await hub.restart();
  assert.deepEqual(await within(waits, 'the answer'), { a: 1 });
  assert.equal(await until('both are back', () => other.call('work', { targetAgent: 'one' }).catch(() => undefined)), 'done');
  assert.deepEqual(states, ['lost', 'connected']);
  await close(one, other);
}));

test('a name that is held is asked for again, with pauses', () => {
  let taken = 3;
  const asked = [];
  return having(PlayedHub.start((message, peer) => {
    if (message.method !== 'agent/register' || hub_is_first(peer)) return {};
    asked.push(performance.now());
    if (taken-- <= 0) return { agentId: 'one', registered: true };
    peer.send({ jsonrpc: '2.0', id: message.id, error: { code: -32053, message: 'agentId taken' } });
    return undefined;
  }), async (hub) => {
    first = undefined;
    const one = await agent(hub.uri, 'one'), states = statesOf(one);
    hub.peer.drop();
    await until('it is back', () => states.includes('connected'));
    await one.request('x', 'before');
    await until('it has the name', () => asked.length === 4);
    await one.call('hub/ping'); // whose answer is behind the name's
    await one.request('x', 'after');
    const gaps = asked.slice(1).map((time, at) => time - asked[at]);
    for (const [at, nominal] of [100, 200, 400].entries()) assert.ok(gaps[at] >= 0.75 * nominal - 2 && gaps[at] < nominal + 150, `${gaps}`);
    const sources = hub.messages.filter(({ method }) => method === 'agent/request').map(({ params }) => params.sourceAgent);
    assert.deepEqual(sources, [undefined, 'one'], 'a name that isn\'t held is not claimed');
    await close(one);
  });
});
let first;
function hub_is_first(peer) {
  first ??= peer;
  return peer === first;
}

test('who comes back gets its name from one who leaves it', () => lasting(async (hub) => {
  const one = await agent(hub.uri, 'one'), thief = await client(hub.uri), states = statesOf(one);
  one.method('m', () => 'mine');
  const lost = new Promise((resolve) => thief.onState(resolve));
  await hub.kill();
  await within(lost, 'the loss');
  const stealing = thief.register('one'); // waits for the hub, as the other does
  await hub.restart();
  await within(stealing.catch((error) => assert.equal(error.code, -32053)), 'the thief');
  await close(thief);
  assert.equal(await until('it has its name', () => one.call('m', { targetAgent: 'one' }, { timeoutMs: 1000 }).catch(() => undefined)), 'mine');
  await close(one);
}));

test('replaced: the name is another\'s, and isn\'t registered again', () => lasting(async (hub) => {
  const one = await agent(hub.uri, 'one'), details = [];
  await one.register('kept');
  one.onState((state, detail) => details.push([state, detail.agentId]));
  const other = await agent(hub.uri, 'one');
  await until('it is told', () => details.length === 1);
  assert.deepEqual(details, [['replaced', 'one']]);
  other.task('t', ({ sourceAgent }) => sourceAgent);
  assert.equal(await one.request('one', 't'), 'kept');
  await close(other);
  await hub.kill();
  await hub.restart();
  await until('it is back', () => details.length === 3);
  const { agents } = await one.call('hub/agents');
  assert.deepEqual(agents.map(({ agentId }) => agentId), ['kept']);
  await close(one);
}, ['--takeover']));

test('a name that is given back isn\'t registered again', () => having(PlayedHub.start(), async (hub) => {
  const one = await agent(hub.uri, 'one'), states = statesOf(one);
  await one.register('two');
  await one.unregister('one');
  await one.request('x', 't');
  assert.equal((await hub.heard('agent/request')).params.sourceAgent, 'two');
  hub.messages.length = 0;
  hub.peer.drop();
  await until('it is back', () => states.includes('connected'));
  assert.deepEqual(hub.messages.filter(({ method }) => method === 'agent/register').map(({ params }) => params.agentId), ['two']);
  await close(one);
}));

test('refused: a credential that is wrong is not tried again, and calls end with the hub\'s error', async () => {
  const file = `${directoryOfUsers}/clients.ini`, journal = `${directoryOfUsers}/clients.journal`;
  writeFileSync(file, usersText({ ann: ALL, bob: ALL }));
  await lasting(async (hub) => {
    const wrong = await failure(client(hub.uri, { token: 'pb_wrong-one' }));
    assert.ok(wrong instanceof HubError);
    assert.equal(wrong.code, -32001);
    assert.equal((await failure(client(hub.uri))).code, -32054);
    const one = await client(hub.uri, { token: tokenOf('ann') }), states = statesOf(one), iterator = one.events('x'), next = iterator.next();
    next.catch(() => {});
    assert.deepEqual(await one.call('hub/ping', { a: 1 }), { a: 1 });
    writeFileSync(file, usersText({ bob: ALL }));
    hub.signal('SIGHUP');
    await until('it is refused', () => states.includes('refused'));
    assert.deepEqual(states, ['lost', 'refused']);
    for (const call of [one.call('hub/ping'), one.notify('m'), one.register('a'), one.publish('x'), next]) {
      const error = await failure(call);
      assert.ok(error instanceof HubError && !(error instanceof ConnectionLost));
      assert.equal(error.code, -32001);
    }
    await pause(300);
    assert.deepEqual(states, ['lost', 'refused']);
    await close(one);
  }, ['--users', file, '--audit', journal]);
  rmSync(file);
});

for (const code of [-32001, -32054, -32602]) test(`calls that wait for a connection end with the refusal ${code}`, () => {
  let refusing = false;
  return having(PlayedHub.start((message, peer) => {
    if (!refusing || message.method !== 'initialize') return {};
    setTimeout(() => peer.send({ jsonrpc: '2.0', id: message.id, error: { code, message: 'no' } }), 50);
    return undefined;
  }), async (hub) => {
    const one = await client(hub.uri);
    refusing = true;
    hub.peer.drop();
    await until('it is lost', () => hub.connections.length === 2);
    await assertFails(one.call('m'), code);
    await pause(300);
    assert.equal(hub.connections.length, 2);
    await close(one);
  });
});

test('whoever listens to states may end that, and may throw', () => having(PlayedHub.start(), async (hub) => {
  const faults = [], one = await client(hub.uri, { onError: (error) => faults.push(error.message) }), seen = [], errors = statesOf(one);
  const stop = one.onState((state) => seen.push(state));
  one.onState(() => { throw new Error('a listener'); });
  one.onState(async () => { throw new Error('an asynchronous listener'); });
  hub.peer.drop();
  await until('it is back', () => errors.length === 2);
  stop();
  hub.peer.drop();
  await until('it is back again', () => errors.length === 4);
  assert.deepEqual(seen, ['lost', 'connected']);
  assert.deepEqual(faults.sort(), [...Array(4).fill('a listener'), ...Array(4).fill('an asynchronous listener')]);
  await close(one);
}));
