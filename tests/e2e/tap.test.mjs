// hub/tap: an entry a message, exact in names, ids, bytes, times and outcomes, from all shards; its bounds, its rights, its
// lines in the journal; and `patchbay tap` (PATCHBAY). `--slow-request`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hub, scenario } from './hub.mjs';
import { assertError, within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const EVERYWHERE = { shards: [1, 2, 4] };

// A connection that taps, with all entries that have come.
class Tap {
  entries = [];
  missed = 0;
  static async open(hub, params = {}, peer = undefined) {
    const tap = new Tap();
    tap.peer = peer ?? await hub.peer();
    const answer = await tap.peer.ask('hub/tap', params);
    assert.deepEqual(Object.keys(answer.result ?? answer), ['tap']);
    tap.number = answer.result.tap;
    return tap;
  }
  async until(holds, what) {
    while (!holds(this)) {
      const { json } = await this.peer.find(({ json }) => json.method === 'hub/tapped', what);
      assert.equal(json.params.tap, this.number);
      this.entries.push(...json.params.entries);
      this.missed += json.params.missed;
    }
    return this.entries;
  }
  of(count) {
    return this.until(() => this.entries.length >= count, `${count} entries`);
  }
}

const work = (id, target, more = {}) => ({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: target, ...more } });

scenario('each request has one entry when it has ended, and its times add up', EVERYWHERE, async (hub) => {
  const targets = await Promise.all(['a', 'b', 'c', 'd'].map((id) => hub.agent(id)));
  const sources = [await hub.agent('asker'), await hub.peer(), await hub.peer(), await hub.peer()];
  const tap = await Tap.open(hub);
  const began = Date.now();
  const sent = [];
  for (let n = 0; n < 16; n++) {
    const body = JSON.stringify(work(`r${n}`, 'abcd'[n % 4]));
    sources[n >> 2].send(body);
    const { json } = await targets[n % 4].next();
    await sleep(n === 5 ? 120 : 0);
    const answer = JSON.stringify({ jsonrpc: '2.0', id: json.id, ...(n % 3 ? { result: n } : { error: { code: -7, message: 'm' } }) });
    targets[n % 4].send(answer);
    await sources[n >> 2].next();
    sent.push({ body, answer, id: json.id });
  }
  const took = (Date.now() - began) * 1000;
  const entries = await tap.of(16);
  assert.equal(new Set(entries.map(({ n }) => n)).size, 16);
  for (const [n, { body, answer, id }] of sent.entries()) {
    const { time, n: number, source, queueUs, targetUs, hubUs, ...rest } = entries.find(({ sourceId }) => sourceId === `r${n}`);
    assert.deepEqual(rest, {
      kind: 'request', method: 'work', target: 'abcd'[n % 4], sourceId: `r${n}`, targetId: id, bytes: body.length,
      answerBytes: answer.length, ...(n % 3 ? { outcome: 'result' } : { outcome: 'error', code: -7 }),
    });
    assert.ok(number > 0 && Math.abs(time - Date.now()) < 60_000);
    if (n < 4) assert.equal(source, 'asker');
    else assert.match(source, /^#[0-9]+$/);
    assert.ok(queueUs >= 0 && targetUs >= 0 && hubUs >= 0 && queueUs + targetUs + hubUs <= took, JSON.stringify({ queueUs, targetUs, hubUs }));
    if (n === 5) assert.ok(targetUs >= 100_000 && queueUs + hubUs < 100_000, JSON.stringify({ queueUs, targetUs, hubUs }));
  }
  assert.equal(tap.missed, 0);
});

scenario('outcomes: refused, timed out, cancelled, left; notifications too', { ...EVERYWHERE, options: ['--half-close', 'leave'] }, async (hub) => {
  const target = await hub.agent('b', {}, {});
  const source = await hub.peer();
  const tap = await Tap.open(hub, { method: 'w*' });
  const outcome = async (count) => (await tap.of(count)).at(-1);
  source.send(work(1, 'nobody'));
  assertError((await source.next()).json, -32010);
  let entry = await outcome(1);
  assert.deepEqual([entry.outcome, entry.code, 'targetUs' in entry, 'queueUs' in entry], ['refused', -32010, false, false]);
  source.send(work(2, 'b'), 'Governance-Level: manual');
  await source.next();
  entry = await outcome(2);
  assert.deepEqual([entry.outcome, entry.code], ['refused', -32011]);
  source.send(work(3, 'b'), 'Custom-Timeout-Ms: 500');
  await target.next();
  await source.next();
  entry = await outcome(3);
  assert.deepEqual([entry.outcome, entry.code, entry.target], ['timed_out', -32051, 'b']);
  assert.ok(entry.targetUs > 0 && entry.queueUs + entry.targetUs + entry.hubUs >= 490_000, JSON.stringify(entry));
  const leaver = await hub.peer();
  leaver.send(work(4, 'b'));
  await target.find(({ json }) => json.method === 'work', 'the request');
  leaver.drop();
  entry = await outcome(4);
  assert.deepEqual([entry.outcome, entry.code], ['source_left', undefined]);
  source.notify('work', { targetAgent: 'b' });
  entry = await outcome(5);
  assert.deepEqual([entry.kind, entry.outcome, entry.target, 'sourceId' in entry], ['notification', 'delivered', 'b', false]);
  source.notify('work', { targetAgent: 'nobody' });
  entry = await outcome(6);
  assert.deepEqual([entry.kind, entry.outcome, entry.code], ['notification', 'dropped', -32010]);
  source.send(work(5, 'b'));
  await target.find(({ json }) => json.method === 'work' && json.id, 'the request');
  target.drop();
  entry = await outcome(7);
  assert.deepEqual([entry.outcome, entry.code], ['target_left', -32050]);
  await source.ask('hub/ping', {});
  await source.ask('agent/register', { agentId: 'z', capabilities: {} });
  source.send(work(6, 'nobody'));
  assert.equal((await outcome(8)).sourceId, 6, 'what the hub answers itself has no entry');
});

scenario('filters', EVERYWHERE, async (hub) => {
  (await hub.agent('fast')).serve(() => 1);
  const slow = await hub.agent('slow-one');
  const source = await hub.agent('asker');
  const taps = [];
  for (const params of [{ agent: 'slow*' }, { agent: 'fast' }, { agent: 'asker', method: 'wor*' }, { errors: true }, { slowMs: 500 }, { method: 'x' }])
    taps.push(await Tap.open(hub, params));
  assert.equal((await source.ask('work', { targetAgent: 'fast' })).result, 1);
  const asked = source.ask('work', { targetAgent: 'slow-one' });
  const { json } = await slow.next();
  await sleep(550);
  slow.reply(json.id, 2);
  await asked;
  await source.ask('work', { targetAgent: 'nowhere' });
  const targets = async (tap, count) => (await tap.of(count)).map(({ target }) => target);
  assert.deepEqual(await targets(taps[0], 1), ['slow-one']);
  assert.deepEqual(await targets(taps[1], 1), ['fast']);
  assert.deepEqual((await targets(taps[2], 3)).sort(), ['fast', 'slow-one', undefined].sort());
  assert.deepEqual(await targets(taps[3], 1), [undefined]);
  assert.deepEqual(await targets(taps[4], 1), ['slow-one']);
  await taps[5].peer.silent('entries of another method');
});

scenario('with body a request has an entry when it is taken in, too', EVERYWHERE, async (hub) => {
  const target = await hub.agent('b');
  const source = await hub.peer();
  const tap = await Tap.open(hub, { body: 40 });
  const body = JSON.stringify(work('é', 'b', { text: 'ééééééééééé\u0001' }));
  source.send(body);
  const { json } = await target.next();
  const [begun] = await tap.of(1);
  assert.equal(begun.outcome, null);
  assert.ok(body.startsWith(begun.body) && Buffer.byteLength(begun.body) <= 40 && Buffer.byteLength(begun.body) >= 39);
  assert.deepEqual([begun.sourceId, begun.targetId, begun.target], ['é', json.id, 'b']);
  target.reply(json.id, 1);
  const [, ended] = await tap.of(2);
  assert.deepEqual([ended.n, ended.outcome, 'body' in ended], [begun.n, 'result', false]);
  source.notify('work', { targetAgent: 'b' });
  const [, , told] = await tap.of(3);
  assert.equal(told.body, JSON.stringify({ jsonrpc: '2.0', method: 'work', params: { targetAgent: 'b' } }).slice(0, 40));
});

scenario('an event has its name, and to how many it was delivered on all shards', EVERYWHERE, async (hub) => {
  const subscribers = await Promise.all([1, 2, 3, 4, 5].map(() => hub.peer()));
  for (const peer of subscribers) await peer.ask('hub/subscribe', { events: ['build-*'] });
  const source = await hub.agent('asker');
  const tap = await Tap.open(hub, { body: 30 });
  const body = (event, more = {}) => JSON.stringify({ jsonrpc: '2.0', method: 'event', ...more, params: { event, data: 1 } });
  source.send(body('build-done'));
  source.send(body('build-done', { id: 7 }));
  assert.equal((await source.next()).json.result.delivered, 5);
  source.send(body('unheard'));
  const entries = await tap.of(3);
  for (const [n, [event, delivered, sourceId]] of [['build-done', 5, undefined], ['build-done', 5, 7], ['unheard', 0, undefined]].entries()) {
    const { time, n: number, bytes, body: shown, ...rest } = entries[n];
    assert.deepEqual(rest, { kind: 'event', method: 'event', source: 'asker', event, delivered, outcome: 'delivered', ...(sourceId && { sourceId }) });
    assert.equal(shown, body(event, sourceId && { id: sourceId }).slice(0, 30));
  }
  source.send(Array.from({ length: 200 }, () => body('build-many')).map((text) => `Content-Length: ${text.length}\r\n\r\n${text}`).join(''), null);
  for (const peer of subscribers) for (let n = 0; n < 2; n++) await peer.next();
}, );

scenario('a trace is told, and its context passes byte for byte, over HTTP too', { shards: [1, 2], transports: ['http'] }, async (hub) => {
  const target = await hub.agent('b');
  const tap = await Tap.open(hub);
  const source = await hub.peer();
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736', context = `00-${trace}-00f067aa0ba902b7-01`, other = `00-${'1'.repeat(32)}-00f067aa0ba902b7-01`;
  const fields = [`traceparent: ${other}`, 'tracestate: a=1,b=2', 'baggage: k=v'];
  source.send(work(1, 'b', { _meta: { traceparent: context } }), ...fields);
  const asked = await target.next();
  assert.equal(asked.json.params._meta.traceparent, context);
  assert.deepEqual(asked.fields.slice(1).map((field) => field.join(': ')), fields);
  target.reply(asked.json.id, 1);
  const posted = fetch(`${hub.uri('http')}/rpc`, { method: 'POST', headers: { 'Content-Type': 'application/json', traceparent: context, tracestate: 'x=y', baggage: 'k=w' }, body: JSON.stringify(work(2, 'b')) });
  const by = await target.next();
  assert.deepEqual(Object.fromEntries(by.fields.map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => /^(trace|baggage)/.test(name))), { traceparent: context, tracestate: 'x=y', baggage: 'k=w' });
  target.reply(by.json.id, 1);
  await posted;
  source.send(work(3, 'b'), 'traceparent: nonsense');
  const last = await target.next();
  target.reply(last.json.id, 1);
  const entries = await tap.of(3);
  assert.deepEqual(entries.map((entry) => [entry.sourceId, entry.trace]), [[1, trace], [2, trace], [3, undefined]]);
});

