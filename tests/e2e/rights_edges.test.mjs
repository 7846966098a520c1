// Edges of users' rights: credentials at odd times and places, and rights that a reload gives and takes. Also limits on
// messages that are never refused, and files with which no hub starts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Hub } from './hub.mjs';
import { assertError, within } from './peer.mjs';
import { ALL, directoryOfUsers, known, passed, refused, reload, tokenOf, usersText, withUsers } from './users.mjs';
import { chunk, Client, request, rpc } from './web.mjs';
import { CLOSE, closed, TEXT, upgraded, wsFrame } from './websocket.mjs';

const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}';
const isClose = (frame) => frame.opcode === CLOSE;

// --- Credentials

withUsers('what is said without a credential is heard by nobody', { a: ALL }, {}, async (hub) => {
  const target = await known(hub, 'a');
  await target.register('target');
  passed(await target.ask('hub/subscribe', { events: ['*'] }));
  const peer = await hub.peer();
  peer.notify('x', { targetAgent: 'target' });
  peer.notify('event', { event: 'e' });
  peer.send({ jsonrpc: '2.0', id: 1, result: null });
  peer.send([{ jsonrpc: '2.0', id: 1, method: 'x', params: { targetAgent: 'target' } }, { jsonrpc: '2.0', method: 'x', params: { targetAgent: 'target' } }]);
  const [answer] = (await peer.next()).json;
  assertError(answer, -32054);
  await target.silent('what nobody in particular said');
});

withUsers('a credential in an array is one, for what stands behind it', { a: ALL }, {}, async (hub) => {
  const peer = await hub.peer();
  peer.send([
    { jsonrpc: '2.0', id: 1, method: 'hub/ping' },
    { jsonrpc: '2.0', id: 2, method: 'initialize', params: { token: tokenOf('a') } },
    { jsonrpc: '2.0', id: 3, method: 'hub/ping' }]);
  const answers = (await peer.next()).json.sort((one, other) => one.id - other.id);
  assertError(answers[0], -32054);
  passed(answers[1]);
  passed(answers[2]);
});

for (const shards of [1, 2]) {
  withUsers(`at --max-connections many at once without a credential keep nobody out who has one (--shards ${shards})`, { a: ALL },
    { options: ['--max-connections', '8', '--shards', String(shards)] }, async (hub) => {
      const crowd = await Promise.all(Array.from({ length: 60 }, () => hub.peer()));
      const peer = await hub.peer();
      passed(await peer.ask('initialize', { token: tokenOf('a') }));
      await crowd[0].gone();
      passed(await peer.ask('hub/ping'));
    });
}

