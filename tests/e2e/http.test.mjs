// POST /rpc and the rest of HTTP, by a client that writes its own bytes. Statuses, header fields both ways, answers in
// the order of the requests, leaving, draining.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';
import { alone, chunk, Client, JSON_TYPE, request, rpc, web } from './web.mjs';
import { KEY, TEXT, wsFrame } from './websocket.mjs';

const EVERYWHERE = { shards: [1, 2] };
const PING = requestText(1, 'hub/ping', { n: 1 });
const PONG = { jsonrpc: '2.0', id: 1, result: { n: 1 } };

const asks = (id, more = {}) => requestText(id, 'm', { targetAgent: 'target', ...more });

// --- POST /rpc

web('a request is answered with the very bytes of its target', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc('{ "id" : 7e0, "jsonrpc":"2.0", "method":"m","params":{"targetAgent":"target","x":[1.0,"\\u0061"]}}'));
  const asked = await target.next();
  assert.match(asked.text, /^\{ "id" : [0-9]+, "jsonrpc":"2\.0", "method":"m","params":\{"targetAgent":"target","x":\[1\.0,"\\u0061"\]\}\}$/);
  target.send(`{"jsonrpc":"2.0","result" :\t{"y":1.50,\r\n"z":"é"} ,"id":${asked.json.id}}`);
  const answer = await client.response();
  assert.equal(answer.status, 200);
  assert.equal(answer.fields['content-type'], 'application/json');
  assert.equal(answer.text, '{"jsonrpc":"2.0","result" :\t{"y":1.50,\r\n"z":"é"} ,"id":7e0}');
  await client.lives();
});

web('the Date of answers follows the clock', EVERYWHERE, async (hub) => {
  const client = await Client.open(hub);
  const seconds = new Set();
  while (seconds.size < 3) {
    const from = Math.floor(Date.now() / 1000) * 1000;
    const { status, fields } = await client.send(rpc(PING));
    assert.equal(status, 200);
    assert.equal(new Date(fields.date).toUTCString(), fields.date);
    assert(Date.parse(fields.date) >= from && Date.parse(fields.date) <= Date.now(), fields.date);
    seconds.add(fields.date);
  }
});

web('statuses: 200, 202, 400 and the error', EVERYWHERE, async (hub) => {
  const client = await Client.open(hub);
  const target = await hub.agent('target');
  const notification = '{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"target"}}';
  const is = async (body, status, check) => {
    const answer = await client.send(rpc(body));
    assert.equal(answer.status, status, `${body.slice(0, 100)}: ${answer.text}`);
    if (check) check(answer.json);
    else assert.equal(answer.text, '');
  };
  await is(PING, 200, (json) => assert.deepEqual(json, PONG));
  await is(notification, 202);
  await is(`[${notification},${notification}]`, 202);
  await is('{"jsonrpc":"2.0","id":1,"result":null}', 202);
  await is('{"jsonrpc":"2.0","method":"nobody/takes/it"}', 202);
  await is(`[${PING},${notification},${PING}]`, 200, (json) => assert.deepEqual(json, [PONG, PONG]));
  await is('{"jsonrpc":"2.0","id":"a","method":"no/such"}', 200, (json) => assertError(json, -32601));
  await is(requestText('a', 'm', { targetAgent: 'nobody' }), 200, (json) => assertError(json, -32010));
  await is('{"jsonrpc"', 400, (json) => assertError(json, -32700));
  await is('{"jsonrpc":"2.0","id":null,"method":"m"}', 400, (json) => assertError(json, -32600));
  await is('7', 400, (json) => assertError(json, -32600));
  await is('[]', 400, (json) => assertError(json, -32600));
  await is(`[${PING}`, 400, (json) => assertError(json, -32700));
  await is('[{"jsonrpc":"2.0","id":1,"result":null}]', 202);
  await is('[{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"nobody"}}]', 202);
  await is('[1]', 200, (json) => assertError(json[0], -32600));
  await is('', 400, (json) => assertError(json, -32700));
  for (let n = 0; n < 4; n++) assert.equal((await target.next()).text, notification);
  await target.silent('what has been answered');
});

