// MCP over HTTP, the era of sessions: one server behind /mcp/NAME.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OPENING, send, Session } from './mcp_web.mjs';
import { fourAtOnce } from './parallel.mjs';
import { WAIT_MS } from './peer.mjs';
import { Client, JSON_TYPE, request, web } from './web.mjs';

fourAtOnce();

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-http-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_server.py', import.meta.url));

function config(name, text) {
  const path = join(directory, name);
  writeFileSync(path, text);
  return ['--config', path];
}

const SECTION = `[child server]\ncommand = python3 -S -E ${program}\nprotocol = mcp\nask-clients = yes\n`;
const ENDS = ['--drain-timeout', '100ms']; // with requests that nobody answers
const SHARED = { shards: [1, 2], options: [...config('shared.ini', SECTION), ...ENDS] };
const STRICT = { ...SHARED, options: [...SHARED.options, '--validate', 'strict'] };
const QUICK = { ...SHARED, options: [...SHARED.options, '--mcp-keep-alive', '50ms'] };
const FEW = { ...SHARED, options: [...SHARED.options, '--max-mcp-sessions', '2'] };
const IDLE = { ...SHARED, options: [...SHARED.options, '--mcp-session-idle', '500ms'] };
const EACH = { ...SHARED, options: config('each.ini', `${SECTION}instances = each\n`) };
const POOL = { ...SHARED, options: config('pool.ini', `${SECTION}instances = 3\n`) };
const MODERN = { ...SHARED, options: config('modern.ini', SECTION.replace('.py', '.py --modern')) };
const PLAIN = { ...SHARED, options: config('plain.ini', '[child server]\ncommand = cat\n') };

async function until(what, look) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`no ${what}`);
}
const seen = async (session) => (await session.ask('seen')).result.messages;
const errorOf = async (answer, status, code) => {
  await answer.end();
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.error.code, code, answer.text);
  return answer.json;
};
web('strict validation asks for the version of JSON-RPC', STRICT, async (hub) => {
  for (const jsonrpc of [undefined, '1.0', 2]) {
    const answer = await send(hub, 'POST', '/mcp/server', { body: { jsonrpc, id: 1, method: 'initialize', params: OPENING } });
    assert.deepEqual((await errorOf(answer, 400, -32602)).error.data, { field: 'jsonrpc', expected: '2.0' });
  }
  await (await Session.open(hub)).close();
});

web('a session is opened, used and ended', SHARED, async (hub) => {
  const session = await Session.open(hub);
  assert.equal(session.opened.result.protocolVersion, OPENING.protocolVersion);
  assert.equal((await session.ask('where')).result.era, 'legacy');
  assert.deepEqual((await session.ask('ping')).result, {});
  const other = await Session.open(hub);
  assert.notEqual(other.id, session.id);
  assert.equal((await other.ask('where')).result.process, (await session.ask('where')).result.process);
  await session.close();
  await errorOf(await session.call('where'), 404, -31054);
  await errorOf(await session.listen(), 404, -31054);
  assert.equal((await other.ask('where')).result.era, 'legacy');
});

web('what is no request of the session is refused before the server hears of it', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const post = (body, fields) => session.send(body, fields);
  const ASK = { jsonrpc: '2.0', id: 'x"y', method: 'where' };
  const echoed = await errorOf(await post(ASK, { 'Mcp-Session-Id': null }), 400, -31054);
  assert.equal(echoed.id, 'x"y');
  assert.match(echoed.error.data.fault, /^Mcp-Session-Id must be there, once: the answer to initialize has it$/);
  const unknown = await errorOf(await post(ASK, { 'Mcp-Session-Id': '0'.repeat(32) }), 404, -31054);
  assert.match(unknown.error.data.fault, /: initialize opens a new one$/);
  await errorOf(await send(hub, 'POST', '/mcp/nobody', { body: ASK }), 404, -31010);
  await errorOf(await post({ ...ASK, method: 'initialize', params: OPENING }), 400, -32600);
  await errorOf(await post({ jsonrpc: '2.0', method: 'initialize', params: OPENING }, { 'Mcp-Session-Id': null }), 400, -32600);
  await errorOf(await post('{"jsonrpc"'), 400, -32700);
  await errorOf(await post('[]'), 400, -32600);
  await errorOf(await post([ASK]), 400, -32600);
  await errorOf(await post({ ...ASK, params: [] }), 400, -32600);
  await errorOf(await post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}'), 400, -32600);
  await errorOf(await post('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\\u0061me":"a"}}'), 400, -32600);
  for (const [type, status] of [['text/plain', 415], [null, 415], ['application/json; charset=latin1', 415]])
    assert.equal((await (await post(ASK, { 'Content-Type': type })).end()).status, status);
  assert.equal((await (await post(ASK, { Accept: 'text/html' })).end()).status, 406);
  assert.equal((await (await post(ASK, { Accept: 'application/json;q=0, text/html' })).end()).status, 406);
  for (const accept of [null, '*/*', 'application/*', 'application/json;q=0.1'])
    assert.equal((await (await post(ASK, { Accept: accept })).end()).answer('x"y').result.era, 'legacy');
  const put = await (await send(hub, 'PUT', '/mcp/server')).end();
  assert.equal(put.status, 405);
  assert.equal(put.fields.allow, 'GET, POST, DELETE');
  for (const method of ['GET', 'DELETE']) assert.equal((await (await send(hub, method, '/mcp/server')).end()).status, 405);
  assert.deepEqual((await seen(session)).map(({ method }) => method).filter((method) => method !== 'where'),
    ['initialize', 'notifications/initialized']);
});

