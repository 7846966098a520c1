// hub/pending and `patchbay pending` (PATCHBAY): what is under way on all shards, how far it is, and who may see it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { scenario } from './hub.mjs';
import { assertError, within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const EVERYWHERE = { shards: [1, 2, 4] };

const patchbay = (hub, ...args) => within(new Promise((resolve) => {
  execFile(program, ['--hub', hub.uri('tcp'), ...args], (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stdout, stderr }));
}), `patchbay ${args.join(' ')}`);

const ask = async (peer, params = {}) => (await peer.ask('hub/pending', params)).result;
const request = (id, agent, more = {}) => JSON.stringify({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: agent, ...more } });

scenario('each request that is under way has a row, the oldest first, wherever it lives', EVERYWHERE, async (hub) => {
  const targets = await Promise.all(['a', 'b', 'c'].map((id) => hub.agent(id)));
  const sources = [await hub.agent('asker'), await hub.peer(), await hub.peer()];
  const watch = await hub.peer();
  const ids = [];
  for (let n = 0; n < 12; n++) {
    const body = request(`r${n}`, 'abc'[n % 3], { n });
    sources[n % sources.length].send(body, 'Custom-Timeout-Ms: 60000');
    const { json } = await targets[n % 3].next();
    ids.push({ bytes: body.length, targetId: json.id });
  }
  const { pending, total } = await ask(watch);
  assert.equal(total, 12);
  assert.deepEqual(pending.map(({ sourceId }) => sourceId), ids.map((_, n) => `r${n}`));
  for (const [n, row] of pending.entries()) {
    assert.equal(row.method, 'work');
    assert.equal(row.target, 'abc'[n % 3]);
    assert.equal(row.targetId, ids[n].targetId);
    assert.equal(row.bytes, ids[n].bytes);
    assert.equal(row.state, 'sent');
    assert.ok(row.ageMs >= 0 && row.leftMs > 0 && row.leftMs + row.ageMs <= 60_000 && row.leftMs + row.ageMs > 59_000, JSON.stringify(row));
    if (n % 3 === 0) assert.equal(row.source, 'asker');
    else assert.match(row.source, /^#[0-9]+$/);
    assert.equal('user' in row, false);
  }
  const limited = await ask(watch, { limit: 5 });
  assert.deepEqual(limited.pending.map(({ sourceId }) => sourceId), ['r0', 'r1', 'r2', 'r3', 'r4']);
  assert.equal(limited.total, 12);
  assert.deepEqual((await ask(watch, { agent: 'b' })).pending.map(({ sourceId }) => sourceId), ['r1', 'r4', 'r7', 'r10']);
  assert.equal((await ask(watch, { agent: 'ask*' })).total, 4);
  assert.equal((await ask(watch, { agent: '*' })).total, 12);
  assert.equal((await ask(watch, { agent: 'nobody' })).total, 0);
  for (const [n, { targetId }] of ids.entries()) targets[n % 3].reply(targetId, n);
  for (let n = 0; n < 12; n++) await sources[n % 3].next();
  assert.deepEqual(await ask(watch), { pending: [], total: 0 });
});

scenario('what waits in a queue is told from what was sent', { shards: [1, 2], options: ['--max-queue', '64M'] }, async (hub) => {
  const target = await hub.agent('slow');
  const source = await hub.peer();
  target.socket.pause();
  for (let n = 0; n < 16; n++) source.send(request(n, 'slow', { filler: 'x'.repeat(1 << 20) }));
  const watch = await hub.peer();
  let rows;
  do rows = (await ask(watch)).pending; while (rows.length < 16);
  assert.equal(rows.at(-1).state, 'queued');
  assert.deepEqual(rows.map(({ state }) => state), rows.map(({ state }) => state).sort().reverse(), 'in order');
  target.socket.resume();
  for (let n = 0; n < 16; n++) await target.next();
  assert.deepEqual([...new Set((await ask(watch)).pending.map(({ state }) => state))], ['sent']);
});

scenario('what is held is told, and a long method is cut', { shards: [1, 2], options: ['--gate', 'manual'] }, async (hub) => {
  await hub.agent('b');
  const source = await hub.agent('asker');
  source.send(request('h', 'b'), 'Governance-Level: manual');
  const watch = await hub.peer();
  let row;
  do [row] = (await ask(watch)).pending; while (!row);
  const { ageMs, leftMs, ...rest } = row;
  assert.deepEqual(rest, { method: 'work', source: 'asker', target: 'b', sourceId: 'h', bytes: request('h', 'b').length, state: 'held' });
  assert.ok(ageMs >= 0 && leftMs <= 300_000 && leftMs > 290_000);
  for (const [n, [method, shown]] of [['m'.repeat(62) + 'é'.repeat(10), 'm'.repeat(62)], ['é'.repeat(100), 'é'.repeat(31)],
    ['n'.repeat(300), 'n'.repeat(63)], ['"'.repeat(300), '"'.repeat(63)]].entries()) {
    source.send(JSON.stringify({ jsonrpc: '2.0', id: n, method, params: { targetAgent: 'b' } }));
    do row = (await ask(watch)).pending.find(({ sourceId }) => sourceId === n); while (!row);
    assert.equal(row.method, shown);
  }
});

scenario('values that are none are refused, and a notification does nothing', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  for (const params of [{ limit: 0 }, { limit: 1001 }, { limit: 'x' }, { agent: 7 }, { agent: '' }, { agent: 'x'.repeat(300) }, { agent: 'a*b' }, { agent: 'a b' }, { agent: 'x'.repeat(256) }, { agent: 'a\u0000' }, [], 'all'])
    assertError(await peer.ask('hub/pending', params), -32602);
  peer.notify('hub/pending', {});
  const both = peer.send('[{"jsonrpc":"2.0","id":1,"method":"hub/pending"},{"jsonrpc":"2.0","id":2,"method":"hub/pending","params":{"limit":1}}]');
  assert.deepEqual((await peer.next()).json.map(({ result }) => result), [{ pending: [], total: 0 }, { pending: [], total: 0 }], both);
});