web('a body that is not UTF-8 is 400', {}, async (hub) => {
  const body = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"hub/ping","params":["'), Buffer.from([0xc0, 0x80]), Buffer.from('"]}')]);
  const answer = await alone(hub, rpc(body));
  assert.equal(answer.status, 400);
  assertError(answer.json, -32600);
});

web('what the content may be called', {}, async (hub) => {
  const status = async (...types) => (await alone(hub, request('POST /rpc', types.map((type) => `Content-Type: ${type}`), PING))).status;
  for (const type of ['application/json', 'application/json-rpc', 'application/vscode-jsonrpc', 'Application/JSON',
    'application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'application/json ; x=y'])
    assert.equal(await status(type), 200, type);
  for (const type of ['text/plain', 'application/jsonx', 'application', 'application/json; charset=latin1', '', 'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json', 'text/json'])
    assert.equal(await status(type), 415, type);
  assert.equal(await status(), 415);
  assert.equal((await alone(hub, request('POST /rpc', ['Content-Type: application/json', 'Content-Type: text/plain'], PING))).status, 400);
});

web('header fields pass both ways, and no other does', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target', {}, { governanceLevel: 'manual' });
  const client = await Client.open(hub);
  client.write(rpc(asks(1), 'Cookie: secret=1', 'authorization: Bearer x', 'Request-Id: r 1', 'X-Other: no', 'custom-A:  b ',
    'Accept: */*', 'HugAI-Version: 2.0.0', 'Governance-Level: manual', 'Custom-Timeout-Ms: 5000', 'Referer: http://x/', 'CUSTOM-Empty:'));
  const asked = await target.next();
  const passed = asked.fields.slice(1).map(([name, value]) => [name.toLowerCase(), value]);
  assert.deepEqual(passed, [['request-id', 'r 1'], ['custom-a', 'b'], ['hugai-version', '2.0.0'], ['governance-level', 'manual'],
    ['custom-timeout-ms', '5000'], ['custom-empty', '']]);
  target.send({ jsonrpc: '2.0', id: asked.json.id, result: 1 }, 'Set-Cookie: a=b', 'Custom-Cost: 3', 'Request-Id: r 1',
    'Location: http://evil/', 'X-Frame: y', 'Content-Type: text/html', 'Connection: close', 'Transfer-Encoding: chunked');
  const answer = await client.response();
  assert.equal(answer.fields['custom-cost'], '3');
  assert.equal(answer.fields['request-id'], 'r 1');
  assert.equal(answer.fields['content-type'], 'application/json');
  for (const name of ['set-cookie', 'location', 'x-frame', 'connection', 'transfer-encoding']) assert.ok(!(name in answer.fields), name);
  await client.lives();
});

web('what the fields ask for is judged', {}, async (hub) => {
  await hub.agent('target', {}, { governanceLevel: 'supervised' });
  const answer = async (...fields) => alone(hub, rpc(asks(1), ...fields));
  for (const [field, code] of [['Governance-Level: manual', -32011], ['Governance-Level: none', -32602], ['HugAI-Version: 3', -32056],
    ['Custom-Timeout-Ms: 0', -32602], ['Custom-Timeout-Ms: 50', -32051]]) {
    const one = await answer(field);
    assert.equal(one.status, 200, field);
    assertError(one.json, code, field);
  }
  assert.equal((await answer('Custom-Timeout-Ms: 50', 'custom-timeout-ms: 50')).status, 400);
});

web('registering, subscribing and the like need a connection that stays', {}, async (hub) => {
  for (const [method, params] of [['agent/register', { agentId: 'a' }], ['hub/subscribe', { events: ['*'] }], ['hub/attach', { agent: 'a' }]]) {
    const answer = await alone(hub, rpc(requestText('x', method, params)));
    assertError(answer.json, -32600, method);
    assert.equal(answer.json.id, 'x');
    assert.equal(answer.status, 400, method);
    const batch = await alone(hub, rpc(`[${requestText('x', method, params)},${PING}]`));
    assert.equal(batch.status, 200);
    assertError(batch.json[0], -32600);
    assert.deepEqual(batch.json[1], PONG);
  }
  assert.deepEqual((await (await hub.peer()).ask('hub/agents')).result.agents, []);
});

web('progress to a source of HTTP is dropped and counted, and its token may be in use elsewhere', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks(1, { workDoneToken: 'w' })));
  const { id, params } = (await target.next()).json;
  target.notify('$/progress', { token: params.workDoneToken, value: 1 });
  await target.ask('hub/ping');
  target.reply(id, 'done');
  assert.deepEqual((await client.response()).json, { jsonrpc: '2.0', id: 1, result: 'done' });
  await client.lives();
  const { result } = await target.ask('hub/stats');
  const dropped = Object.entries(result).filter(([name, value]) => name.startsWith('dropped_') && value > 0);
  assert.deepEqual(dropped.map(([, value]) => value), [1], JSON.stringify(dropped));
});