scenario('values that are none are -32602, a seventeenth tap is -32052, untap ends one', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  for (const params of [{ agent: 1 }, { agent: '' }, { agent: 'a b' }, { agent: 'x'.repeat(256) }, { agent: `${'x'.repeat(256)}*` }, { agent: 'a\u0000' }, { agent: 'a b*' }, { agent: 'a..*' }, { agent: '#x' }, { agent: '#' }, { method: {} }, { errors: 1 }, { slowMs: 0 }, { slowMs: 'x' }, { body: 0 }, { body: (16 << 20) + 1 },
    { rate: 0 }, { rate: 100001 }, { body: 1, errors: true }, { body: 1, slowMs: 5 }])
    assertError(await peer.ask('hub/tap', params), -32602);
  for (const [params, field] of [['{"agent":"a*b"}', 'params.agent'], ['{"agent":"**"}', 'params.agent'], ['{"method":"a\\u002ab*"}', 'params.method'],
    ['[]', 'params'], ['[{"agent":"a"}]', 'params'], ['"a"', 'params'], ['7', 'params'], ['null', 'params'],
    ['{"agent":"a","agent":"b"}', 'params.agent'], ['{"rate":5,"body":1,"ra\\u0074e":5}', 'params.rate'], ['{"errors":true,"slowMs":5,"errors":true}', 'params.errors']]) {
    peer.send(`{"jsonrpc":"2.0","id":"bad","method":"hub/tap","params":${params}}`);
    assert.equal(assertError((await peer.next()).json, -32602).data.field, field, params);
  }
  for (const agent of ['*', 'a.*', 'a.b', '#7', '#*', '@*', '@cut', 'x'.repeat(255), `${'x'.repeat(255)}*`]) {
    const { tap } = (await peer.ask('hub/tap', { agent })).result;
    await peer.ask('hub/untap', { tap });
  }
  const numbers = [];
  for (let n = 0; n < 16; n++) numbers.push((await peer.ask('hub/tap', {})).result.tap);
  assert.equal(new Set(numbers).size, 16);
  assert.equal(assertError(await peer.ask('hub/tap', {}), -32052).data.limit, 16);
  const other = await hub.peer();
  assertError(await other.ask('hub/untap', { tap: numbers[0] }), -32602);
  assertError(await peer.ask('hub/untap', { tap: 'x' }), -32602);
  for (const tap of numbers) assert.deepEqual((await peer.ask('hub/untap', { tap })).result, { tap });
  assertError(await peer.ask('hub/untap', { tap: numbers[0] }), -32602);
  await other.ask('work', { targetAgent: 'nobody' });
  await peer.silent('entries after untap');
  let again;
  do again = await peer.ask('hub/tap', {}); while (again.error?.code === -32052); // its place is free once all shards know
  assert.ok(again.result.tap > numbers.at(-1));
});

