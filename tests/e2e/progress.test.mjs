// Progress tokens: the hub puts its own in place of a request's. The target's reports under them reach the one peer
// that asked, with the token it chose, until the request ends.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { scenario } from './hub.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError } from './peer.mjs';

fourAtOnce();

const EVERYWHERE = { shards: [1, 2] };
const request = (id, params) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"target"${params}}}`;
const progress = (token, value = 1) => `{"jsonrpc":"2.0","method":"$/progress","params":{"token":${token},"value":${JSON.stringify(value)}}}`;
const mcp = (token) => `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":3,"progressToken":${token},"total":10}}`;
const tokensOf = (params) => [params.workDoneToken, params.partialResultToken, params._meta?.progressToken].map((token) => JSON.stringify(token));

scenario('all three tokens are translated and restored, and nothing else is touched', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const before = '{"params":{"_meta":{"a":[1, 2],"progressToken":"\\u0061b"},"targetAgent":"target","partialResultToken": 7.0 ,"x":"workDoneToken","workDoneToken":"w"},"method":"m","id":"i","jsonrpc":"2.0"}';
  source.send(before);
  const asked = await target.next();
  const [work, partial, meta] = tokensOf(asked.json.params);
  assert.equal(new Set([work, partial, meta]).size, 3);
  assert.equal(asked.text, before.replace('"\\u0061b"', meta).replace('7.0', partial).replace('"w"', work).replace('"i"', asked.json.id));
  target.send(`{"jsonrpc":"2.0","params":{"value":{"kind":"begin","n":1e2},"token":${work}},"method":"$/progress"}`, 'Custom-A: b');
  target.send(progress(partial, ['part']));
  target.send(mcp(meta));
  const first = await source.next();
  assert.equal(first.text, '{"jsonrpc":"2.0","params":{"value":{"kind":"begin","n":1e2},"token":"w"},"method":"$/progress"}');
  assert.deepEqual(first.fields[1], ['Custom-A', 'b']);
  assert.equal((await source.next()).text, progress('7.0', ['part']));
  assert.equal((await source.next()).text, mcp('"\\u0061b"'));
  target.reply(asked.json.id, 'done');
  assert.equal((await source.next()).json.result, 'done');
  target.send(progress(work));
  await target.silent('progress after the end');
  await source.silent('progress after the end');
});

scenario('fifty sources with the same ids and tokens', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const sources = await Promise.all(Array.from({ length: 50 }, () => hub.peer()));
  sources.forEach((source, n) => source.send(request(1, `,"n":${n},"workDoneToken":1,"_meta":{"progressToken":1}`)));
  for (let count = 0; count < 50; count++) {
    const { id, params } = (await target.next()).json;
    target.send(progress(JSON.stringify(params.workDoneToken), params.n));
    target.send(mcp(JSON.stringify(params._meta.progressToken)));
    target.reply(id, params.n);
  }
  for (const [n, source] of sources.entries()) {
    assert.equal((await source.next()).text, progress(1, n));
    assert.equal((await source.next()).text, mcp(1));
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 1, result: n });
    await source.silent('its own progress');
  }
});

scenario('only the target of a request reports its progress', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const other = await hub.agent('other');
  source.send(request(1, ',"workDoneToken":"t"'));
  const [work] = tokensOf((await target.next()).json.params);
  other.send(progress(work));
  source.send(progress(work));
  for (const token of ['"t"', '"12345w"', '1', 'null', '{}', '"w"', '""', `"${'9'.repeat(17)}w"`, work.replace('w', 'm'), work.replace('w', 'x'), work.replace('"', '" '), '"-1w"'])
    target.send(progress(token));
  await other.silent('foreign progress');
  await target.silent('unknown progress');
  await source.silent('unknown progress');
  target.send(progress(work));
  assert.equal((await source.next()).text, progress('"t"'));
});

scenario('what is no token stays as it is, and a token has the bound of an id', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const params = ',"workDoneToken":null,"partialResultToken":{"a":1},"_meta":["progressToken"]';
  source.send(request(1, params));
  const asked = await target.next();
  assert.equal(asked.text, request(asked.json.id, params));
  source.send(request(2, `,"workDoneToken":"${'t'.repeat(255)}"`));
  const error = assertError((await source.next()).json, -32602);
  assert.equal(error.data.field, 'params.workDoneToken');
  source.send(request(3, `,"workDoneToken":"${'t'.repeat(254)}","partialResultToken":"${'u'.repeat(254)}"`));
  const [work, partial] = tokensOf((await target.next()).json.params);
  target.send(progress(partial));
  target.send(progress(work));
  assert.equal((await source.next()).text, progress(`"${'u'.repeat(254)}"`));
  assert.equal((await source.next()).text, progress(`"${'t'.repeat(254)}"`));
});