web('an event over HTTP reaches its subscribers', EVERYWHERE, async (hub) => {
  const subscriber = await hub.peer();
  await subscriber.ask('hub/subscribe', { events: ['build-*'] });
  const body = '{"jsonrpc":"2.0","method":"event","params":{"event":"build-1"}}';
  assert.equal((await alone(hub, rpc(body))).status, 202);
  assert.equal((await subscriber.next()).text, body);
  const counted = await alone(hub, rpc(requestText(1, 'event', { event: 'build-1' })));
  assert.deepEqual(counted.json.result, { delivered: 1 });
});

// --- The order of answers

web('answers come in the order of the requests, however late the first is', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks('slow')), rpc(PING), request('GET /healthz'), request('HEAD /healthz'), request('GET /none'), rpc(asks('second')),
    rpc('{"jsonrpc":"2.0","method":"n"}'), request('GET /rpc'));
  const slow = (await target.next()).json;
  const second = (await target.next()).json;
  target.reply(second.id, 2);
  await (await Client.open(hub)).lives();
  assert.equal(client.bytes.length, 0, 'nothing overtakes the first');
  target.reply(slow.id, 1);
  assert.equal((await client.response()).json.id, 'slow');
  assert.deepEqual((await client.response()).json, PONG);
  assert.equal((await client.response()).status, 200);
  assert.equal((await client.response({ headOnly: true })).status, 200);
  assert.equal((await client.response()).status, 404);
  assert.equal((await client.response()).json.id, 'second');
  assert.equal((await client.response()).status, 202);
  assert.equal((await client.response()).status, 405);
  await client.lives();
});

web('a fault waits for the answers before it, and ends the connection', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks('slow')), 'GET /healthz HTTP/1.1\r\n\r\n', rpc(asks('never')));
  const { id } = (await target.next()).json;
  await target.silent('what comes behind a fault');
  target.reply(id, 1);
  assert.equal((await client.response()).json.id, 'slow');
  const fault = await client.response();
  assert.equal(fault.status, 400);
  assert.equal(fault.fields.connection, 'close');
  await client.gone();
});

web('what comes behind Connection: close, or behind a refusal that closes, is not heard', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  for (const [first, status] of [[rpc(asks('last'), 'Connection: close'), 200], [request('GET /ws'), 400]]) {
    const client = await Client.open(hub);
    client.write(rpc(asks('slow')), first, rpc(asks('never')));
    const asked = [await target.next()];
    if (status === 200) asked.push(await target.next());
    await target.silent(`what comes behind ${first.toString().slice(0, 10)}`);
    for (const one of asked) target.reply(one.json.id, 1);
    assert.equal((await client.response()).json.id, 'slow');
    const last = await client.response();
    assert.ok(last.status === status || last.status === 426, String(last.status));
    assert.equal(last.fields.connection, 'close');
    await client.gone();
  }
});