scenario('past its rate entries are missed, and that is told', { shards: [1, 2] }, async (hub) => {
  (await hub.agent('b')).serve(() => 1);
  const tap = await Tap.open(hub, { rate: 5 });
  const source = await hub.peer();
  await Promise.all(Array.from({ length: 100 }, () => source.ask('work', { targetAgent: 'b' })));
  await tap.until(() => tap.entries.length + tap.missed >= 100, 'all are shown or missed');
  assert.equal(tap.entries.length + tap.missed, 100);
  assert.ok(tap.entries.length >= 5 && tap.entries.length <= 30, `${tap.entries.length} entries`);
});

scenario('a large body passes a tap that reads, and is whole', { shards: [1, 2] }, async (hub) => {
  const target = await hub.agent('b');
  const tap = await Tap.open(hub, { body: 16 << 20 });
  const source = await hub.peer();
  const bodies = [700_000, 3_000_000, 6_000_000].map((bytes) => JSON.stringify(work(bytes, 'b', { filler: '\\é\u0001"'.repeat(bytes / 8) })));
  for (const [at, body] of bodies.entries()) {
    source.send(body);
    const { json } = await target.next();
    const entries = await tap.of(2 * at + 1); // what would wait behind the large one past the bound of the queue is missed
    assert.equal(entries[2 * at].body, body);
    target.reply(json.id, 1);
    await source.next();
    await tap.of(2 * at + 2);
  }
  assert.equal(tap.missed, 0);
});

