// JSON-RPC batches: each member is routed by itself, and the answers come back in one array. A batch that can't be read
// is one error, and no member of it is routed.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const ping = (id, params = []) => `{"jsonrpc":"2.0","id":${id},"method":"hub/ping","params":${JSON.stringify(params)}}`;
const ask = (id, target, more = '') => `{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"${target}"${more}}}`;
const byId = (array) => new Map(array.map((answer) => [answer.id, answer]));

scenario('answers of several targets and of the hub come in one array', EVERYWHERE, async (hub) => {
  const targets = [await hub.agent('one'), await hub.agent('two'), await hub.agent('three')];
  const source = await hub.peer();
  source.send(` [ ${ask(1, 'one')} ,\n${ask(2, 'two')},${ping('"p"', { deep: [1] })},${ask(3, 'three')},${ask(4, 'nobody')}] `, 'Custom-A: b');
  for (const target of targets.reverse()) {
    const request = await target.next();
    assert.deepEqual(request.fields[1], ['Custom-A', 'b']);
    target.reply(request.json.id, request.json.params.targetAgent);
  }
  const answers = (await source.next('the array')).json;
  assert.equal(answers.length, 5);
  const map = byId(answers);
  assert.deepEqual([1, 2, 3].map((id) => map.get(id).result), ['one', 'two', 'three']);
  assert.deepEqual(map.get('p').result, { deep: [1] });
  assertError(map.get(4), -32010);
  await source.silent('the array');
});

scenario('a member arrives as a frame of its own, byte for byte', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const body = '{"jsonrpc" : "2.0", "method":"m","params":{"x":"ü\\u0041","targetAgent":"target","n":1e3}, "id" :  "mine"}';
  source.send(`[${body},{"jsonrpc":"2.0","method":"note","params":{"targetAgent":"target","list":[ 1,2 ]}}]`);
  const request = await target.next();
  assert.equal(request.text, body.replace('"mine"', String(request.json.id)));
  assert.equal((await target.next()).text, '{"jsonrpc":"2.0","method":"note","params":{"targetAgent":"target","list":[ 1,2 ]}}');
  target.send(`{"id":${request.json.id},  "result":{"large":"${'r'.repeat(100_000)}"},"jsonrpc":"2.0"}`, 'Custom-B: c');
  const array = await source.next();
  assert.equal(array.text, `[{"id":"mine",  "result":{"large":"${'r'.repeat(100_000)}"},"jsonrpc":"2.0"}]`);
});

scenario('invalid members are answered in the array, the others are served', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  source.send(`[1,"x",null,[],{},{"id":5},{"id":null,"method":"m"},{"jsonrpc":"2.0","method":"nobody/serves"},${ping(7)},{"id":1,"id":2,"method":"m"}]`);
  const answers = (await source.next()).json;
  assert.equal(answers.length, 9);
  const nulls = answers.filter((answer) => answer.id === null);
  assert.equal(nulls.length, 8);
  for (const answer of nulls) assertError(answer, -32600);
  assert.deepEqual(byId(answers).get(7).result, []);
});

scenario('a batch that is empty, too large or no JSON is one error, and nothing of it is routed', { ...EVERYWHERE, options: ['--max-batch', '3'] }, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const note = '{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"target"}}';
  for (const [body, code] of [
    ['[]', -32600],
    [' [ ] ', -32600],
    [`[${note},${note},${note},${note}]`, -32600],
    [`[${note},{"a":tru}]`, -32700],
    [`[${note},]`, -32700],
    [`[${note} ${note}]`, -32700],
    [`[${note}`, -32700],
    [`[${note}]]`, -32700],
    [`[${note},"\u0001"]`, -32700],
    [Buffer.concat([Buffer.from(`[${note},"`), Buffer.from([0xff]), Buffer.from('"]')]), -32600],
    [`[${note},${'['.repeat(5000)}${']'.repeat(5000)}]`, -32600],
  ]) {
    source.send(body);
    const answer = (await source.next()).json;
    assertError(answer, code, String(body).slice(0, 100));
    assert.equal(answer.id, null);
  }
  source.send(`[${note},${note},${note}]`);
  for (let count = 0; count < 3; count++) assert.equal((await target.next()).text, note);
  await source.silent('only notifications');
  await target.silent('what was refused');
});