web('no MCP server is none', PLAIN, async (hub) => {
  await errorOf(await send(hub, 'POST', '/mcp/server', { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING } }), 404, -31010);
});

web('a server without sessions says so itself', MODERN, async (hub) => {
  const answer = await (await send(hub, 'POST', '/mcp/server', { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING } })).end();
  assert.equal(answer.status, 200);
  assert.equal(answer.answer(1).error.code, -32602);
  assert.ok(!('mcp-session-id' in answer.fields));
});

web('bodies pass byte for byte, but for id and token', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const text = '{ "params" : {"x":1.0e0,"_meta":{"progressToken":"mine"},"b":"\\u00e9\\/"},"method":"echo-raw","jsonrpc":"2.0","id": 7 }';
  (await session.send(text)).drop();
  const heard = await until('message', async () => (await seen(session)).find(({ method }) => method === 'echo-raw'));
  assert.equal(heard.params.b, 'é/');
  assert.notEqual(heard.id, 7);
  assert.notEqual(heard.params._meta.progressToken, 'mine');
});

web('progress goes on the stream of its request', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const waiting = session.call('wait', { _meta: { progressToken: 'mine' } });
  const asked = await until('request', async () => (await seen(session)).find(({ method }) => method === 'wait'));
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: asked.params._meta.progressToken, progress: 1 } };
  await session.ask('say', { message: progress });
  const stream = await waiting;
  assert.equal(stream.status, 200);
  assert.ok(stream.isStream);
  assert.equal(stream.fields['x-accel-buffering'], 'no');
  await stream.until(({ messages }) => messages.length, 'progress');
  assert.deepEqual(stream.messages[0].params, { progressToken: 'mine', progress: 1 });
  await session.ask('finish', { id: asked.id, result: { done: 'x' } });
  await stream.end();
  assert.deepEqual(stream.messages[1], { jsonrpc: '2.0', id: 1, result: { done: 'x' } });
});

web('events alone are what some clients take', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const answer = await (await session.call('where', {}, { Accept: 'text/event-stream' })).end();
  assert.ok(answer.isStream);
  assert.equal(answer.answer(1).result.era, 'legacy');
  const all = await Session.open(hub, '/mcp');
  for (const accept of ['text/event-stream', 'application/json;q=0, */*']) for (const one of [session, all]) {
    const pong = await (await one.send({ jsonrpc: '2.0', id: 'p', method: 'ping' }, { Accept: accept })).end();
    assert.ok(pong.isStream, accept);
    assert.deepEqual(pong.answer('p').result, {});
  }
  const json = await (await session.call('say', { message: { jsonrpc: '2.0', method: 'notifications/x' } }, { Accept: 'application/json' })).end();
  assert.deepEqual(json.json, { jsonrpc: '2.0', id: 2, result: {} });
});

web('what is for a session goes on its stream, or waits for it', SHARED, async (hub) => {
  const session = await Session.open(hub), other = await Session.open(hub);
  const note = (n) => ({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { n } });
  await other.ask('say', { message: note(1) }); // the session has neither stream nor request: it waits
  const stream = await session.listen();
  assert.equal(stream.status, 200);
  await stream.until(({ messages }) => messages.length === 1, 'what waited');
  await other.ask('say', { message: note(2) });
  await stream.until(({ messages }) => messages.length === 2, 'the second');
  assert.deepEqual(stream.messages.map(({ params }) => params.n), [1, 2]);
  const second = await session.listen();
  await stream.end();
  await other.ask('say', { message: note(3) });
  await second.until(({ messages }) => messages.length === 1, 'the third');
  await session.close();
  await second.end();
});