scenario('what is refused names the agent that it was for, and with body has two entries', { shards: [1, 2], options: ['--max-pending', '1', '--gate', 'manual', '--gate-wait', '100ms'] }, async (hub) => {
  await hub.agent('b');
  const tap = await Tap.open(hub, { agent: 'b', body: 1000 });
  const source = await hub.peer();
  source.send(work('under way', 'b'));
  source.send(work('held', 'b'), 'Governance-Level: manual');
  await source.next(); // nobody has decided on it
  source.send(work('overloaded', 'b'));
  await source.next();
  source.send(work('too strict', 'b'), 'Governance-Level: supervised');
  await source.next();
  source.send(work('nobody', 'c'));
  await source.next();
  const note = JSON.stringify({ jsonrpc: '2.0', method: 'work', params: { targetAgent: 'b' } });
  source.send(note, 'Governance-Level: supervised');
  const entries = await tap.of(8);
  const of = (id) => entries.filter(({ sourceId }) => sourceId === id).map(({ target, outcome, code, body }) => [target, outcome, code, body && JSON.parse(body).id]);
  assert.deepEqual(of('held'), [['b', null, undefined, 'held'], ['b', 'refused', -32012, undefined]]);
  assert.deepEqual(of('overloaded'), [['b', null, undefined, 'overloaded'], ['b', 'refused', -32052, undefined]]);
  assert.deepEqual(of('too strict'), [['b', null, undefined, 'too strict'], ['b', 'refused', -32011, undefined]]);
  assert.deepEqual(of('nobody'), []);
  const [{ target, outcome, code, body }] = entries.filter(({ kind }) => kind === 'notification');
  assert.deepEqual([target, outcome, code, body], ['b', 'refused', -32011, note]);
});