web('no more than 4,096 requests wait on a connection', {}, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(...Array.from({ length: 4096 }, (_, id) => rpc(asks(id))));
  const asked = [];
  for (let n = 0; n < 4096; n++) asked.push((await target.next()).json.id);
  client.write(rpc(asks('over')));
  // After so many it may be put off behind others: who asked first pays for what that took.
  const watch = await hub.peer(), heard = async () => (await watch.ask('hub/stats')).result.http_requests_received;
  while ((await heard()) <= 4096);
  await target.silent('one more');
  for (const id of asked) target.reply(id);
  for (let id = 0; id < 4096; id++) assert.equal((await client.response()).json.id, id);
  const refused = await client.response();
  assert.equal(refused.status, 503);
  assert.equal(refused.fields.connection, 'close');
  await client.gone();
});

// --- Leaving

for (const [what, fields] of [['', []], [' that said Connection: close', ['Connection: close']]]) {
  for (const how of ['finish', 'drop']) {
    web(`a client${what} whose stream ends (${how}) has left, and what it asked is cancelled`, EVERYWHERE, async (hub) => {
      const target = await hub.agent('target');
      const client = await Client.open(hub);
      client.write(rpc(asks('mine'), ...fields));
      const { id } = (await target.next()).json;
      client[how]();
      const cancel = (await target.next('the cancel')).json;
      assert.deepEqual([cancel.method, cancel.params], ['$/cancelRequest', { id }]);
    });
  }
}

web('a client of HTTP/1.0 that goes has left, and what it asked is cancelled', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks('mine')).toString().replace('HTTP/1.1', 'HTTP/1.0'));
  const { id } = (await target.next()).json;
  client.finish();
  assert.deepEqual((await target.next('the cancel')).json.params, { id });
});

web('who leaves takes a batch along', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(`[${asks(1)},${asks(2)}]`));
  const ids = [(await target.next()).json.id, (await target.next()).json.id];
  client.drop();
  const cancelled = [(await target.next()).json.params.id, (await target.next()).json.params.id];
  assert.deepEqual(cancelled.sort(), ids.sort());
});

// --- Versions and connections

web('HTTP/1.0 and Connection: close end the connection, all else keeps it', {}, async (hub) => {
  const get = (version, ...fields) => [`GET /healthz HTTP/${version}`, 'Host: localhost', ...fields, '', ''].join('\r\n');
  for (const [bytes, closes] of [[get('1.1'), false], [get('1.0'), true], [get('1.0', 'Connection: keep-alive'), true],
    [get('1.1', 'Connection: close'), true], [get('1.1', 'Connection: x, CLOSE'), true], [get('1.1', 'Connection: keep-alive'), false],
    [get('1.1', 'Connection: x', 'Connection: close'), true], [get('1.2'), false], [`\r\n${get('1.1')}`, false]]) {
    const answer = await alone(hub, Buffer.from(bytes));
    assert.equal(answer.status, 200, bytes);
    assert.equal(answer.closes, closes, bytes);
  }
});

web('HEAD is GET without its content', {}, async (hub) => {
  for (const path of ['/healthz', '/readyz', '/']) {
    const got = await alone(hub, request(`GET ${path}`));
    const head = await alone(hub, request(`HEAD ${path}`), { headOnly: true });
    assert.equal(head.status, 200);
    assert.equal(head.fields['content-length'], got.fields['content-length'], path);
    assert.equal(head.fields['content-type'], got.fields['content-type'], path);
  }
  const missing = await alone(hub, request('HEAD /none'), { headOnly: true });
  assert.equal(missing.status, 404);
  const metrics = await alone(hub, request('HEAD /metrics'), { headOnly: true });
  assert.match(metrics.fields['content-length'], /^[1-9]/);
});