withUsers('a token is a string that stands once, unescaped', { a: ALL }, {}, async (hub) => {
  for (const text of [`"token":"x","token":"${tokenOf('a')}"`, `"\\u0074oken":"${tokenOf('a')}"`]) {
    const peer = await hub.peer();
    peer.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{${text}}}`);
    assertError((await peer.next()).json, -32600);
    assertError(await peer.ask('hub/ping'), -32054);
  }
  for (const token of [7, ['x'], {}]) refused(await (await hub.peer()).ask('initialize', { token }), 'credential');
});

withUsers('over HTTP a credential counts for its request alone', { a: ALL }, { transport: 'http' }, async (hub) => {
  const client = await Client.open(hub);
  const ping = { jsonrpc: '2.0', id: 1, method: 'hub/ping' }, bearer = `Authorization: Bearer ${tokenOf('a')}`;
  assert.equal((await client.send(rpc(ping, bearer))).status, 200);
  assert.equal((await client.send(rpc(ping))).status, 401);
  const again = await Client.open(hub);
  assert.equal((await again.send(rpc(ping, bearer))).status, 200);
  const wrong = await again.send(rpc(ping, 'Authorization: Bearer pb_token-of-nobody'));
  assert.equal(wrong.status, 401);
  await again.gone();
  const other = await Client.open(hub);
  assert.equal((await other.send(request('GET /healthz'))).status, 200);
  assert.equal((await other.send(rpc(ping, 'Authorization: Digest x'))).status, 401);
});

withUsers('a WebSocket bears its token with the upgrade, or says it, or is closed', { a: ALL }, { transport: 'websocket' }, async (hub) => {
  const bearing = await upgraded(hub.uri('http'), [`Authorization: Bearer ${tokenOf('a')}`]);
  hub.peers.push(bearing);
  passed(await bearing.ask('hub/ping'));
  passed(await (await known(hub, 'a')).ask('hub/ping'));
  const guessing = await hub.peer();
  refused(await guessing.ask('initialize', { token: 'pb_token-of-nobody' }), 'credential');
  assert.equal((await guessing.find(isClose, 'a close')).code, 1008);
});

withUsers('nothing comes behind the close for a wrong token, what was asked in an array neither', { a: ALL }, { transport: 'websocket' }, async (hub) => {
  const target = await known(hub, 'a');
  await target.register('target');
  const guessing = await upgraded(hub.uri('http'), [`Authorization: Bearer ${tokenOf('a')}`]);
  hub.peers.push(guessing);
  guessing.send([{ jsonrpc: '2.0', id: 1, method: 'hub/ping' }, { jsonrpc: '2.0', id: 2, method: 'x', params: { targetAgent: 'target' } }]);
  await target.find(({ json }) => json?.method === 'x', 'the request');
  refused(await guessing.ask('initialize', { token: 'pb_token-of-nobody' }), 'credential');
  assert.deepEqual((await guessing.next()).json, [{ jsonrpc: '2.0', id: 1, result: null }]); // what ends with it isn't waited for
  assert.equal(await closed(guessing, 'the close'), 1008);
});

withUsers('a token of one user is none of another, also at the connection that bears one', { a: ALL, b: ALL }, { transport: 'websocket' }, async (hub) => {
  const peer = await upgraded(hub.uri('http'), [`Authorization: Bearer ${tokenOf('a')}`]);
  hub.peers.push(peer);
  passed(await peer.ask('hub/ping'));
  refused(await peer.ask('initialize', { token: tokenOf('b') }), 'credential');
  passed(await peer.ask('hub/ping'));
});

withUsers('what the head of a request bears is known before its body has come', { a: ALL }, { transport: 'http', options: ['--max-connections', '2'] }, async (hub) => {
  const begin = async (token) => {
    const client = await Client.open(hub);
    client.write('POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n' +
      `Authorization: Bearer ${token}\r\nContent-Length: ${PING.length}\r\n\r\n`);
    return client;
  };
  const upload = await begin(tokenOf('a'));
  assert.equal((await upload.response()).status, 100);
  const silent = await Client.open(hub);
  const friend = await known(hub, 'a');
  await silent.gone('a connection without a credential to give way');
  friend.drop();
  upload.write(PING);
  assert.equal((await upload.response()).status, 200);
  const guessing = await begin('pb_token-of-nobody');
  assert.equal((await guessing.response()).status, 401);
  await guessing.gone();
});

withUsers('a request in chunks that bears no credential is answered at its head', { a: ALL }, { transport: 'http' }, async (hub) => {
  const begin = async (line, ...fields) => {
    const client = await Client.open(hub);
    client.write(request(line, ['Content-Type: application/json', 'Transfer-Encoding: chunked', ...fields]));
    return client;
  };
  for (const [line, ...fields] of [['POST /rpc'], ['POST /rpc', 'Expect: 100-continue'], ['POST /hcs'], ['GET /metrics'], ['POST /nothing']]) {
    const from = performance.now(), client = await begin(line, ...fields);
    const { status, fields: said } = await client.response();
    assert.deepEqual([status, said.connection], [401, 'close'], line);
    assert.ok(performance.now() - from < 5000, `${line} waited for its time to be over`);
    await client.gone();
  }
  const known = await begin('POST /rpc', `Authorization: Bearer ${tokenOf('a')}`, 'Expect: 100-continue');
  assert.equal((await known.response()).status, 100);
  assert.equal((await known.send(chunk(PING), '0\r\n\r\n')).status, 200);
  const open = await begin('GET /healthz', 'Expect: 100-continue');
  assert.equal((await open.response()).status, 100);
  assert.equal((await open.send('0\r\n\r\n')).status, 200);
});

// --- What was said before

// (A journal would have the name of an approver, which is judged each time.)
test('a decision is the gate\'s, however often its method was an agent\'s to answer', async () => {
  const file = join(directoryOfUsers, 'deciding.ini');
  writeFileSync(file, usersText({ a: { ...ALL, admin: true } }));
  const hub = await Hub.start(['--users', file, '--gate', 'manual'], 'tcp');
  try {
    (await (await known(hub, 'a')).register('any', { methods: ['governance/approval'] })).serve(() => 'any');
    const peer = await known(hub, 'a');
    const decide = (checkpoint) => peer.ask('governance/approval', { checkpoint, artifact: {}, decision: 'approved' });
    for (let times = 0; times < 3; times++) assert.equal((await decide('one of its own')).result, 'any');
    assert.equal((await decide(`gate:${'0'.repeat(32)}`)).result.applied, false);
  } finally {
    await hub.stop();
  }
});

withUsers('what was said before goes on where its names do', { a: { call: ['b', 'method:m'], 'deny-call': ['method:mm'], publish: ['e'] }, b: ALL }, {}, async (hub) => {
  const target = await (await known(hub, 'b')).register('b', { methods: ['m', 'mm'] });
  target.serve(({ method, params }) => [method, params.targetAgent ?? null]);
  const peer = await known(hub, 'a');
  const name = 'a'.repeat(40); // and so longer than what is compared at once
  for (let times = 0; times < 3; times++) {
    for (const method of [name, 'm', 'm']) assert.deepEqual((await peer.ask(method, { targetAgent: 'b' })).result, [method, 'b']);
    assert.deepEqual((await peer.ask('m', {})).result, ['m', null]);
    for (const [method, targetAgent] of [['mm', 'b'], ['m', 'bb'], ['m', ''], [name, undefined]]) refused(await peer.ask(method, { targetAgent }), 'call');
    assertError(await peer.ask('m', { targetAgent: ['b'] }), -32602);
    assert.deepEqual((await peer.ask('event', { event: 'e', targetAgent: 'b' })).result, ['event', 'b']);
    refused(await peer.ask('event', { event: 'other', targetAgent: 'b' }), 'publish');
  }
});

// Sends as fast as it is taken until `over` is, which is looked for behind each block; returns how many bytes the kernel has taken.
async function flood(peer, block, over) {
  let bytes = 0, ends = false;
  const end = over.finally(() => (ends = true));
  while (!ends && await Promise.race([peer.write(block).then(() => true), end.then(() => false)])) {
    bytes += block.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await end;
  return bytes;
}

// A guesser's message, the bytes behind it, and the answer.
const GUESSING = {
  peer: (opened, blockOf) => async (hub) => {
    const peer = await opened(hub);
    const over = peer.ask('initialize', { token: 'pb_token-of-nobody' });
    return { peer, block: blockOf(65536), over: over.then((answer) => refused(answer, 'credential')) };
  },
  request: (fields, block) => async (hub) => {
    const peer = await Client.open(hub);
    peer.write(request('POST /rpc', ['Content-Type: application/json', 'Authorization: Bearer pb_token-of-nobody', ...fields]));
    return { peer, block, over: peer.response().then(({ status }) => assert.equal(status, 401)) };
  },
};
const raw = (bytes) => Buffer.alloc(bytes, 'x'), sealed = (bytes) => wsFrame(TEXT, raw(bytes));
const GUESSERS = {
  tcp: ['tcp', GUESSING.peer((hub) => hub.peer('tcp'), raw)],
  unix: ['tcp', GUESSING.peer((hub) => hub.peer('unix'), raw)],
  lines: ['tcp-lines', GUESSING.peer((hub) => hub.peer('tcp-lines'), raw)],
  tls: ['tls', GUESSING.peer((hub) => hub.peer('tls'), raw)],
  websocket: ['websocket', GUESSING.peer((hub) => hub.peer('websocket'), sealed)],
  http: ['http', GUESSING.request(['Content-Length: 16000000'], raw(65536))],
  'http in chunks': ['http', GUESSING.request(['Transfer-Encoding: chunked'], chunk(raw(65536)))],
};
for (const io of ['uring', 'epoll'])
  for (const [name, [transport, guess]] of Object.entries(GUESSERS))
    withUsers(`while a wrong credential waits for its answer nothing is read (${name}, ${io})`, { a: { ...ALL, admin: true } },
      { transport, options: ['--io', io] }, async (hub) => {
        await (await guess(hub)).over;
        const friend = await known(hub, 'a', 'tcp');
        const leaving = await guess(hub);
        leaving.over.catch(() => {});
        await leaving.peer.write(leaving.block);
        leaving.peer.drop();
        const { peer, block, over } = await guess(hub); // for 400 ms
        const bytes = await flood(peer, block, over);
        assert.ok(bytes < 16 * 1024 * 1024, `${bytes} bytes were taken`);
        peer.drop();
        const others = async () => (await friend.ask('hub/stats')).result.connections > 1;
        await within((async () => { while (await others()); })(), 'those who guessed to have gone');
      });

withUsers('a connection of HTTP is one of the user whose credential came last', { a: { ...ALL, connections: 2 }, b: ALL }, { transport: 'http' }, async (hub) => {
  const ping = (client, user) => client.send(rpc(PING, `Authorization: Bearer ${tokenOf(user)}`));
  const [one, two, three, four] = await Promise.all(Array.from({ length: 4 }, () => Client.open(hub)));
  for (const client of [one, two, one]) assert.equal((await ping(client, 'a')).status, 200);
  const { status, json } = await ping(three, 'a');
  assert.equal(status, 429);
  assertError(json, -32052);
  await three.gone();
  assertError(await (await hub.peer()).ask('initialize', { token: tokenOf('a') }), -32052);
  assert.equal((await ping(two, 'b')).status, 200);
  assert.equal((await ping(four, 'a')).status, 200);
  assert.equal((await ping(two, 'a')).status, 429);
});

// --- Rights

withUsers('a level bounds what initialize says, too', { a: { ...ALL, level: 'supervised' } }, {}, async (hub) => {
  const peer = await hub.peer();
  refused(await peer.ask('initialize', { token: tokenOf('a'), governanceLevel: 'manual' }), 'level');
  passed(await peer.ask('initialize', { token: tokenOf('a'), governanceLevel: 'supervised' }));
});

withUsers('to attach to an agent is to call it', { a: ALL, b: { call: ['mine'] } }, {}, async (hub) => {
  for (const name of ['mine', 'other']) await (await known(hub, 'a')).register(name);
  const peer = await known(hub, 'b');
  refused(await peer.ask('hub/attach', { agent: 'other' }), 'call');
  refused(await peer.ask('hub/attach', { agent: 'nobody' }), 'call');
  passed(await peer.ask('hub/attach', { agent: 'mine' }));
});

withUsers('a registration that is refused changes nothing', { a: { register: ['x'], offer: ['@one'], call: ['@one', '@two'] } }, {}, async (hub) => {
  const peer = await known(hub, 'a');
  await peer.register('x', { one: true });
  refused(await peer.ask('agent/register', { agentId: 'x', capabilities: { one: true, two: true } }), 'offer');
  const { agents } = (await (await known(hub, 'a')).ask('hub/agents')).result;
  assert.deepEqual(agents.map(({ agentId, capabilities }) => [agentId, capabilities]), [['x', { one: true }]]);
});

withUsers('each sees of the agents what it may call', { a: { ...ALL, admin: true }, cap: { call: ['@c'] }, tool: { call: ['tool:t'] }, method: { call: ['method:m*'] },
  name: { call: ['tw*'] }, denied: { call: ['@c', 'two'], 'deny-call': ['one'] } }, {}, async (hub) => {
  await (await known(hub, 'a')).register('one', { c: true, tools: ['t'] });
  await (await known(hub, 'a')).register('two', { methods: ['mm'] });
  const seen = async (user) => (await (await known(hub, user)).ask('hub/agents')).result.agents.map((agent) => agent.agentId).sort();
  const expected = { a: ['one', 'two'], cap: ['one'], tool: ['one'], method: ['two'], name: ['two'], denied: ['two'] };
  for (const [user, agents] of Object.entries(expected)) assert.deepEqual(await seen(user), agents, user);
});

// --- Reloads

withUsers('a connection has at once what a reload gives, and a changed token is gone', { a: {}, b: ALL }, {}, async (hub) => {
  const peer = await known(hub, 'a'), other = await known(hub, 'b');
  await other.register('target');
  other.serve(() => 'done');
  refused(await peer.ask('x', { targetAgent: 'target' }), 'call');
  await reload(hub, { a: { call: ['target'] }, b: ALL });
  passed(await peer.ask('x', { targetAgent: 'target' }));
  await reload(hub, usersText({ a: { call: ['target'] }, b: ALL }).replace(/sha256:[0-9a-f]{8}/, 'sha256:00000000'));
  await peer.gone();
  passed(await other.ask('hub/ping'));
  refused(await (await hub.peer()).ask('initialize', { token: tokenOf('a') }), 'credential');
});

withUsers('without its users file a hub goes on as it was', { a: ALL }, {}, async (hub) => {
  const peer = await known(hub, 'a');
  rmSync(hub.usersFile);
  const said = () => (hub.stderr.match(/goes on as before/g) ?? []).length;
  hub.process.kill('SIGHUP');
  while (said() === 0) passed(await peer.ask('hub/ping'));
  await peer.register('x');
  await known(hub, 'a');
});

for (const [what, make] of Object.entries({ 'a FIFO': (path) => execFileSync('mkfifo', [path]), 'a device': (path) => symlinkSync('/dev/null', path) })) {
  withUsers(`with ${what} for a users file a hub goes on as it was`, { a: ALL }, {}, async (hub) => {
    const peer = await known(hub, 'a');
    rmSync(hub.usersFile);
    make(hub.usersFile);
    const said = () => (hub.stderr.match(/goes on as before/g) ?? []).length;
    hub.process.kill('SIGHUP');
    while (said() === 0) passed(await peer.ask('hub/ping'));
    assert.match(hub.stderr, /users: \S+: expected a regular file of up to 16M that can be read: (it is no regular file|Permission denied)/);
    await known(hub, 'a');
  });
}

test('what SIGHUP reads again is a file at start, too', async () => {
  const { serving } = await import('./certificates.mjs');
  const fifo = join(directoryOfUsers, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const others = (option) => serving.map((word, at) => (serving[at - 1] === option ? fifo : word));
  for (const options of [['--config', fifo], ['--users', fifo], others('--tls-certificate'), others('--tls-key')]) {
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', ...options]);
    assert.notEqual((await hub.exit).code, 0, options.join(' '));
    assert.match(hub.stderr, /fifo: expected a regular file .*: it is no regular file/);
  }
});

// --- Limits

withUsers('an answer is never refused, and a notification over the rate is counted', { a: { ...ALL, rate: '5/s' }, b: ALL }, {}, async (hub) => {
  const target = (await known(hub, 'a')).serve(() => 'done'), asking = await known(hub, 'b');
  await target.register('target');
  (await Promise.all(Array.from({ length: 50 }, () => asking.ask('x', { targetAgent: 'target' })))).forEach(passed);
  for (let count = 0; count < 50; count++) target.notify('event', { event: 'e' });
  assertError(await target.ask('hub/ping'), -32052);
});

const FLOODS = {
  'in the name of an agent of others': (peer) => peer.notify('x', { targetAgent: 'target', sourceAgent: 'target' }),
  'in a batch, in the name of an agent of others': (peer) => peer.send(Array.from({ length: 10 }, () => ({ jsonrpc: '2.0', method: 'x', params: { sourceAgent: 'target' } }))),
  'with the credential of others': (peer) => peer.notify('initialize', { token: tokenOf('b') }),
  'with a key twice': (peer) => peer.send('{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}'),
  'that is no JSON': (peer) => peer.send('{'),
  'that is an empty batch': (peer) => peer.send([]),
  'that is a batch of what is none': (peer) => peer.send(Array.from({ length: 10 }, () => 1)),
  'that is an HCS frame with a key twice': (peer) => peer.send('{"type":"ack","seq":1,"seq":2}'),
};
for (const [what, flood] of Object.entries(FLOODS)) {
  withUsers(`a rate counts what is refused ${what}`, { a: { ...ALL, rate: '10/s' }, b: ALL }, {}, async (hub) => {
    await (await known(hub, 'b')).register('target');
    const peer = await known(hub, 'a');
    let refusal;
    do { // it may take longer than the second that pays it off
      for (let count = 0; count < 60; count++) flood(peer);
      refusal = (await peer.ask('hub/ping')).error;
    } while (!refusal);
    assert.equal(refusal.code, -32052);
  });
}

withUsers('what is larger than a second\'s worth passes when nothing is owed', { a: { ...ALL, bytes: '10K/s' } }, {}, async (hub) => {
  const peer = await known(hub, 'a');
  let answer;
  do answer = await peer.ask('hub/ping', { text: 'x'.repeat(30000) }); while (answer.error); // until initialize is paid off
  const { data } = assertError(await peer.ask('hub/ping'), -32052);
  assert.ok(data.retryAfterMs > 1000 && data.retryAfterMs <= 3100, JSON.stringify(data));
});

withUsers('what was cancelled, or whose asker left, is no longer pending', { a: { ...ALL, pending: 1 }, b: ALL }, {}, async (hub) => {
  const target = await known(hub, 'b');
  await target.register('target');
  const peer = await known(hub, 'a');
  peer.send({ jsonrpc: '2.0', id: 'one', method: 'x', params: { targetAgent: 'target' } });
  const { id } = (await target.next()).json;
  peer.notify('$/cancelRequest', { id: 'one' });
  assert.equal((await target.next()).json.method, '$/cancelRequest');
  target.send({ jsonrpc: '2.0', id, error: { code: -32800, message: 'cancelled' } });
  assertError((await peer.next()).json.error ? { jsonrpc: '2.0', error: { code: -32800, message: 'x', data: {} } } : {}, -32800);
  const leaving = await known(hub, 'a');
  leaving.send({ jsonrpc: '2.0', id: 'two', method: 'x', params: { targetAgent: 'target' } });
  await target.next();
  assertError(await peer.ask('x', { targetAgent: 'target' }), -32052);
  leaving.socket.resetAndDestroy();
  assert.equal((await target.next()).json.method, '$/cancelRequest');
  peer.send({ jsonrpc: '2.0', id: 'three', method: 'x', params: { targetAgent: 'target' } });
  const last = (await target.next()).json;
  assert.equal(last.method, 'x');
  target.reply(last.id);
  passed((await peer.next()).json);
});

// --- Starting

async function startsNot(args, pattern, text) {
  const file = join(directoryOfUsers, 'start.ini');
  if (text !== undefined) writeFileSync(file, text);
  else rmSync(file, { force: true });
  const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--users', file, ...args]);
  const { code } = await hub.exit;
  assert.notEqual(code, 0);
  assert.match(hub.stderr, pattern);
  assert.doesNotMatch(hub.stderr, /secret-word|listening/);
}

test('a hub does not start with a users file that it can not use, and tells the line alone', async () => {
  await startsNot([], /start\.ini/);
  await startsNot([], /start\.ini:2/, '[user u]\ntoken = secret-word\n');
  await startsNot([], /start\.ini:2[^]*start\.ini:3/, '[user u]\nno-such-key = secret-word\ncall = secret-word!\n');
  await startsNot([], /start\.ini:4: hold: expected --gate/, '[user u]\nuid = 1\ncall = x\nhold = x\n');
  for (const beyond of [['--listen', 'tcp://0.0.0.0:0'], ['--http', '0.0.0.0:0']])
    await startsNot(beyond, /there is no TLS.*--insecure/, usersText({ a: ALL }));
});

test('a Unix socket has the mode and the group that its address tells', async () => {
  const path = join(directoryOfUsers, 'shared.sock');
  const groups = [...process.getgroups(), process.getgid()];
  const group = process.getuid() === 0 ? 1 : groups[0];
  const hub = await Hub.launch(['--listen', `unix://${path}?mode=0660&group=${group}`, '--listen', 'tcp://127.0.0.1:0']);
  assert.match(hub.stderr, new RegExp(`^listening unix://${path}$`, 'm'));
  const status = statSync(path);
  assert.deepEqual([status.mode & 0o777, status.gid], [0o660, group]);
  await hub.stop();
  const open = ['--listen', `unix://${path}?mode=0666`, '--http', 'off'];
  const all = await Hub.launch(open);
  assert.notEqual((await all.exit).code, 0);
  assert.match(all.stderr, /by all users of this machine and there is no authentication: expected --users beside it, or --insecure/);
  const insecure = await Hub.launch([...open, '--insecure']);
  assert.equal(statSync(path).mode & 0o777, 0o666);
  await insecure.stop();
  const other = await Hub.launch(['--listen', `unix://${path}?group=no-such-group-here`]);
  assert.notEqual((await other.exit).code, 0);
  assert.match(other.stderr, /no such group/);
});

for (const shards of ['1', '2']) {
  withUsers(`at the limit of connections whoever has shown no credential for longest gives way (--shards ${shards})`, { a: ALL },
    { options: ['--max-connections', '4', '--shards', shards] }, async (hub) => {
      const known1 = await known(hub, 'a');
      const strangers = [];
      for (let count = 0; count < 3; count++) {
        strangers.push(await hub.peer());
        assertError(await strangers[count].ask('hub/ping'), -32054);
      }
      const known2 = await known(hub, 'a');
      await strangers[0].gone();
      passed(await known1.ask('hub/ping'));
      const known3 = await known(hub, 'a'), known4 = await known(hub, 'a');
      for (const stranger of strangers) await stranger.gone();
      for (const peer of [known1, known2, known3, known4]) passed(await peer.ask('hub/ping'));
      await (await hub.peer()).gone(); // there is nobody left who could give way
    });
}