scenario('what is held has its entry with body when it is taken in, and one more at its end', { shards: [1, 2], transports: ['tcp'], options: ['--gate', 'manual', '--half-close', 'leave'] }, async (hub) => {
  const target = await hub.agent('b');
  const human = await hub.peer();
  await human.ask('hub/subscribe', { events: ['approval-needed'] });
  const tap = await Tap.open(hub, { body: 1000, method: 'work' });
  const decide = async (decision) => {
    const { json } = await human.find(({ json }) => json.params?.event === 'approval-needed', 'approval-needed');
    const { checkpoint } = json.params.data;
    assert.deepEqual((await human.ask('governance/approval', { checkpoint, artifact: {}, approver: 'u', decision })).result, { checkpoint, applied: true });
  };
  const ends = { approved: 'result', rejected: 'refused', left: 'source_left' };
  let count = 0;
  for (const [end, outcome] of Object.entries(ends)) {
    const source = await hub.peer();
    const body = JSON.stringify(work(end, 'b'));
    source.send(body, 'Governance-Level: manual');
    const begun = (await tap.of(++count)).at(-1);
    assert.deepEqual([begun.sourceId, begun.target, begun.outcome, begun.body], [end, 'b', null, body]);
    await (end === 'left' ? source.drop() : decide(end));
    if (end === 'approved') target.reply((await target.next()).json.id, 1);
    const ended = (await tap.of(++count)).at(-1);
    assert.deepEqual([ended.sourceId, ended.target, ended.outcome, ended.body, ended.n], [end, 'b', outcome, undefined, begun.n]);
    if (end !== 'left') await source.next();
  }
  const note = JSON.stringify({ jsonrpc: '2.0', method: 'work', params: { targetAgent: 'b' } });
  (await hub.peer()).send(note, 'Governance-Level: manual');
  await human.find(({ json }) => json.params?.event === 'approval-needed', 'approval-needed');
  for (const id of [1, 2]) await human.ask('work', { targetAgent: 'nobody' });
  assert.deepEqual((await tap.of(count + 4)).slice(count).map(({ kind }) => kind), ['request', 'request', 'request', 'request']);
});

scenario('a body is shown as its source sent it, whose span ever stands in it', { shards: [1, 2], options: ['--otlp', 'http://127.0.0.1:9', '--trace-parent', 'hub', '--max-pending', '2', '--drain-timeout', '100ms'] }, async (hub) => {
  const target = await hub.agent('b');
  const tap = await Tap.open(hub, { body: 1000 });
  const source = await hub.peer();
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  const bodies = [1, 2, 3].map((id) => JSON.stringify(work(id, 'b', { _meta: { traceparent } })));
  for (const body of bodies) source.send(body);
  assertError((await source.next()).json, -32052, 3);
  for (const _ of [1, 2]) assert.notEqual((await target.next()).json.params._meta.traceparent, traceparent);
  const entries = await tap.of(4);
  assert.deepEqual(entries.filter(({ outcome }) => outcome === null).map(({ body }) => body), bodies);
});