web('a wrong method is 405 with Allow, a wrong path 404', {}, async (hub) => {
  for (const [path, allow] of [['/rpc', 'POST'], ['/ws', 'GET'], ['/events', 'GET'], ['/metrics', 'GET, HEAD'], ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'], ['/', 'GET, HEAD']]) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'get', 'X']) {
      if (allow.split(', ').includes(method)) continue;
      const answer = await alone(hub, request(`${method} ${path}`), { headOnly: method === 'HEAD' });
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.fields.allow, allow);
    }
  }
  for (const path of ['/rpc/', '/RPC', '//rpc', '/rp%63', '/../rpc', '/x', '/healthz/..', '/.', '/%2e'])
    assert.equal((await alone(hub, request(`GET ${path}`))).status, 404, path);
  for (const path of ['/healthz?x=1', '/healthz?', '/readyz?a/b?c'])
    assert.equal((await alone(hub, request(`GET ${path}`))).status, 200, path);
  assert.equal((await alone(hub, request('GET http://localhost/healthz'))).status, 200);
});

web('the page bears a strict policy, and the figures are for Prometheus', {}, async (hub) => {
  const page = await alone(hub, request('GET /'));
  assert.match(page.fields['content-type'], /^text\/html/);
  assert.match(page.fields['content-security-policy'], /default-src 'none'/);
  assert.doesNotMatch(page.fields['content-security-policy'], /unsafe|\*/);
  const metrics = await alone(hub, request('GET /metrics'));
  assert.match(metrics.fields['content-type'], /^text\/plain; version=0\.0\.4/);
  assert.match(metrics.text, /^# HELP /m);
  assert.match(metrics.text, /^# TYPE /m);
});

// --- Bodies

web('chunks are one body, wherever they are cut', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const body = asks('chunked', { text: 'é'.repeat(400) });
  const head = request('POST /rpc', [JSON_TYPE, 'Transfer-Encoding: chunked', 'Custom-X: 1', 'Trailer: Custom-Y']);
  for (const size of [1, 7, 300, 1000]) {
    const parts = [];
    for (let at = 0; at < Buffer.byteLength(body); at += size) parts.push(chunk(Buffer.from(body).subarray(at, at + size)));
    const client = await Client.open(hub);
    client.write(head, ...parts, '0;a=b\r\nCustom-Y: no\r\n\r\n', rpc(PING));
    const asked = await target.next();
    assert.equal(asked.text, body.replace('"chunked"', asked.json.id));
    assert.deepEqual(asked.fields.slice(1), [['Custom-X', '1']]);
    target.reply(asked.json.id, size);
    assert.equal((await client.response()).json.result, size);
    assert.deepEqual((await client.response()).json, PONG);
    client.drop();
  }
});

web('Expect: 100-continue is told to go on when its turn has come', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  for (const field of [`Content-Length: ${PING.length}`, 'Transfer-Encoding: chunked']) {
    const client = await Client.open(hub);
    const bytes = field.startsWith('C') ? PING : Buffer.concat([chunk(PING), Buffer.from('0\r\n\r\n')]);
    client.write(rpc(asks('slow')), request('POST /rpc', [JSON_TYPE, field, 'Expect: 100-Continue']));
    const { id } = (await target.next()).json;
    await (await Client.open(hub)).lives();
    assert.equal(client.bytes.length, 0);
    target.reply(id);
    assert.equal((await client.response()).json.id, 'slow');
    assert.equal((await client.response()).status, 100);
    assert.deepEqual((await client.send(bytes)).json, PONG);
    await client.lives();
  }
  // A client that doesn't wait needn't be told, also later. Without a body there is nothing to wait for.
  const weary = await Client.open(hub);
  weary.write(rpc(asks('slow')), request('POST /rpc', [JSON_TYPE, `Content-Length: ${PING.length}`, 'Expect: 100-continue']));
  const { id: asked } = (await target.next()).json;
  await (await Client.open(hub)).lives();
  weary.write(PING);
  await (await Client.open(hub)).lives();
  target.reply(asked);
  assert.equal((await weary.response()).json.id, 'slow');
  assert.deepEqual((await weary.response()).json, PONG);
  await weary.lives();
  const hasty = await Client.open(hub);
  assert.deepEqual((await hasty.send(rpc(PING, 'Expect: 100-continue'))).json, PONG);
  const bare = await Client.open(hub);
  assert.equal((await bare.send(request('GET /healthz', ['Expect: 100-continue']))).status, 200);
  const old = await Client.open(hub);
  assert.equal((await old.send(rpc(PING, 'Expect: 100-continue').toString().replace('1.1', '1.0'))).status, 200);
  assert.equal((await alone(hub, rpc(PING, 'Expect: 200-ok'))).status, 417);
});

