// HCS where users are on: who may call a session's producer, and may not any more, in a session that lives.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { within } from './peer.mjs';
import { ALL, known, reload, tokenOf, withUsers } from './users.mjs';
import { alone, Client, JSON_TYPE, request } from './web.mjs';

const typed = (type) => (one) => one.json.type === type;
const bearer = (user) => `Authorization: Bearer ${tokenOf(user)}`;
const NOT_ALLOWED = 'capability not allowed: call';

const streams = (name, users, run) => {
  for (const shards of ['1', '2'])
    withUsers(`${name} (--shards ${shards})`, { p: ALL, ...users }, { transport: 'http', options: ['--shards', shards, '--listen', 'tcp://127.0.0.1:0'] }, async (hub) => {
      const producer = await known(hub, 'p', 'tcp');
      await producer.register('prod', { hcs: true });
      await run(hub, producer);
    });
};

const get = (query, user, ...fields) => request(`GET /hcs?${query}`, [bearer(user), ...fields]);
const post = (user, frame) => request('POST /hcs', [JSON_TYPE, bearer(user)], frame);

// A stream of its own; what it has got so far ends with `behind`.
async function opened(hub, bytes, behind) {
  const client = await Client.open(hub);
  client.write(bytes);
  assert.equal((await client.response()).status, 200);
  await until(client, behind);
  return client;
}

const until = (client, behind) => client.take((bytes) => {
  const at = bytes.indexOf(behind);
  return at < 0 ? null : { whole: at + behind.length, value: bytes.subarray(0, at).toString() };
}, JSON.stringify(behind));

streams('who may not call a producer any more is turned out of its sessions, and neither comes back nor speaks there',
  { web: { call: ['prod'] }, framed: { call: ['@hcs'] }, stays: { call: ['pro*'] } }, async (hub, producer) => {
    const web = await opened(hub, get('request_id=q&session_id=s&target=prod', 'web'), 'id: s:-\n\n');
    await producer.find(typed('start'), 'a start');
    const framed = await known(hub, 'framed', 'tcp'), stays = await known(hub, 'stays', 'tcp');
    framed.send({ type: 'start', session_id: 's', request_id: 'f' });
    stays.send({ type: 'start', session_id: 's', request_id: 'g', targetAgent: 'prod' });
    producer.send({ type: 'chunk', session_id: 's', seq: 1 });
    await until(web, 'id: s:1\n');
    for (const peer of [framed, stays]) await peer.find(typed('chunk'), 'a chunk');
    assert.equal((await alone(hub, post('web', { type: 'ack', session_id: 's', request_id: 'q', seq: 1 }))).status, 202);
    await producer.find(typed('ack'), 'an ack');

    await reload(hub, { p: ALL, web: { call: ['other'] }, framed: { call: ['@other'] }, stays: { call: ['pro*'] } });
    const { json: told } = await framed.find(typed('error'), 'the end of a right');
    assert.deepEqual([told.session_id, told.request_id, told.message, 'refused' in told], ['s', 'f', NOT_ALLOWED, false]);
    await until(web, 'event: error\n');
    assert.match(await until(web, NOT_ALLOWED), /^id: s:1\n/);
    await until(web, '\n\n');
    await web.gone();

    for (const place of ['s:-', 's:1', 'nosuch:-'])
      assert.equal((await alone(hub, get('request_id=q&session_id=s&target=prod', 'web', `Last-Event-ID: ${place}`))).status, 403, place);
    for (const frame of [{ type: 'ack', seq: 1 }, { type: 'control', action: 'tighten' }]) {
      assert.equal((await alone(hub, post('web', { ...frame, session_id: 's', request_id: 'q' }))).status, 400);
      framed.send({ ...frame, session_id: 's', request_id: 'f' });
      assert.equal((await framed.find(typed('error'), 'a refusal')).json.refused, frame.type);
    }
    await producer.silent('what those said who may not');
    producer.send({ type: 'chunk', session_id: 's', seq: 2 });
    assert.equal((await stays.next()).json.seq, 2);
    await framed.silent('a chunk for those who may get it');
  });