web('a server asks a client on the stream of its request', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const question = { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} };
  const waiting = session.call('wait');
  await until('request', async () => (await seen(session)).find(({ method }) => method === 'wait'));
  // `say` is in progress, too, at the same client.
  const stream = await session.call('say', { message: question });
  const all = await Promise.race([waiting, Promise.resolve(stream)]);
  await all.until(({ messages }) => messages.some(({ method }) => method === 'sampling/createMessage'), 'the question');
  const asked = all.messages.find(({ method }) => method === 'sampling/createMessage');
  const other = await Session.open(hub);
  for (const from of [other, session, session]) {
    const answer = await (await from.send({ jsonrpc: '2.0', id: asked.id, result: { from: from === session } })).end();
    assert.equal(answer.status, 202);
  }
  const answers = await until('answer', async () => {
    const found = (await seen(session)).filter(({ id, method }) => id === 'q' && !method);
    return found.length && found;
  });
  assert.deepEqual(answers, [{ jsonrpc: '2.0', id: 'q', result: { from: true } }]);
  const counts = await hub.peer('tcp');
  await until('dropped responses', async () => {
    const { dropped_responses_unknown_id: unknown, dropped_responses_from_another_connection: foreign } = (await counts.ask('hub/stats')).result;
    return unknown + foreign >= 2;
  });
});

web('a client without a stream is asked nothing', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const answer = await (await session.call('say', { message: { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage' } }, { Accept: 'application/json' })).end();
  assert.deepEqual(answer.json.result, {});
  const refused = await until('refusal', async () => (await seen(session)).find(({ id, method }) => id === 'q' && !method));
  assert.equal(refused.error.code, -32601);
});

web('a cancel ends a request without an answer', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const waiting = session.call('wait');
  const asked = await until('request', async () => (await seen(session)).find(({ method }) => method === 'wait'));
  await session.notify('notifications/cancelled', { requestId: 1 });
  const stream = await (await waiting).end();
  assert.ok(stream.isStream);
  assert.deepEqual(stream.messages, []);
  const cancel = await until('cancel', async () => (await seen(session)).find(({ method }) => method === 'notifications/cancelled'));
  assert.equal(cancel.params.requestId, asked.id);
});

for (const [name, how] of [['shared', SHARED], ['each', EACH]])
  web(`progress of a request that was cancelled reaches nobody (instances = ${name})`, how, async (hub) => {
    const session = await Session.open(hub), stream = await session.listen(), counts = await hub.peer('tcp');
    const waiting = session.call('wait', { _meta: { progressToken: 'mine' } });
    const asked = await until('request', async () => (await seen(session)).find(({ method }) => method === 'wait'));
    await session.notify('notifications/cancelled', { requestId: 1 });
    await (await waiting).end();
    await until('cancel', async () => (await seen(session)).find(({ method }) => method === 'notifications/cancelled'));
    const { progressToken } = asked.params._meta;
    await session.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } } });
    await session.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } });
    await stream.until(({ messages }) => messages.length, 'what comes behind it');
    assert.deepEqual(stream.messages.map(({ method }) => method), ['notifications/tools/list_changed']);
    assert.equal((await counts.ask('hub/stats')).result.dropped_progress_unknown_token, 1);
  });

web('the end of a session cancels its requests, and each one has an answer', SHARED, async (hub) => {
  const session = await Session.open(hub), other = await Session.open(hub), peer = await hub.peer('tcp');
  assert.ok((await peer.ask('hub/tap', { errors: true })).result.tap);
  const calls = [{}, { Accept: 'application/json' }, { Accept: 'text/event-stream' }].map((fields) => session.call('wait', {}, fields));
  await until('all requests', async () => (await seen(other)).filter(({ method }) => method === 'wait').length === calls.length);
  await session.close();
  for (const [at, call] of calls.entries()) {
    const answer = await (await call).end();
    assert.deepEqual([answer.status, answer.isStream, answer.text && answer.answer(at + 1)?.error.code], [200, at === 2, -32800]);
  }
  await until('the cancels', async () => (await seen(other)).filter(({ method }) => method === 'notifications/cancelled').length === calls.length);
  const entries = [];
  while (entries.length < calls.length) entries.push(...(await peer.find(({ json }) => json.method === 'hub/tapped', 'entries')).json.params.entries);
  assert.deepEqual(entries.map(({ method, outcome, code }) => [method, outcome, code]), calls.map(() => ['wait', 'cancelled', -32800]));
});