web('who waits to be told to go on isn\'t late meanwhile', { ...EVERYWHERE, options: ['--frame-timeout', '200ms'] }, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks('slow')), request('POST /rpc', [JSON_TYPE, `Content-Length: ${PING.length}`, 'Expect: 100-continue']));
  const { id } = (await target.next()).json;
  // Another one is late twice as long as it may be, and cut off twice.
  for (let time = 0; time < 2; time++) assert.equal((await alone(hub, 'GET / HTTP/1.1\r\n')).status, 408);
  target.reply(id);
  assert.equal((await client.response()).json.id, 'slow');
  assert.equal((await client.response()).status, 100);
  assert.deepEqual((await client.send(PING)).json, PONG);
  const idle = await Client.open(hub);
  idle.write(request('POST /rpc', [JSON_TYPE, `Content-Length: ${PING.length}`, 'Expect: 100-continue']));
  assert.equal((await idle.response()).status, 100);
  assert.equal((await idle.response()).status, 408); // once it was told, it is
});

web('bodies of some megabytes go there and back', EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve((message) => message.params.text);
  const client = await Client.open(hub);
  const text = 'añ😀b'.repeat(300_000);
  const back = await client.send(rpc(asks(1, { text })));
  assert.equal(back.json.result, text);
  const bytes = Buffer.from(asks(2, { text }));
  const parts = [];
  for (let at = 0; at < bytes.length; at += 50_000) parts.push(chunk(bytes.subarray(at, at + 50_000)));
  client.write(request('POST /rpc', [JSON_TYPE, 'Transfer-Encoding: chunked']), ...parts, '0\r\n\r\n');
  assert.equal((await client.response()).json.result, text);
  await client.lives();
});

// --- The end

web('while the hub drains HTTP still answers: healthz 200, all else 503', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const target = await hub.agent('target');
  const kept = await Client.open(hub);
  kept.write(rpc(asks('kept')));
  const { id } = (await target.next()).json;
  const open = await Client.open(hub);
  await open.lives();
  hub.process.kill('SIGTERM');
  while ((await (await Client.open(hub)).send(request('GET /readyz'))).status === 200);
  const status = async (bytes, closes) => {
    const answer = await alone(hub, bytes);
    assert.equal(answer.closes, closes, bytes.toString().slice(0, 30));
    return answer.status;
  };
  assert.equal(await status(request('GET /readyz'), false), 503);
  assert.equal(await status(request('GET /healthz'), false), 200);
  assert.equal(await status(request('GET /metrics'), false), 200);
  assert.equal(await status(rpc(PING), true), 503);
  assert.equal(await status(request('GET /'), true), 503);
  assert.equal(await status(request('GET /none'), true), 503);
  assert.equal(await status(request('GET /events?pattern=*'), true), 503);
  assert.equal((await open.send(rpc(PING))).status, 503);
  await open.gone();
  target.reply(id, 'in time');
  assert.equal((await kept.response()).json.result, 'in time');
  await hub.ended();
});

