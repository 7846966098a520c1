// Where users are on: who gets in, by what, and what those try who want more than the users file gives them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { assertError, within } from './peer.mjs';
import { ALL, known, passed, refused, reload, tokenOf, usersText, withUsers } from './users.mjs';

// --- Getting in

const MANY = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`u${n}`, { call: [`a-${n}`, 'b-*'] }]));

withUsers('without a credential a connection may do nothing', { a: ALL }, {}, async (hub) => {
  const peer = await hub.peer();
  for (const [method, params] of [['hub/ping'], ['initialize', {}], ['agent/register', { agentId: 'x', capabilities: {} }],
    ['hub/subscribe', { events: ['*'] }], ['x/y', {}], ['event', { event: 'e' }]]) {
    assertError(await peer.ask(method, params), -32054, method);
  }
  passed(await peer.ask('initialize', { token: tokenOf('a') }));
  passed(await peer.ask('hub/ping'));
});

withUsers('a credential comes with initialize, or with agent/register as the agent secret', { a: ALL }, {}, async (hub) => {
  const peer = await hub.peer();
  await peer.register('x', {}, { agentSecret: tokenOf('a') });
  passed(await peer.ask('hub/ping'));
});

withUsers('a process is known by its user over a Unix socket', { a: { ...ALL, uid: process.getuid() } }, {}, async (hub) => {
  passed(await (await hub.peer('unix')).ask('hub/ping'));
  assertError(await (await hub.peer('tcp')).ask('hub/ping'), -32054);
});

withUsers('what a process says first bears its user, too', { a: { ...ALL, uid: process.getuid() } }, {}, async (hub) => {
  const agent = await known(hub, 'a');
  await agent.register('x', {});
  (await hub.peer('unix')).notify('work', { targetAgent: 'x' });
  assert.deepEqual((await agent.next()).fields.filter(([name]) => name === 'Patchbay-User'), [['Patchbay-User', 'a']]);
});

withUsers('before a credential a frame has 64 KiB at most', { a: ALL }, {}, async (hub) => {
  const peer = await hub.peer();
  peer.send(Buffer.alloc(64 * 1024 + 1, ' '));
  assertError((await peer.next()).json, -32055);
  await peer.gone();
  const friend = await known(hub, 'a');
  passed(await friend.ask('hub/ping', { text: 'x'.repeat(100000) }));
});

withUsers('a wrong credential waits longer each time, and nobody else waits', { a: ALL }, {}, async (hub) => {
  for (const least of [100, 200, 400]) {
    const guesser = await hub.peer();
    const from = performance.now();
    let over = false;
    const answer = guesser.ask('initialize', { token: 'pb_token-of-nobody' }).finally(() => (over = true));
    guesser.notify('hub/ping');
    const friend = await known(hub, 'a'); // from the same address
    if (least === 400) assert.ok(!over, 'a right credential waited behind a wrong one');
    friend.drop();
    refused(await answer, 'credential');
    const took = performance.now() - from;
    assert.ok(took >= least - 5, `it was told after ${took} ms`);
    await guesser.gone();
    assert.deepEqual(guesser.frames, [], 'nothing more is heard of it');
  }
});

withUsers('over HTTP each request bears its own', { a: ALL, boss: { ...ALL, admin: true } }, { transport: 'http' }, async (hub) => {
  const get = (path, authorization) =>
    fetch(hub.uri('http') + path, authorization ? { headers: { Authorization: authorization } } : {});
  const basic = (user) => `Basic ${Buffer.from(`anybody:${tokenOf(user)}`).toString('base64')}`;
  for (const path of ['/healthz', '/readyz']) assert.equal((await get(path)).status, 200);
  for (const path of ['/metrics', '/', '/events?pattern=x']) {
    const response = await get(path);
    assert.equal(response.status, 401, path);
    assert.match(response.headers.get('www-authenticate'), /^Basic /);
  }
  for (const path of ['/metrics', '/']) {
    assert.equal((await get(path, `Bearer ${tokenOf('a')}`)).status, 403, path);
    assert.equal((await get(path, `Bearer ${tokenOf('boss')}`)).status, 200, path);
    assert.equal((await get(path, basic('boss'))).status, 200, path);
  }
  assert.equal((await get('/metrics', 'Bearer pb_token-of-nobody')).status, 401);
  const post = (headers) => fetch(`${hub.uri('http')}/rpc`, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}',
    headers: { 'Content-Type': 'application/json', ...headers } });
  assert.equal((await post({ Authorization: basic('a') })).status, 200);
  assert.equal((await post({})).status, 401);
});