streams('who began a session by a name of many comes back by it, and not without', { a: { call: ['@some'] }, b: { call: ['@some'] } }, async (hub, producer) => {
  await producer.register('prod', { hcs: true, some: true });
  const query = 'request_id=q&session_id=s&target=@some';
  await opened(hub, get(query, 'a'), 'id: s:-\n\n');
  await producer.find(typed('start'), 'a start');
  await opened(hub, get(query, 'a', 'Last-Event-ID: s:-'), 'id: s:-\n\n');
  assert.equal((await alone(hub, get(query, 'b', 'Last-Event-ID: s:-'))).status, 404);
  await reload(hub, { p: ALL, a: { call: ['@hcs'], 'deny-call': ['prod'] }, b: {} });
  assert.equal((await alone(hub, get(query, 'a', 'Last-Event-ID: s:-'))).status, 403);
});

streams('whether a session lives is told to nobody who may not call its producer', { a: { call: ['prod'] }, b: { call: ['other'] } }, async (hub, producer) => {
  await opened(hub, get('request_id=q&session_id=s&target=prod', 'a'), 'id: s:-\n\n');
  await producer.find(typed('start'), 'a start');
  for (const [target, status] of [['prod', 403], ['other', 404]])
    for (const session of ['s', 'nosuch']) {
      const answer = await alone(hub, get(`request_id=q&target=${target}`, 'b', `Last-Event-ID: ${session}:-`));
      assert.equal(answer.status, status, `${target} ${session}`);
    }
  assert.equal((await alone(hub, get('request_id=q&target=prod', 'a', 'Last-Event-ID: nosuch:-'))).status, 404);
});

streams('a session that lives is joined by its id by whoever may call its producer, named or not', { a: { call: ['prod'] }, b: { call: ['other'] } }, async (hub, producer) => {
  const first = await known(hub, 'a', 'tcp');
  first.send({ type: 'start', session_id: 's', request_id: 'r', targetAgent: 'prod' });
  await producer.find(typed('start'), 'a start');
  producer.send({ type: 'init', session_id: 's' });
  producer.send({ type: 'chunk', session_id: 's', seq: 1 });
  await first.find(typed('chunk'), 'a chunk');
  for (const more of [{}, { after_seq: 0 }, { targetAgent: 'prod' }, { targetAgent: 'elsewhere' }]) {
    const [joins, refused] = [await known(hub, 'a', 'tcp'), await known(hub, 'b', 'tcp')];
    joins.send({ type: 'start', session_id: 's', request_id: 'j', ...more });
    await joins.find(typed('chunk'), `the history, for ${JSON.stringify(more)}`);
    for (const session_id of ['s', 'nosuch']) {
      refused.send({ type: 'start', session_id, request_id: 'j', ...more });
      assert.equal((await refused.find(typed('error'), 'a refusal')).json.message, NOT_ALLOWED);
    }
  }
  await opened(hub, get('request_id=q&session_id=s', 'a'), 'id: s:1\n');
  for (const session of ['s', 'nosuch']) assert.equal((await alone(hub, get(`request_id=q&session_id=${session}`, 'b'))).status, 403, session);
  first.send({ type: 'start', session_id: 'another', request_id: 'n' });
  assert.equal((await first.find(typed('error'), 'a refusal')).json.message, NOT_ALLOWED);
  await producer.silent('a start of those who joined');
});