scenario('one who does not read costs nobody anything', { shards: [1, 2], options: ['--max-queue', '256K'] }, async (hub) => {
  (await hub.agent('b')).serve(() => 1);
  const tap = await Tap.open(hub, { rate: 100000, body: 4096 });
  tap.peer.socket.pause();
  const source = await hub.peer();
  const filler = 'x'.repeat(4000);
  for (let n = 0; n < 3000; n += 30)
    for (const { result } of await Promise.all(Array.from({ length: 30 }, () => source.ask('work', { targetAgent: 'b', filler })))) assert.equal(result, 1);
  tap.peer.socket.resume();
  await tap.until(() => tap.entries.length + tap.missed >= 6000, 'all are shown or missed');
  assert.equal(tap.entries.length + tap.missed, 6000);
  assert.ok(tap.missed > 0, 'the bound of its queue');
});

for (const halfCloses of [false, true])
  scenario(`one who reads nothing before hub/untap is told what was missed (${halfCloses ? 'half-closed' : 'open'})`, { shards: [1, 2], options: ['--max-queue', '256K'] }, async (hub) => {
    (await hub.agent('b')).serve(() => 1);
    const tap = await Tap.open(hub, { rate: 100000, body: 4096 });
    tap.peer.socket.pause();
    const source = await hub.peer();
    const filler = 'x'.repeat(4000);
    for (let n = 0; n < 3000; n += 30)
      for (const { result } of await Promise.all(Array.from({ length: 30 }, () => source.ask('work', { targetAgent: 'b', filler })))) assert.equal(result, 1);
    await tap.peer.send({ jsonrpc: '2.0', id: 'end', method: 'hub/untap', params: { tap: tap.number } });
    if (halfCloses) await tap.peer.finish();
    tap.peer.socket.resume();
    for (let json; ({ json } = await tap.peer.next()) && json.id !== 'end';) {
      tap.entries.push(...json.params.entries);
      tap.missed += json.params.missed;
    }
    assert.equal(tap.entries.length + tap.missed, 6000);
    assert.ok(tap.missed > 0, 'the bound of its queue');
    assert.equal(tap.peer.frames.length, 0);
  });

scenario('taps come and go while requests are under way', { shards: [1, 2, 4] }, async (hub) => {
  (await hub.agent('b')).serve(({ params }) => params.n);
  const sources = await Promise.all([1, 2, 3].map(() => hub.peer()));
  let over = false;
  const load = sources.map(async (source) => {
    for (let n = 0; !over; n++) assert.equal((await source.ask('work', { targetAgent: 'b', n })).result, n);
  });
  for (let round = 0; round < 15; round++) {
    const peers = await Promise.all([1, 2, 3].map(() => hub.peer()));
    const taps = await Promise.all(peers.map((peer) => Tap.open(hub, { rate: 100000, body: 10 }, peer)));
    await taps[0].of(4);
    peers[0].drop();
    await peers[1].ask('hub/untap', { tap: taps[1].number });
    peers[2].send('{"jsonrpc":"2.0","method":"exit"}');
    peers[1].drop();
  }
  over = true;
  await Promise.all(load);
});

const withUser = (name, more) => `[user ${name}]\ntoken = sha256:${createHash('sha256').update(name).digest('hex')}\n${more}\n`;

test('a tap shows nothing of a body that came before a credential', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-tap-')), file = join(directory, 'users');
  writeFileSync(file, withUser('ops', 'admin = yes\n'));
  const hub = await Hub.start(['--users', file, '--shards', '2']);
  try {
    const ops = await hub.peer(), stranger = await hub.peer();
    await ops.ask('initialize', { token: 'ops', capabilities: {}, processId: null });
    const tap = await Tap.open(hub, { body: 1000 }, ops);
    assertError(await stranger.ask('Initialize', { token: 'ops' }), -32054);
    stranger.notify('Initialize', { token: 'ops' });
    await tap.of(3);
    assert.deepEqual(tap.entries.map(({ method, outcome, body }) => [method, outcome, body]),
      [['Initialize', null, undefined], ['Initialize', 'refused', undefined], ['Initialize', 'refused', undefined]]);
  } finally {
    await hub.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});