withUsers('events are streamed to who may subscribe to their patterns', { a: { subscribe: ['build-*'] } }, { transport: 'http' }, async (hub) => {
  const status = async (pattern) => {
    const stop = new AbortController();
    const response = await fetch(`${hub.uri('http')}/events?pattern=${pattern}`,
      { headers: { Authorization: `Bearer ${tokenOf('a')}` }, signal: stop.signal });
    stop.abort();
    return response.status;
  };
  assert.equal(await status('build-*'), 200);
  assert.equal(await status('other'), 403);
});

// --- Wanting more

withUsers('who is one user is never another', { a: ALL, b: { call: ['x'] } }, {}, async (hub) => {
  const peer = await known(hub, 'b');
  refused(await peer.ask('agent/register', { agentId: 'y', capabilities: {} }), 'register');
  refused(await peer.ask('initialize', { token: tokenOf('a') }), 'credential');
  refused(await peer.ask('agent/register', { agentId: 'y', capabilities: {}, agentSecret: tokenOf('a') }), 'credential');
  refused(await peer.ask('agent/register', { agentId: 'y', capabilities: {} }), 'register');
  passed(await peer.ask('initialize', { token: tokenOf('b') }));
});

withUsers('nobody speaks as an agent of another connection', { a: ALL, b: ALL }, {}, async (hub) => {
  const target = (await known(hub, 'a')).serve(() => 'done');
  await target.register('target');
  await (await known(hub, 'b')).register('mine');
  const peer = await known(hub, 'b');
  for (const sourceAgent of ['target', 'mine', 'nobody']) refused(await peer.ask('x', { targetAgent: 'target', sourceAgent }), 'sourceAgent');
  await peer.register('own');
  passed(await peer.ask('x', { targetAgent: 'target', sourceAgent: 'own' }));
});

withUsers('who may not call learns nothing of who is there', { a: ALL, b: { call: ['seen'] } }, {}, async (hub) => {
  await (await known(hub, 'a')).register('hidden', { secret: true, methods: ['secret/run'], tools: ['cut'] });
  const peer = await known(hub, 'b');
  for (const [there, absent] of [[{ targetAgent: 'hidden' }, { targetAgent: 'absent' }], [{ targetAgent: '@secret' }, { targetAgent: '@none' }]]) {
    const answers = [await peer.ask('x', there), await peer.ask('x', absent)];
    answers.forEach((answer) => refused(answer, 'call'));
    assert.equal(JSON.stringify(answers[0]).replace(/ask-\d+/, ''), JSON.stringify(answers[1]).replace(/ask-\d+/, ''));
  }
  assert.deepEqual((await peer.ask('hub/agents')).result.agents, []);
  assert.equal((await (await known(hub, 'a')).ask('hub/agents')).result.agents.length, 1);
});

withUsers('an agent that is denied by name is left out of its groups', { a: ALL, b: { call: ['@x', 'method:m'], 'deny-call': ['one'] } }, {}, async (hub) => {
  const answers = new Set();
  for (const name of ['one', 'two']) await (await known(hub, 'a')).serve(() => name).register(name, { x: true, methods: ['m'] });
  const peer = await known(hub, 'b');
  for (let count = 0; count < 6; count++) {
    answers.add((await peer.ask('y', { targetAgent: '@x' })).result);
    answers.add((await peer.ask('m', {})).result);
  }
  assert.deepEqual([...answers], ['two']);
});

withUsers('an agentId is taken over within its user alone', { a: ALL, b: ALL }, { options: ['--takeover'] }, async (hub) => {
  const holder = await known(hub, 'a');
  await holder.register('x');
  assertError(await (await known(hub, 'b')).ask('agent/register', { agentId: 'x', capabilities: {} }), -32053);
  await (await known(hub, 'a')).register('x');
  assert.equal((await holder.next()).json.method, 'hub/replaced');
});