web('a client that goes cancels nothing', SHARED, async (hub) => {
  const session = await Session.open(hub), counts = await hub.peer('tcp');
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'gone', method: 'wait' });
  let round = 0;
  // An answer that comes before the end of the connection goes to the kernel, and isn't counted: then once more.
  await until('count', async () => {
    const client = await Client.open(hub);
    client.write(request('POST /mcp/server', [JSON_TYPE, 'Accept: application/json, text/event-stream', `Mcp-Session-Id: ${session.id}`], body));
    const asked = await until('request', async () => (await seen(session)).filter(({ method }) => method === 'wait')[round]);
    round++;
    client.drop();
    await session.ask('finish', { id: asked.id, result: {} });
    return (await counts.ask('hub/stats')).result.dropped_answers_source_gone;
  });
  assert.ok(!(await seen(session)).some(({ method }) => method === 'notifications/cancelled'));
});

web('a silent stream has comments', QUICK, async (hub) => {
  const session = await Session.open(hub);
  const stream = await session.listen();
  await stream.until(({ text }) => (text.match(/^:$/gm) ?? []).length >= 3, 'comments');
  const waiting = await session.call('wait');
  await waiting.until(({ text }) => (text.match(/^:$/gm) ?? []).length >= 2, 'comments');
  assert.ok(waiting.isStream);
});

web('sessions are bounded', FEW, async (hub) => {
  const [first] = [await Session.open(hub), await Session.open(hub)];
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING };
  const full = await send(hub, 'POST', '/mcp/server', { body });
  await errorOf(full, 503, -31052);
  assert.match(full.fields['retry-after'], /^[1-9][0-9]*$/);
  await first.close();
  await Session.open(hub);
});

web('hub/stats shows the sessions that are open', SHARED, async (hub) => {
  const peer = await hub.peer('tcp'), sessions = [];
  const count = async () => (await peer.ask('hub/stats')).result.mcp.servers[0].sessions;
  assert.equal(await count(), 0);
  for (let number = 1; number <= 5; number++) {
    sessions.push(await Session.open(hub));
    assert.equal(await count(), number);
  }
  await Session.open(hub, '/mcp'); // which is none of the server's
  for (let number = 4; number >= 0; number--) {
    await sessions[number].close();
    assert.equal(await count(), number);
  }
});

web('an idle session ends', IDLE, async (hub) => {
  const session = await Session.open(hub);
  const busy = await Session.open(hub);
  const stream = await busy.listen();
  await until('end', async () => (await (await session.call('ping')).end()).status === 404 || new Promise((resolve) => setTimeout(resolve, 1000))); // a ping keeps a session that isn't idle yet
  assert.equal((await (await busy.call('ping')).end()).status, 200);
  stream.drop();
});

web('each session has a process of its own where its section says so', EACH, async (hub) => {
  const sessions = [await Session.open(hub), await Session.open(hub)];
  const [one, other] = await Promise.all(sessions.map(async (session) => (await session.ask('where')).result.process));
  assert.notEqual(one, other);
  assert.equal((await sessions[0].ask('where')).result.process, one);
  await sessions[0].close();
  await until('end of its process', () => {
    try {
      process.kill(one, 0);
      return false;
    } catch {
      return true;
    }
  });
  assert.equal((await sessions[1].ask('where')).result.process, other);
});

web('a session stays at one process of a pool', POOL, async (hub) => {
  const session = await Session.open(hub);
  const first = (await session.ask('where')).result.process;
  for (let count = 0; count < 5; count++) assert.equal((await session.ask('where')).result.process, first);
});

web('a server that ends', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const waiting = session.call('wait');
  await until('request', async () => (await seen(session)).find(({ method }) => method === 'wait'));
  (await session.call('die')).drop();
  const answer = await (await waiting).end();
  assert.equal(answer.answer(1).error.code, -31050);
  assert.equal((await session.ask('where')).result.era, 'legacy');
});

web('requests on one connection are answered in their order', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const client = await Client.open(hub);
  const post = (id, accept) => request('POST /mcp/server', [JSON_TYPE, `Accept: ${accept}`, `Mcp-Session-Id: ${session.id}`],
    JSON.stringify({ jsonrpc: '2.0', id, method: 'where' }));
  client.write(post(1, '*/*'), post(2, 'text/event-stream'), post(3, '*/*'));
  assert.equal((await client.response()).json.id, 1);
  const stream = await client.response();
  assert.equal(stream.fields['transfer-encoding'], 'chunked');
  const rest = await client.take((bytes) => {
    const at = bytes.indexOf('0\r\n\r\n');
    return at < 0 ? null : { whole: at + 5, value: bytes.subarray(0, at + 5).toString() };
  }, 'the end of the stream');
  assert.match(rest, /"id": ?2/);
  assert.equal((await client.response()).json.id, 3);
});