scenario('many at once are answered, while requests come and go', { shards: [1, 2] }, async (hub) => {
  (await hub.agent('b')).serve(({ params }) => params.n);
  const silent = await hub.agent('silent');
  const source = await hub.peer();
  for (let n = 0; n < 3000; n++) source.send(request(`s${n}`, 'silent', { n }));
  const watch = await hub.peer();
  const asked = Array.from({ length: 50 }, (_, n) => ask(watch, { limit: 1 + n * 20 }));
  const served = Array.from({ length: 500 }, (_, n) => source.ask('work', { targetAgent: 'b', n }));
  await Promise.all(served);
  for (const [n, { pending }] of (await Promise.all(asked)).entries()) {
    const ages = pending.map(({ ageMs }) => ageMs);
    assert.ok(pending.length <= 1 + n * 20);
    assert.deepEqual(ages, ages.toSorted((one, other) => other - one));
  }
  silent.drop();
});

scenario('the client shows them', { shards: [2], transports: ['tcp'] }, async (hub) => {
  const target = await hub.agent('b');
  const source = await hub.agent('asker');
  source.send(JSON.stringify({ jsonrpc: '2.0', id: 'esc\u001b[31m', method: 'bell\u0007', params: { targetAgent: 'b' } }));
  await target.next();
  const { status, stdout, stderr } = await patchbay(hub, 'pending');
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  const [head, row] = stdout.split('\n');
  assert.match(head, /^AGE ms +LEFT ms +STATE +BYTES +SOURCE +TARGET +USER +ID +METHOD$/);
  assert.match(row, /^[0-9]+ +[0-9]+ +sent +[0-9]+ +asker +b +- +\S+ +bell\?$/);
  const json = await patchbay(hub, 'pending', 'b', '--json', '--limit', '1');
  assert.equal(JSON.parse(json.stdout).pending[0].target, 'b');
  for (const args of [['pending', '--limit'], ['pending', '--limit', 'x'], ['pending', 'a', 'b'], ['pending', '--other']])
    assert.equal((await patchbay(hub, ...args)).status, 2, args.join(' '));
  for (const limit of ['0', '1001', '18446744073709551615']) {
    const refused = await patchbay(hub, 'pending', '--limit', limit);
    assert.deepEqual([refused.status, refused.stdout], [1, '']);
    assert.equal(JSON.parse(refused.stderr).data.field, 'params.limit');
  }
});

scenario('lists that are asked for all at once take little memory, and some are refused', { shards: [2], options: ['--max-memory', '64M'] }, async (hub) => {
  const peer = await hub.peer(), COUNT = 5000;
  for (let id = 1; id <= COUNT; id++) peer.send({ jsonrpc: '2.0', id, method: 'hub/pending', params: { limit: 1000 } });
  const answers = [];
  while (answers.length < COUNT) answers.push((await peer.next()).json);
  const refused = answers.filter(({ error }) => error);
  for (const { error } of refused) assert.deepEqual([error.code, error.data.limit], [-32052, 64]);
  assert.ok(refused.length > 0 && refused.length < COUNT);
  assert.deepEqual(await ask(peer), { pending: [], total: 0 });
});