withUsers('a cancel means a request of one\'s own', { a: ALL, b: ALL }, {}, async (hub) => {
  const target = await known(hub, 'a');
  await target.register('target');
  const asking = await known(hub, 'a');
  asking.send({ jsonrpc: '2.0', id: 'one', method: 'x', params: { targetAgent: 'target' } });
  const { id } = (await target.next()).json;
  for (const peer of [await known(hub, 'b'), await known(hub, 'a')]) {
    for (const guess of ['one', id]) peer.notify('$/cancelRequest', { id: guess });
    await peer.silent('a cancel of another\'s');
  }
  target.reply(id, 'done');
  assert.equal((await asking.next()).json.result, 'done');
});

withUsers('a frame says whose it is, and nobody else can', { a: ALL, b: ALL }, {}, async (hub) => {
  const target = await known(hub, 'a');
  await target.register('target');
  const peer = await known(hub, 'b');
  peer.notify('x', { targetAgent: 'target' }, 'patchbay-USER: a', 'Custom-Thing: kept');
  const { fields } = await target.next();
  assert.deepEqual(fields.filter(([name]) => /user|custom/i.test(name)).sort(), [['Custom-Thing', 'kept'], ['Patchbay-User', 'b']]);
});

// --- What changes

withUsers('at SIGHUP what is no longer allowed ends, and what was forwarded goes on', { a: ALL, b: ALL, c: ALL }, {}, async (hub) => {
  const a = await known(hub, 'a'), b = await known(hub, 'b'), c = await known(hub, 'c');
  await c.register('target');
  await b.register('agent');
  passed(await b.ask('hub/subscribe', { events: ['build-*', 'task'] }));
  b.send({ jsonrpc: '2.0', id: 'one', method: 'x', params: { targetAgent: 'target' } });
  const { id } = (await c.next()).json;
  await reload(hub, { b: { subscribe: ['task'] }, c: ALL });
  await a.gone();
  assert.equal((await b.next()).json.method, 'hub/replaced');
  c.reply(id, 'done');
  assert.equal((await b.next()).json.result, 'done');
  refused(await b.ask('x', { targetAgent: 'target' }), 'call');
  assert.equal((await c.ask('event', { event: 'build-1' })).result.delivered, 0);
  assert.equal((await c.ask('event', { event: 'task' })).result.delivered, 1);
  assertError(await c.ask('x', { targetAgent: 'agent' }), -32010);
});

withUsers('what a user asked whose credential is gone goes on, unheard', { a: ALL, c: ALL }, {}, async (hub) => {
  const a = await known(hub, 'a'), c = await known(hub, 'c');
  await c.register('target');
  a.send({ jsonrpc: '2.0', id: 1, method: 'x', params: { targetAgent: 'target' } });
  const { id } = (await c.next()).json;
  await reload(hub, { c: ALL });
  await a.gone();
  passed(await c.ask('hub/ping'));
  assert.deepEqual(c.frames, [], 'its target is told nothing');
  c.reply(id, 'done');
  passed(await c.ask('hub/ping'));
});

withUsers('a users file with a fault changes nothing, and its line is told', { a: ALL }, {}, async (hub) => {
  const a = await known(hub, 'a');
  await reload(hub, `${usersText({ a: {} })}call = not!a-name\n`);
  await a.register('x');
  assert.match(hub.stderr, /:3/);
  assert.doesNotMatch(hub.stderr, /not!a-name/);
});

// --- Limits

withUsers('a user\'s rate is over all of its connections, and costs nobody else', { a: { ...ALL, rate: '20/s' }, b: ALL }, {}, async (hub) => {
  const peers = [await known(hub, 'a'), await known(hub, 'a')], other = await known(hub, 'b');
  const answers = await Promise.all(peers.flatMap((peer) => Array.from({ length: 100 }, () => peer.ask('hub/ping'))));
  const over = answers.filter((answer) => answer.error);
  assert.ok(over.length > 0 && over.length < 200, `${over.length} of 200`);
  for (const answer of over) {
    const { data } = assertError(answer, -32052);
    assert.ok(Number.isInteger(data.retryAfterMs) && data.retryAfterMs > 0 && data.retryAfterMs <= 1000, JSON.stringify(data));
  }
  (await Promise.all(Array.from({ length: 100 }, () => other.ask('hub/ping')))).forEach(passed);
});