test('with users a tap needs admin, and has lines in the journal', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-tap-'));
  const token = (name) => createHash('sha256').update(name).digest('hex');
  const user = (name, more) => `[user ${name}]\ntoken = sha256:${createHash('sha256').update(token(name)).digest('hex')}\n${more}\n`;
  const file = join(directory, 'users'), journal = join(directory, 'journal');
  const everything = 'call = *\nregister = *\n';
  writeFileSync(file, user('ops', `${everything}admin = yes\n`) + user('ann', everything) + user('bob', everything));
  const hub = await Hub.start(['--users', file, '--audit', journal, '--shards', '2']);
  try {
    const open = async (name) => {
      const peer = await hub.peer();
      await peer.ask('initialize', { token: token(name), capabilities: {}, processId: null });
      return peer;
    };
    const [ops, ann, bob] = [await open('ops'), await open('ann'), await open('bob')];
    assertError(await ann.ask('hub/tap', {}), -32001);
    const tap = await Tap.open(hub, {}, ops);
    await bob.ask('agent/register', { agentId: 'b', capabilities: {}, agentSecret: token('bob') });
    ann.send(work(1, 'b'));
    const { json } = await bob.next();
    const mine = await ann.ask('hub/pending', {});
    assert.deepEqual(mine.result.pending.map(({ user: name, target, sourceId }) => [name, target, sourceId]), [['ann', 'b', 1]]);
    assert.equal((await bob.ask('hub/pending', {})).result.total, 1, 'what it owes');
    const carl = await open('ann');
    assert.equal((await carl.ask('hub/pending', {})).result.total, 1, 'of the same user');
    bob.reply(json.id, 1);
    await ann.next();
    const [entry] = await tap.of(1);
    assert.deepEqual([entry.user, entry.outcome], ['ann', 'result']);
    await ops.ask('hub/untap', { tap: tap.number });
    let lines;
    do lines = readFileSync(journal, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter(({ kind }) => kind === 'tap');
    while (lines.length < 2);
    assert.deepEqual(lines.map(({ step, tap: number, source }) => [step, number, source.user]), [['begins', tap.number, 'ops'], ['ends', tap.number, 'ops']]);
    assert.ok(!JSON.stringify(tap.entries).includes(token('bob')) && !hub.stderr.includes(token('bob')));
    assert.match(hub.stderr, /tap 1 started by ops/);
    // Whoever isn't an admin any more hears nothing from then on.
    const second = await Tap.open(hub, {}, ops);
    writeFileSync(file, user('ops', everything) + user('ann', everything) + user('bob', everything));
    hub.process.kill('SIGHUP');
    while (!/tap 2 ended/.test(hub.stderr)) await sleep(5);
    assert.equal(second.entries.length, 0);
  } finally {
    await hub.stop();
  }
});

scenario('--slow-request logs what took as long', { shards: [1, 2], transports: ['tcp'], options: ['--slow-request', '500ms'] }, async (hub) => {
  const target = await hub.agent('b');
  const source = await hub.agent('asker');
  const asked = [source.ask('slow', { targetAgent: 'b' }), source.ask('quick', { targetAgent: 'b' })];
  const [first, second] = [(await target.next()).json, (await target.next()).json];
  target.reply(second.id, 1);
  await sleep(550);
  target.reply(first.id, 1);
  await Promise.all(asked);
  const lines = () => hub.stderr.split('\n').filter((line) => line.includes('slow request'));
  while (lines().length === 0) await sleep(5);
  assert.equal(lines().length, 1);
  assert.match(lines()[0], /slow request: slow from asker to b took [1-9][0-9]{2,4} ms: result/);
});

scenario('the client shows it', { shards: [2], transports: ['tcp'] }, async (hub) => {
  (await hub.agent('b')).serve(() => 1);
  const source = await hub.agent('asker');
  const run = async (args, wanted) => {
    const child = spawn(program, ['--hub', hub.uri('tcp'), 'tap', ...args]);
    let out = '', told = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    const open = new Promise((resolve) => child.stderr.setEncoding('utf8').on('data', (text) => { told += text; if (told.includes('open at')) resolve(); }));
    const exit = new Promise((resolve) => child.on('close', resolve));
    await within(Promise.race([open, exit]), 'the tap to open');
    await source.ask('bell\u0007', { targetAgent: 'b' });
    if (wanted === 'interrupt') child.kill('SIGINT');
    return { status: await within(exit, 'the tap to end'), out, told };
  };
  const one = await run(['--count', '1', '--agent', 'ask*', '--rate', '10']);
  assert.equal(one.status, 0);
  assert.match(one.out, /^\S+Z request asker -> b bell\\u0007 result sourceId=\S+ targetId=[0-9]+ bytes=[0-9]+ answerBytes=[0-9]+ queueUs=[0-9]+ targetUs=[0-9]+ hubUs=[0-9]+\n$/);
  const json = await run(['--json', '--count', '2', '--body', '1K']);
  const [begun, ended] = json.out.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual([begun.outcome, ended.outcome, JSON.parse(begun.body).method], [null, 'result', 'bell\u0007']);
  assert.equal((await run(['--errors'], 'interrupt')).status, 0);
  for (const args of [['--slow'], ['--slow', 'x'], ['--body', 'x'], ['--rate', 'x'], ['--count', '0'], ['x'], ['--other']]) assert.equal((await run(args)).status, 2, args.join(' '));
  assert.equal((await run(['--errors', '--body', '1'])).status, 1);
});