scenario('ids may repeat in a batch, and responses too may come in one', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${ask(1, 'target', ',"n":1')},${ask(1, 'target', ',"n":2')}]`);
  const requests = [(await target.next()).json, (await target.next()).json];
  target.send(`[${requests.map((one) => `{"jsonrpc":"2.0","id":${one.id},"result":${one.params.n}}`).join(',')},{"jsonrpc":"2.0","id":999,"result":0}]`);
  assert.equal((await source.next()).text, '[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":1,"result":2}]');
  await target.silent('a batch of responses');
});

scenario('a broken response in a batch ends its request', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${ask(1, 'target')},${ask(2, 'target')}]`);
  const ids = [(await target.next()).json.id, (await target.next()).json.id];
  target.send(`[{"jsonrpc":"2.0","id":${ids[0]},"result":1,"result":2},{"jsonrpc":"2.0","id":${ids[1]},"result":3}]`);
  const map = byId((await source.next()).json);
  assertError(map.get(1), -32603);
  assert.equal(map.get(2).result, 3);
});

scenario('a target that leaves, a cancel and a time that is up end members', { ...EVERYWHERE, options: ['--request-timeout', '300ms'] }, async (hub) => {
  const leaver = await hub.agent('leaver');
  const idler = await hub.agent('idler');
  const source = await hub.peer();
  source.send(`[${ask(1, 'leaver')},${ask(2, 'idler')},${ask(3, 'idler')},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}]`);
  await leaver.next();
  leaver.drop();
  const ids = [(await idler.next()).json, (await idler.next()).json];
  assert.equal(ids[0].method, 'm');
  const map = byId((await source.next()).json);
  assertError(map.get(1), -32050);
  assertError(map.get(2), -32051);
  assert.ok([-32051, -32800].includes(map.get(3).error.code));
});

scenario('registering in a batch, and leaving in one', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  peer.send('[{"jsonrpc":"2.0","id":1,"method":"agent/register","params":{"agentId":"a"}},{"jsonrpc":"2.0","id":2,"method":"agent/register","params":{"agentId":"b"}},{"jsonrpc":"2.0","method":"initialized"}]');
  const map = byId((await peer.next()).json);
  assert.deepEqual([1, 2].map((id) => map.get(id).result.registered), [true, true]);
  peer.send(`[${ping(1)},{"jsonrpc":"2.0","id":2,"method":"exit"},${ping(3)}]`);
  const last = (await peer.next()).json;
  assert.deepEqual(last.map((answer) => answer.id), [1, 2, 3]);
  await peer.gone();
});

scenario('a source that half-closes still gets its array', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${ask(1, 'target')},{"jsonrpc":"2.0","id":2,"method":"agent/unregister","params":{"agentId":"none"}}]`);
  await source.finish();
  const request = await target.next();
  target.reply(request.json.id, 'late');
  const map = byId((await source.next()).json);
  assert.equal(map.get(1).result, 'late');
  assertError(map.get(2), -32010);
  await source.gone();
});

scenario('a source that leaves takes its batch along', { ...EVERYWHERE, transports: ['tcp'] }, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${ask(1, 'target')},${ask(2, 'target')},${ping(3)}]`);
  const first = (await target.next()).json;
  await target.next();
  target.reply(first.id, 'one');
  await target.silent('an answer');
  await source.silent('a part of a batch'); // now the answer has come to the source's shard too
  source.socket.resetAndDestroy();
  const cancel = (await target.find((one) => one.json.method === '$/cancelRequest', 'the cancel')).json;
  assert.notEqual(cancel.params.id, first.id);
});

scenario('an array has the bound of a frame', { ...EVERYWHERE, options: ['--max-frame', '64K'] }, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${ask(1, 'target')},${ask(2, 'target')},${ask(3, 'target')}]`);
  for (let count = 0; count < 3; count++) target.reply((await target.next()).json.id, 'x'.repeat(30_000));
  const answers = (await source.next()).json;
  assert.deepEqual(answers.map((answer) => answer.result?.length ?? answer.error.code), [30_000, 30_000, -32055]);
  assert.equal(answers[2].error.data.limit, 65536);
});

scenario('a thousand members, and one more', EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve((request) => request.params);
  const source = await hub.peer();
  const members = Array.from({ length: 1000 }, (_, id) => ask(id, 'target', `,"n":${id}`));
  source.send(`[${members.join(',')}]`);
  const answers = (await source.next()).json;
  assert.equal(answers.length, 1000);
  for (const answer of answers) assert.equal(answer.result.n, answer.id);
  source.send(`[${members.join(',')},${ping(1)}]`);
  assertError((await source.next()).json, -32600);
});