for (const shards of [1, 2]) {
  withUsers(`a second's worth comes at once, and no more, with ${shards} shard(s)`, { a: { ...ALL, rate: '1600/s' } }, { options: ['--shards', String(shards)] }, async (hub) => {
    const begin = performance.now(); // initialize has been paid off, or not
    const peer = await known(hub, 'a');
    const answers = await Promise.all(Array.from({ length: 6000 }, () => peer.ask('hub/ping')));
    const most = 1600 * (1 + (performance.now() - begin) / 1000), good = answers.filter((answer) => !answer.error).length;
    for (const answer of answers) if (answer.error) assertError(answer, -32052);
    assert.ok(good >= 1599 && good <= most, `${good} of ${most}`);
  });

  withUsers(`what is pending is exact, however it comes and goes, with ${shards} shard(s)`, { a: { ...ALL, pending: 100 }, b: ALL }, { options: ['--shards', String(shards)] }, async (hub) => {
    const target = await known(hub, 'b'), ids = [], answers = [], peers = [];
    await target.register('target');
    for (let count = 0; count < 4; count++) peers.push(await known(hub, 'a')); // which of them are on one shard isn't known
    const ask = (peer, count) => Array.from({ length: count }, () => peer.ask('x', { targetAgent: 'target' }));
    const taken = async (peer, count) => {
      answers.push(...ask(peer, count));
      for (let at = 0; at < count; at++) ids.push((await target.next()).json.id);
    };
    const full = async () => {
      for (const peer of peers) for (const answer of await Promise.all(ask(peer, 10))) assert.equal(assertError(answer, -32052).data.limit, 100);
    };
    const answered = async (count) => {
      for (const id of ids.splice(0, count)) target.reply(id);
      (await Promise.all(answers.splice(0, count))).forEach(passed);
    };
    for (let round = 0; round < 3; round++) {
      for (const peer of peers) await taken(peer, 25);
      await full();
      await answered(37);
      await taken(peers[3], 37);
      await full();
      await answered(100);
    }
  });
}

withUsers('connections and pending requests are counted over all of a user', { a: { ...ALL, connections: 2, pending: 1 }, b: ALL }, {}, async (hub) => {
  const target = await known(hub, 'b');
  await target.register('target');
  const [one, two] = [await known(hub, 'a'), await known(hub, 'a')];
  const third = await hub.peer();
  assertError(await third.ask('initialize', { token: tokenOf('a') }), -32052);
  one.send({ jsonrpc: '2.0', id: 'one', method: 'x', params: { targetAgent: 'target' } });
  const { id } = (await target.next()).json;
  assertError(await two.ask('x', { targetAgent: 'target' }), -32052);
  target.reply(id);
  assert.equal((await one.next()).json.id, 'one');
  target.serve(() => 'done');
  passed(await two.ask('x', { targetAgent: 'target' }));
});

withUsers('an event over its publisher\'s fan-out goes to nobody', { a: { ...ALL, fanout: '3/s' }, b: ALL }, {}, async (hub) => {
  const readers = [await known(hub, 'b'), await known(hub, 'b')];
  for (const reader of readers) passed(await reader.ask('hub/subscribe', { events: ['e'] }));
  const peer = await known(hub, 'a');
  const answers = await Promise.all(Array.from({ length: 10 }, () => peer.ask('event', { event: 'e' })));
  const over = answers.filter((answer) => answer.error);
  assert.ok(over.length > 0, JSON.stringify(answers));
  for (const answer of over) assert.ok(assertError(answer, -32052).data.retryAfterMs > 0);
  for (const reader of readers) {
    await reader.ask('hub/ping');
    assert.equal(reader.frames.filter((frame) => frame.json.method === 'event').length, 10 - over.length);
  }
});