web('what is still asked when the drain is over is -32050', { ...EVERYWHERE, options: ['--drain-timeout', '300ms'] }, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(asks('late')));
  await target.next();
  hub.process.kill('SIGTERM');
  const answer = await client.response();
  assertError(answer.json, -32050);
  await hub.ended();
});

scenario('without --http a hub that was told where to listen serves no HTTP', { transports: ['tcp'] }, async (hub) => {
  assert.equal(hub.uri('http'), undefined);
});

web('what takes the connection over waits for the answers before it', {}, async (hub) => {
  const slow = await hub.agent('slow');
  const pipelined = async (...last) => {
    const client = await Client.open(hub);
    client.write(rpc({ jsonrpc: '2.0', id: 'first', method: 'x', params: { targetAgent: 'slow' } }), request(...last));
    const asked = await slow.find((one) => one.json.method === 'x', 'the request');
    slow.reply(asked.json.id, 'late');
    assert.deepEqual((await client.response()).json, { jsonrpc: '2.0', id: 'first', result: 'late' });
    return client;
  };
  const events = await pipelined('GET /events?pattern=e');
  assert.equal((await events.response()).fields['content-type'], 'text/event-stream');
  slow.notify('event', { event: 'e' });
  await events.take((bytes) => (bytes.includes('\n\n') ? { whole: bytes.length } : null), 'an event');
  const socket = await pipelined('GET /ws', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${KEY}`]);
  assert.equal((await socket.response()).status, 101);
  // Bytes that a client sends before the answer would be cut at an unknown place.
  const early = await Client.open(hub);
  early.write(rpc(asks('first', { targetAgent: 'slow' })),
    request('GET /ws', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${KEY}`]),
    wsFrame(TEXT, PING).subarray(0, 6));
  const before = await slow.find((one) => one.json.method === 'm', 'the request');
  early.write(wsFrame(TEXT, PING));
  slow.reply(before.json.id, 'late');
  assert.equal((await early.response()).json.result, 'late');
  assert.equal((await early.response()).status, 400);
  await early.gone();
  const bad = await pipelined('GET /events');
  assert.equal((await bad.response()).status, 400);
  await bad.gone();
  const away = await Client.open(hub);
  away.write(rpc({ jsonrpc: '2.0', id: 1, method: 'y', params: { targetAgent: 'slow' } }), request('GET /events?pattern=e'));
  const { json } = await slow.find((one) => one.json.method === 'y', 'the request');
  away.drop();
  assert.deepEqual((await slow.find((one) => one.json.method === '$/cancelRequest', 'its cancel')).json.params, { id: json.id });
});

web('who leaves while a request of theirs waits to be served leaves nothing behind', EVERYWHERE, async (hub) => {
  const slow = await hub.agent('slow');
  const leave = async () => {
    const away = await Client.open(hub);
    away.write(rpc({ jsonrpc: '2.0', id: 1, method: 'y', params: { targetAgent: 'slow' } }), request('GET /events?pattern=e'));
    await slow.find((one) => one.json.method === 'y', 'the request');
    away.drop();
    await slow.find((one) => one.json.method === '$/cancelRequest', 'its cancel');
  };
  const kept = async () => (await slow.ask('hub/stats')).result.kept_bytes;
  for (let round = 0; round < 60; round++) await leave();
  const before = await kept();
  for (let round = 0; round < 400; round++) await leave();
  assert.ok((await kept()) < before + 40_000, `${before}, then ${await kept()}`); // it counts roughly
});

web('exit is answered as any notification is, and is the last', {}, async (hub) => {
  const one = await alone(hub, rpc({ jsonrpc: '2.0', method: 'exit' }));
  assert.deepEqual([one.status, one.closes], [202, true]);
  const both = await alone(hub, rpc([{ jsonrpc: '2.0', id: 1, method: 'hub/ping' }, { jsonrpc: '2.0', method: 'exit' }]));
  assert.deepEqual([both.status, both.closes, both.json.length], [200, true, 1]);
});