scenario('a target in the params decides alone; a token of a notification is its own', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const other = await hub.agent('other');
  const source = await hub.peer();
  source.send('{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"target","workDoneToken":"mine"}}');
  assert.equal((await target.next()).json.params.workDoneToken, 'mine');
  source.send(request(1, ',"workDoneToken":"t"'));
  const [work] = tokensOf((await target.next()).json.params);
  const aside = `{"jsonrpc":"2.0","method":"$/progress","params":{"targetAgent":"other","token":${work}}}`;
  target.send(aside);
  assert.equal((await other.next()).text, aside);
  await source.silent('progress for another');
  assertError(await target.ask('$/progress', { token: JSON.parse(work), value: 1 }), -32601);
});

scenario('progress in a batch, and progress of one', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`[${request(1, ',"workDoneToken":"a"')},${request(1, ',"workDoneToken":"a"')}]`);
  const asked = [(await target.next()).json, (await target.next()).json];
  const tokens = asked.map((one) => tokensOf(one.params)[0]);
  assert.notEqual(tokens[0], tokens[1]);
  target.send(`[${progress(tokens[1], 'one')},${progress(tokens[0], 'two')}]`);
  assert.equal((await source.next()).text, progress('"a"', 'one'));
  assert.equal((await source.next()).text, progress('"a"', 'two'));
});

const IDLE = 'Custom-Idle-Timeout-Ms: 1500', PAUSE_MS = 200; // so far apart that a busy machine keeps them apart

// Reports progress again and again for so long, and answers then.
async function work(target, asked, ms) { // the pauses are the work
  const [token] = tokensOf(asked.params);
  const until = Date.now() + ms;
  while (Date.now() < until) {
    target.send(progress(token));
    await sleep(PAUSE_MS);
  }
}

scenario('each progress gives a request its idle time anew', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(request(1, ',"workDoneToken":"t"'), IDLE);
  const asked = (await target.next()).json;
  await work(target, asked, 2500);
  target.reply(asked.id, 'done');
  const { json } = await source.find(({ json }) => json.id === 1, 'the answer');
  assert.equal(json.result, 'done');
});

scenario('without progress for as long, it ends, and the target is told', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const began = Date.now();
  source.send(request(1, ',"workDoneToken":"t"'), IDLE, 'Custom-Timeout-Ms: 60000');
  const asked = (await target.next()).json;
  await work(target, asked, 500);
  const { json } = await source.find(({ json }) => json.id === 1, 'the answer');
  const { data } = assertError(json, -32051);
  assert.deepEqual(data, { agent: 'target', timeoutMs: 1500, idle: true });
  assert.ok(Date.now() - began >= 1800, 'as long after the last progress');
  const cancel = await target.next();
  assert.equal(cancel.json.method, '$/cancelRequest');
});

scenario('the time of the whole holds beside it', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(request(1, ',"workDoneToken":"t"'), IDLE, 'Custom-Timeout-Ms: 2500');
  const asked = (await target.next()).json;
  await work(target, asked, 3000);
  const { json } = await source.find(({ json }) => json.id === 1, 'the answer');
  const { data } = assertError(json, -32051);
  assert.deepEqual(data, { agent: 'target', timeoutMs: 2500 });
});

scenario("another's progress extends nothing, and a request without a token has its idle time once", EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const other = await hub.agent('other');
  const source = await hub.peer();
  source.send(request(1, ',"workDoneToken":"t"'), IDLE);
  const asked = (await target.next()).json;
  source.send(request(2, ''), IDLE);
  await Promise.all([work(other, asked, 2200), (async () => {
    const ends = [(await source.next()).json, (await source.next()).json];
    for (const id of [1, 2]) assert.equal(assertError(ends.find((end) => end.id === id), -32051).data.idle, true);
  })()]);
});

scenario('a bad idle time is -32602, and two of them are a framing error', EVERYWHERE, async (hub) => {
  await hub.agent('target');
  const source = await hub.peer();
  for (const bad of ['0', '3600001', 'x', '', '1.0']) {
    source.send(request(1, ''), `Custom-Idle-Timeout-Ms: ${bad}`);
    const { data } = assertError((await source.next()).json, -32602);
    assert.equal(data.field, 'Custom-Idle-Timeout-Ms');
  }
  source.send(request(1, ''), IDLE, IDLE);
  assertError((await source.next()).json, -32700);
});

const EXTENDS = { ...EVERYWHERE, options: ['--progress-extends', '--request-timeout', '1500ms'] };

scenario('--progress-extends: --request-timeout begins anew where the source says nothing of time', EXTENDS, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(request(1, ',"workDoneToken":"t"'));
  source.send(request(2, ',"workDoneToken":"u"'), 'Custom-Timeout-Ms: 2000');
  const asked = [(await target.next()).json, (await target.next()).json];
  await Promise.all(asked.map((one) => work(target, one, 2500)));
  target.reply(asked[0].id, 'done');
  const ends = [];
  while (ends.length < 2) {
    const { json } = await source.next();
    if (json.id) ends.push(json);
  }
  const late = ends.find(({ id }) => id === 2);
  assert.deepEqual(assertError(late, -32051).data, { agent: 'target', timeoutMs: 2000 });
  assert.equal(ends.find(({ id }) => id === 1).result, 'done');
});