streams('a session counts for the pending of the user who opened it, as long as it lives', { a: { call: ['prod'], pending: 3 }, b: { call: ['prod'] } }, async (hub, producer) => {
  const [one, other, free] = [await known(hub, 'a', 'tcp'), await known(hub, 'a', 'tcp'), await known(hub, 'b', 'tcp')];
  const start = (peer, session_id) => peer.send({ type: 'start', session_id, request_id: 'r', targetAgent: 'prod' });
  const begins = async (peer, session_id) => {
    start(peer, session_id);
    assert.equal((await producer.find(typed('start'), 'a start')).json.session_id, session_id);
  };
  const isRefused = async (peer, session_id) => {
    start(peer, session_id);
    const { json } = await peer.find(typed('error'), 'a refusal');
    assert.deepEqual([json.session_id, json.code, json.retriable], [session_id, 'INTERNAL', true]);
  };
  await begins(one, 's1');
  await begins(other, 's2');
  await begins(other, 's3');
  await isRefused(one, 's4');
  await isRefused(other, 's5');
  start(one, 's2'); // joins
  const asked = one.ask('work', { targetAgent: 'prod' });
  assert.equal((await asked).error.code, -32052);
  await begins(free, 't');
  producer.send({ type: 'complete', session_id: 's1' });
  await one.find(typed('complete'), 'the end');
  await begins(one, 's6');
  await isRefused(other, 's7');
});

streams('a start that is refused is in the journal, with who asked for what', { b: { call: ['other'] } }, async (hub) => {
  assert.equal((await alone(hub, get('request_id=q&target=prod', 'b'))).status, 403);
  assert.equal((await alone(hub, get('request_id=q&target=prod', 'b', 'Last-Event-ID: s:-'))).status, 403);
  const framed = await known(hub, 'b', 'tcp');
  framed.send({ type: 'start', request_id: 'f', targetAgent: 'prod' });
  assert.equal((await framed.next()).json.message, NOT_ALLOWED);
  const lines = await within(new Promise((resolve) => {
    const look = () => {
      const found = readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
      if (found.length < 3) setImmediate(look);
      else resolve(found);
    };
    look();
  }), 'three lines of the journal');
  for (const { kind, target, method, code, rule, source } of lines)
    assert.deepEqual([kind, target, method, code, rule, source.user], ['refusal', 'prod', 'start', -32001, 'call', 'b']);
});

// The publisher's last event, behind which nothing else can come, shows what a stream of events still gets.
const heard = async (client, publisher, ...events) => {
  for (const event of events) assert.ok((await publisher.ask('event', { event })).result);
  await until(client, `"${events.at(-1)}"`);
  await until(client, '\n\n');
};

withUsers('a stream of events ends with the right to it, or with its user, and not before',
  { p: ALL, one: { subscribe: ['build-*', 'task'] }, both: { subscribe: ['build-*', 'task'] }, gone: ALL, boss: { admin: true } },
  { transport: 'http', options: ['--listen', 'tcp://127.0.0.1:0', '--shards', '2', '--gate', 'manual'] }, async (hub) => {
    const events = (patterns, user) => request(`GET /events?${patterns.map((one) => `pattern=${one}`).join('&')}`, [bearer(user)]);
    const stream = (patterns, user) => opened(hub, events(patterns, user), '');
    const publisher = await known(hub, 'p', 'tcp');
    const one = await stream(['build-*'], 'one'), both = await stream(['build-*', 'task'], 'both');
    const gone = await stream(['*'], 'gone'), boss = await stream(['approval-needed'], 'boss'), stays = await stream(['build-*'], 'p');
    await heard(one, publisher, 'build-1');
    for (const client of [both, gone, stays]) await until(client, '\n\n');
    const still = { p: ALL, one: { subscribe: ['task'] }, both: { subscribe: ['task'] } };
    await reload(hub, { ...still, boss: {} });
    for (const client of [one, gone, boss]) await client.gone();
    await heard(both, publisher, 'build-2', 'task');
    await until(stays, '"build-2"');
    for (const [patterns, user, status] of [[['build-*'], 'one', 403], [['*'], 'gone', 401], [['approval-needed'], 'boss', 403]])
      assert.equal((await alone(hub, events(patterns, user))).status, status, user);
    await stream(['task'], 'one');
  });