scenario('the client records it, with whole bodies, for nobody else', { shards: [2], transports: ['tcp'] }, async (hub) => {
  (await hub.agent('b')).serve(() => 1);
  const source = await hub.agent('asker');
  const file = join(hub.directory, 'recording');
  const run = (args, ...before) => {
    const [first, ...rest] = [...before, program, '--hub', hub.uri('tcp'), 'record', ...args];
    const child = spawn(first, rest);
    const run = { child, told: '', exit: new Promise((resolve) => child.on('close', resolve)) };
    run.open = new Promise((resolve) => child.stderr.setEncoding('utf8').on('data', (text) => { run.told += text; if (run.told.includes('open at')) resolve(); }));
    return run;
  };
  const one = run([file, '--agent', 'b']);
  await within(Promise.race([one.open, one.exit]), 'the tap to open');
  const filler = 'é\u0001'.repeat(20_000);
  await source.ask('work', { targetAgent: 'b', filler });
  source.notify('note', { targetAgent: 'b' });
  await source.ask('work', { targetAgent: 'b' });
  while (readFileSync(file, 'utf8').split('\n').length < 7) await sleep(5);
  one.child.kill('SIGINT');
  assert.equal(await within(one.exit, 'the recording to end'), 0);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const lines = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual([lines[0], lines.at(-1)], [{ 'patchbay-recording': 1 }, { recorded: 5, missed: 0 }]);
  assert.equal(JSON.parse(lines.find(({ outcome }) => outcome === null).body).params.filler, filler);
  const again = run([file]);
  assert.equal(await within(again.exit, 'its refusal'), 2);
  assert.equal(readFileSync(file, 'utf8').trim().split('\n').length, 7, 'never over a file');
  for (const signal of ['SIGHUP', 'SIGTERM']) {
    const ended = run([`${file}-${signal}`]);
    await within(Promise.race([ended.open, ended.exit]), 'the tap to open');
    ended.child.kill('SIGSTOP'); // the entries that the hub has sent when the signal comes are recorded, too
    await source.ask('work', { targetAgent: 'b' });
    ended.child.kill(signal);
    ended.child.kill('SIGCONT');
    assert.equal(await within(ended.exit, 'its end'), 0);
    assert.deepEqual(JSON.parse(readFileSync(`${file}-${signal}`, 'utf8').trim().split('\n').at(-1)), { recorded: 2, missed: 0 });
  }
  const kept = run([`${file}-nohup`], 'nohup');
  await within(Promise.race([kept.open, kept.exit]), 'the tap to open');
  kept.child.kill('SIGHUP');
  await source.ask('work', { targetAgent: 'b' });
  while (kept.child.exitCode === null && readFileSync(`${file}-nohup`, 'utf8').split('\n').length < 4) await sleep(5);
  assert.equal(kept.child.exitCode, null, 'a hangup that nohup has ignored');
  kept.child.kill('SIGINT');
  assert.equal(await within(kept.exit, 'its end'), 0);
  assert.deepEqual(JSON.parse(readFileSync(`${file}-nohup`, 'utf8').trim().split('\n').at(-1)), { recorded: 2, missed: 0 });
  const timed = run([`${file}2`, '--for', '100ms']);
  assert.equal(await within(timed.exit, 'its time'), 0);
  for (const args of [[], ['a', 'b'], [`${file}3`, '--for', 'x'], [`${file}3`, '--other']]) assert.equal(await within(run(args).exit, 'usage'), 2, args.join(' '));
});