web('a time runs out', SHARED, async (hub) => {
  const session = await Session.open(hub);
  const answer = await (await session.call('wait', {}, { 'Custom-Timeout-Ms': '50' })).end();
  assert.equal(answer.status, 200);
  assert.equal(answer.answer(1).error.code, -31051);
  await until('cancel', async () => (await seen(session)).find(({ method }) => method === 'notifications/cancelled'));
  assert.equal((await (await session.call('where', {}, { 'Custom-Timeout-Ms': 'x' })).end()).status, 400);
});

// A reader that takes nothing: what it is told is dropped and counted past --max-queue, and it is closed past twice that.
const SLOW = { ...SHARED, options: [...SHARED.options, '--max-queue', '64K', '--mcp-history', '0'] };
web('a slow reader loses notifications, and is closed for what can’t be dropped', SLOW, async (hub) => {
  const session = await Session.open(hub), other = await Session.open(hub);
  const client = await Client.open(hub);
  client.write(request('GET /mcp/server', ['Accept: text/event-stream', `Mcp-Session-Id: ${session.id}`]));
  await client.response();
  client.socket.pause();
  const counts = async () => (await (await hub.peer('tcp')).ask('hub/stats')).result;
  const x = 'x'.repeat(30000);
  const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { x } };
  let told = 0;
  for (let stats = await counts(); !stats.dropped_notifications_overloaded; stats = await counts()) {
    for (let n = 0; n < 100; n++, told++) await other.ask('say', { message: note });
    assert.ok(told < 2000, `${told} notifications of 30,000 bytes, and none was dropped`);
  }
  assert.equal((await counts()).closed_slow_readers, 0);
  // Others aren't touched, and neither is the session.
  assert.equal((await (await session.call('where')).end()).answer(1).result.era, 'legacy');
  // A server's question can't be dropped. On a quiet machine the questions come so fast that no second passes in
  // silence. Then the connection's own bound of 16 MiB closes the reader, beyond what both kernels take.
  const question = { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: { x } };
  const waiting = session.send({ jsonrpc: '2.0', id: 'w', method: 'wait' }, { Accept: 'application/json' });
  waiting.then((answer) => answer.drop(), () => {});
  for (let n = 0; !(await counts()).closed_slow_readers; n++) {
    await session.notify('say-nothing');
    await (await session.call('say', { message: { ...question, id: `q${n}` } }, { Accept: 'application/json' })).end();
    assert.ok(n < 2000, `${n} questions of 30,000 bytes, and the reader isn't closed`);
  }
});

// The section has one process at most.
web('a session past the processes of its server', { ...SHARED, options: [...config('one.ini', `${SECTION}instances = each\nmax-instances = 1\n`), ...ENDS] }, async (hub) => {
  const session = await Session.open(hub);
  const opening = { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING };
  const { data } = (await errorOf(await send(hub, 'POST', '/mcp/server', { body: opening }), 503, -31052)).error;
  assert.deepEqual(data, { agent: 'server', limit: 1 });
  const refused = await send(hub, 'POST', '/mcp/server', { body: opening });
  assert.match(refused.fields['retry-after'], /^[1-9]/);
  assert.equal(refused.fields['mcp-session-id'], undefined);
  await session.close();
  await until('room for another one', async () => (await (await send(hub, 'POST', '/mcp/server', { body: opening })).end()).status === 200);
});

web('a hub that drains goes on with what is in progress, and begins nothing', { ...SHARED, options: [...config('draining.ini', SECTION), '--drain-timeout', '1h'] }, async (hub) => {
  const session = await Session.open(hub), stream = await session.listen();
  const waiting = session.call('wait', {}, { Accept: 'text/event-stream' }), id = session.ids;
  await until('the request', async () => (await seen(session)).some(({ method }) => method === 'wait'));
  hub.process.kill('SIGTERM');
  await until('the drain', async () => (await (await session.call('ping')).end()).status === 503);
  for (const refused of [await session.call('where'), await session.listen(), await send(hub, 'POST', '/mcp/server', { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING } })]) {
    await errorOf(refused, 503, -31052);
    assert.match(refused.fields['retry-after'], /^[1-9]/);
  }
  assert.ok(!stream.ended);
  await session.notify('notifications/cancelled', { requestId: id });
  assert.equal((await (await waiting).end()).messages.length, 0);
  await stream.end();
});