withUsers('what an event will reach on other shards counts before it goes', { a: { ...ALL, fanout: '1/s' }, b: ALL }, { options: ['--shards', '2'] }, async (hub) => {
  const readers = [];
  for (const pattern of ['e', '*', 'e*', 'e', 'ee*', 'e', 'e', 'f']) {
    readers.push(await known(hub, 'b'));
    passed(await readers.at(-1).ask('hub/subscribe', { events: [pattern] }));
  }
  const peer = await known(hub, 'a');
  peer.send(Array.from({ length: 20 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'event', params: { event: 'e' } })));
  const [first, ...others] = (await peer.next()).json.sort((one, other) => one.id - other.id);
  assert.deepEqual(first.result, { delivered: 6 });
  for (const answer of others) {
    const { data } = assertError(answer, -32052);
    assert.ok(data.retryAfterMs > 1000 && data.retryAfterMs <= 6000, JSON.stringify(data));
  }
});

withUsers('a notification for all who name it counts against the fan-out as an event does', { a: { ...ALL, fanout: '1/s' }, b: ALL }, {}, async (hub) => {
  const readers = [];
  for (const agentId of ['one', 'two', 'three']) {
    readers.push(await known(hub, 'b'));
    await readers.at(-1).register(agentId, { events: [{ name: 'told' }] });
  }
  const peer = await known(hub, 'a');
  for (let count = 0; count < 5; count++) peer.notify('told', { count });
  passed(await peer.ask('hub/ping'));
  for (const reader of readers) {
    await reader.ask('hub/ping');
    assert.deepEqual(reader.frames.map((frame) => frame.json.params.count), [0]);
  }
});

// --- Ten refusals a second have a line each

withUsers('refusals are in the journal, with the user', { a: {} }, {}, async (hub) => {
  const peer = await known(hub, 'a');
  for (let count = 0; count < 3; count++) refused(await peer.ask('x', { targetAgent: 'y' }), 'call');
  const lines = await within((async () => {
    for (;;) {
      const text = readFileSync(hub.journal, 'utf8').trim();
      if (text.split('\n').length >= 3) return text.split('\n').map((line) => JSON.parse(line));
      await peer.ask('hub/ping');
    }
  })(), 'three lines of the journal');
  for (const line of lines) assert.equal(line.source.user, 'a', JSON.stringify(line));
});

// The refusals end in another second than they began in, wherever the hub's seconds begin.
withUsers('the last refusals without a line are told, though no other comes', { a: {} }, {}, async (hub) => {
  const peer = await known(hub, 'a');
  let count = 0;
  for (const end = Date.now() + 900; Date.now() < end; count++) refused(await peer.ask('x', { targetAgent: 'y' }), 'call');
  const told = () => readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)).reduce((sum, line) => sum + (line.kind === 'refusals' ? line.count : 1), 0);
  await within((async () => {
    while (told() < count) await peer.ask('hub/ping');
  })(), 'the number of the rest');
  assert.equal(told(), count);
});

withUsers('a request of HTTP that is refused is in the journal with its path', { a: {} }, { transport: 'http' }, async (hub) => {
  const paths = ['/metrics', '/', '/events'];
  for (const path of paths)
    assert.equal((await fetch(`${hub.uri('http')}${path}?pattern=x`, { headers: { Authorization: `Bearer ${tokenOf('a')}` } })).status, 403, path);
  const peer = await known(hub, 'a');
  const lines = await within((async () => {
    for (;;) {
      const found = readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
      if (found.length >= paths.length) return found;
      await peer.ask('hub/ping');
    }
  })(), 'the lines of the journal');
  assert.deepEqual(lines.map(({ kind, target, method, rule }) => [kind, target, method, rule]),
    [['refusal', null, '/metrics', 'admin'], ['refusal', null, '/', 'admin'], ['refusal', null, '/events', 'subscribe']]);
});

withUsers('a users file that is read again and again takes its memory once', MANY, { options: ['--shards', '2'] }, async (hub) => {
  const about = (what) => readFileSync(`/proc/${hub.process.pid}/${what}`, 'latin1');
  const resident = () => (/lib[at]san/.test(about('maps')) ? 0 : Number(/VmRSS:\s+(\d+)/.exec(about('status'))[1]) << 10);
  const peer = await known(hub, 'u0', 'tcp');
  for (let n = 0; n < 10; n++) await reload(hub, MANY);
  const before = resident();
  for (let n = 0; n < 100; n++) await reload(hub, MANY);
  assert.ok(resident() - before < 12 << 20, `${resident() - before} bytes more are resident`);
  passed(await peer.ask('hub/ping'));
});
