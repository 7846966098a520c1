// A request that could be read in two ways is refused and ends the connection. Each limit holds to the byte. Only pages
// with the right to it reach the hub through a browser.
import assert from 'node:assert/strict';
import { requestText } from './peer.mjs';
import { alone, chunk, Client, JSON_TYPE, request, rpc, web } from './web.mjs';

const PING = requestText(1, 'hub/ping');
const RPC = ['POST /rpc HTTP/1.1', 'Host: localhost', JSON_TYPE];

// A head of these lines, and what comes behind it.
const head = (lines, behind = '') => Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(behind)]);

// Each must be refused with this status, tell why, and end the connection: nothing behind it is heard.
async function refused(hub, rows, status = 400) {
  for (const bytes of rows) {
    const what = JSON.stringify(bytes.toString('latin1').slice(0, 200));
    const client = await Client.open(hub);
    client.write(bytes, rpc(requestText('smuggled', 'hub/ping')));
    const answer = await client.response({ what: `the refusal of ${what}` });
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.equal(answer.fields.connection, 'close', what);
    assert.ok(answer.json.error.data.fault, answer.text);
    assert.equal(answer.json.id, null);
    await client.gone(`the end after ${what}`);
    client.drop();
  }
}

web('where the content ends can be read in one way alone', { shards: [1, 2] }, async (hub) => {
  const framed = (...fields) => head([...RPC, ...fields], PING);
  const length = `Content-Length: ${PING.length}`;
  await refused(hub, [
    framed(length, length),
    framed(length, 'Content-Length: 3'),
    framed(`Content-Length: ${PING.length}, ${PING.length}`),
    framed(`Content-Length: +${PING.length}`),
    framed('Content-Length: -1'),
    framed('Content-Length: 0x20'),
    framed('Content-Length: 1 2'),
    framed('Content-Length:'),
    framed('Content-Length: 1.0'),
    framed(length, 'Transfer-Encoding: chunked'),
    framed('Transfer-Encoding: chunked', length),
    framed('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
    framed('Transfer-Encoding: gzip, chunked'),
    framed('Transfer-Encoding: chunked, identity'),
    framed('Transfer-Encoding: identity'),
    framed('Transfer-Encoding: xchunked'),
    framed('Transfer-Encoding: "chunked"'),
    framed('Transfer-Encoding: chunked;q=1'),
    framed('Transfer-Encoding:'),
    framed('Transfer-Encoding: \x0bchunked'),
    framed('Transfer-Encoding : chunked'),
    framed('Content-Length : 5'),
    framed('Transfer-Encoding\t: chunked'),
    framed(' Transfer-Encoding: chunked'),
    framed('X: y\r\n Transfer-Encoding: chunked'),
    framed('X: y\nTransfer-Encoding: chunked'),
    framed('X: y\rTransfer-Encoding: chunked'),
    framed('X: y\0Transfer-Encoding: chunked'),
    head(['POST /rpc HTTP/1.0', ...RPC.slice(1), 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  ]);
});

web('heads that break the syntax', {}, async (hub) => {
  const get = (...lines) => head(['GET /healthz HTTP/1.1', ...lines]);
  const bare = (line) => Buffer.from(`${line}\r\nHost: localhost\r\n\r\n`, 'latin1');
  await refused(hub, [
    get(), get('Host: a', 'Host: a'), get('Host:'), get('Host: a b'), get('Host: a/b'), get('Host: a:b'), get('Host: a:99999'), get('Host: u@localhost'),
    get('Host: localhost, localhost'), get('Host: [::1'), get('Host: localhost', 'X'), get('Host: localhost', ': y'), get('Host: localhost', 'X y: z'),
    get('Host: localhost', 'X: \x01'), get('Host: localhost', 'X: \x7f'), get('Host: localhost', 'Hos\xe9: x'), get('Host: localhost', '\tfolded'),
    get('Host : localhost'),
    Buffer.from('GET /healthz HTTP/1.1\nHost: localhost\n\n'),
    Buffer.from('GET /healthz HTTP/1.1\r\nHost: localhost\n\n'),
    Buffer.from('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\rX'),
    Buffer.from('\n\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    Buffer.from('\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    bare('GET  /healthz HTTP/1.1'), bare('GET /healthz  HTTP/1.1'), bare(' GET /healthz HTTP/1.1'), bare('GET /healthz HTTP/1.1 '), bare('GET\t/healthz\tHTTP/1.1'),
    bare('GET /healthz'), bare('GET'), bare('GET /healthz HTTP/11'), bare('GET /healthz http/1.1'), bare('GET /healthz HTTP/1.1x'), bare('GET healthz HTTP/1.1'),
    bare('GET /heal\x01thz HTTP/1.1'), bare('GET /heal\xe9thz HTTP/1.1'), bare('GET /healthz#x HTTP/1.1'), bare('GET * HTTP/1.1'),
    bare('GET http://other/healthz HTTP/1.1'), bare('GET https://localhost/healthz HTTP/1.1'), bare('CONNECT localhost:80 HTTP/1.1'), bare('G(T / HTTP/1.1'),
    Buffer.from('\x16\x03\x01\x02\x00\x01\x00'),
    Buffer.from('{"jsonrpc":"2.0"}\r\n'),
  ]);
  await refused(hub, [bare('GET / HTTP/2.0'), bare('GET / HTTP/0.9'), bare('OPTIONS * HTTP/2.0')], 505);
});

web('bad chunks', { shards: [1, 2] }, async (hub) => {
  const chunked = (behind) => head([...RPC, 'Transfer-Encoding: chunked'], Buffer.from(behind, 'latin1'));
  await refused(hub, ['x\r\n', '\r\n', '-1\r\n', '0x5\r\n', '+5\r\n', ' 5\r\n', '5 \r\n', '5\n', '5\r\n12345x\r\n', '5\r\n12345\n', '5\r\n123456\r\n', '5\r\n1234\r\n\r\n',
    '0\n\r\n', '0\r\n\n', '0\r\nX\r\n\r\n', '0\r\n: x\r\n\r\n', '0\r\nX : y\r\n\r\n', '0\r\n X: y\r\n\r\n', '0\r\nX: \0\r\n\r\n', '0\r\nX: y\n\r\n', '5;\x01\r\n', '5;a\n', ';a\r\n',
    `5;${'e'.repeat(9000)}\r\n`, `${'0'.repeat(9000)}5\r\n`].map(chunked));
  await refused(hub, [chunked(`0\r\nX: ${'y'.repeat(9000)}\r\n\r\n`)], 431);
  await refused(hub, ['fffffffff\r\n', 'ffffffffffffffff\r\n', '10000000000000001\r\n', '1000001\r\n'].map(chunked), 413);
});

web('what a body might hide from a careless reader is one body', { shards: [1, 2] }, async (hub) => {
  const inner = rpc(requestText('smuggled', 'hub/ping')).toString();
  const client = await Client.open(hub);
  const outer = JSON.stringify({ jsonrpc: '2.0', id: 'outer', method: 'hub/ping', params: [inner] });
  client.write(rpc(outer), request('POST /rpc', [JSON_TYPE, 'Transfer-Encoding: CHUNKED'], Buffer.concat([chunk(outer), Buffer.from('0\r\n\r\n')])),
    request('GET /healthz', [], inner));
  for (let n = 0; n < 2; n++) assert.deepEqual((await client.response()).json.result, [inner]);
  assert.equal((await client.response()).text, 'OK\n');
  await client.lives();
});

// --- Limits

web('each limit holds to the byte', { options: ['--max-header', '1K', '--max-frame', '64K'] }, async (hub) => {
  const line = (bytes) => head([`GET /healthz?${'x'.repeat(bytes - 'GET /healthz? HTTP/1.1'.length)} HTTP/1.1`, 'Host: localhost']);
  assert.equal((await alone(hub, line(8192))).status, 200);
  await refused(hub, [line(8193)], 414);
  // All of the block behind the request line, with its blank line.
  const block = (bytes) => head(['GET /healthz HTTP/1.1', 'Host: localhost', `X: ${'y'.repeat(bytes - 'Host: localhost\r\nX: \r\n\r\n'.length)}`]);
  assert.equal((await alone(hub, block(1024))).status, 200);
  await refused(hub, [block(1025), block(20_000)], 431);
  const body = (bytes) => `{"jsonrpc":"2.0","id":1,"method":"hub/ping","params":"${'x'.repeat(bytes - 56)}"}`;
  assert.equal(body(100).length, 100);
  const chunked = (...parts) => request('POST /rpc', [JSON_TYPE, 'Transfer-Encoding: chunked'], Buffer.concat([...parts.map(chunk), Buffer.from('0\r\n\r\n')]));
  const most = body(65_536);
  assert.equal((await alone(hub, rpc(most))).json.id, 1);
  assert.equal((await alone(hub, chunked(most.slice(0, 65_535), most.slice(65_535)))).json.id, 1);
  await refused(hub, [rpc(body(65_537)), chunked(most, 'x'), head([...RPC, 'Content-Length: 99999999999999999999'])], 413);
  // Before any 100, and before any byte of it.
  for (const field of ['Content-Length: 65537', 'Content-Length: 4294967297'])
    await refused(hub, [head([...RPC, field, 'Expect: 100-continue'])], 413);
  const client = await Client.open(hub);
  client.write(head([...RPC, 'Content-Length: 65537']));
  assert.equal((await client.response()).status, 413);
  await client.gone();
});

web('an answer over the limit is an error in its place', { options: ['--max-frame', '64K'] }, async (hub) => {
  const target = await hub.agent('target');
  const client = await Client.open(hub);
  client.write(rpc(requestText(1, 'm', { targetAgent: 'target' })));
  target.reply((await target.next()).json.id, 'x'.repeat(60_000));
  assert.equal((await client.response()).json.result.length, 60_000);
  const members = [1, 2, 3].map((id) => requestText(id, 'm', { targetAgent: 'target' }));
  client.write(rpc(`[${members}]`));
  for (let n = 0; n < 3; n++) target.reply((await target.next()).json.id, 'x'.repeat(30_000));
  const answers = (await client.response()).json;
  assert.deepEqual(answers.map(({ error }) => error?.code), [undefined, undefined, -32055]);
  await client.lives();
});

web('a request that is not whole in time is 408', { shards: [1, 2], options: ['--frame-timeout', '200ms'] }, async (hub) => {
  for (const bytes of ['G', 'GET /healthz HTTP/1.1\r\n', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n', head([...RPC, 'Content-Length: 10'], '{'),
    head([...RPC, 'Transfer-Encoding: chunked'], '5\r\n12'), head([...RPC, 'Transfer-Encoding: chunked'])]) {
    const client = await Client.open(hub);
    client.write(bytes);
    const answer = await client.response({ what: `408 to ${JSON.stringify(bytes.toString())}` });
    assert.equal(answer.status, 408, bytes.toString());
    assert.equal(answer.fields.connection, 'close');
    await client.gone();
  }
  // A client that sends nothing isn't late, and neither is one whose answer is.
  const target = await hub.agent('target');
  const idle = await Client.open(hub);
  const asking = await Client.open(hub);
  asking.write(rpc(requestText(1, 'm', { targetAgent: 'target' })));
  const { id } = (await target.next()).json;
  const late = await Client.open(hub);
  late.write('GET');
  assert.equal((await late.response()).status, 408);
  target.reply(id);
  assert.equal((await asking.response()).json.id, 1);
  await idle.lives();
});

web('every way to cut a request is read alike', {}, async (hub) => {
  const bytes = Buffer.concat([request('POST /rpc', [JSON_TYPE, 'Transfer-Encoding: chunked', 'Custom-X: y'], Buffer.concat([chunk(PING.slice(0, 9)), chunk(PING.slice(9)),
    Buffer.from('0\r\nTrailer: x\r\n\r\n')])), rpc(PING)]);
  for (let at = 1; at < bytes.length; at += 3) {
    const client = await Client.open(hub);
    await client.write(bytes.subarray(0, at));
    await new Promise(setImmediate);
    client.write(bytes.subarray(at));
    for (let n = 0; n < 2; n++) assert.deepEqual((await client.response()).json, { jsonrpc: '2.0', id: 1, result: null });
    client.drop();
  }
  const slow = await Client.open(hub);
  for (const byte of bytes) await slow.write(Buffer.from([byte]));
  for (let n = 0; n < 2; n++) assert.equal((await slow.response()).json.id, 1);
  await slow.lives();
});

// --- Who may come

const statusOf = (hub, path, ...fields) => alone(hub, request(path, fields), { headOnly: path.startsWith('HEAD') });

web('Host must be known, whatever the port', { options: ['--allow-host', 'hub.example', '--allow-host', 'Other.Example', '--allow-host', 'third.example:8080'] }, async (hub) => {
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:65535', '[::1]', '[::1]:80', 'hub.example', 'HUB.example:8080', 'other.example', 'third.example:8080', 'third.example', 'localhost:'])
    assert.equal((await statusOf(hub, 'GET /healthz', `Host: ${host}`)).status, 200, host);
  for (const host of ['evil.example', 'localhost.evil.example', 'xlocalhost', 'localhost.', 'hub.example.', 'a.hub.example', '127.0.0.2', '0.0.0.0', '[::]', '%6cocalhost']) {
    for (const path of ['GET /healthz', 'GET /', 'GET /metrics', 'GET /none', 'OPTIONS /rpc', 'GET /ws', 'GET /events?pattern=*', 'GET /readyz'])
      assert.equal((await statusOf(hub, path, `Host: ${host}`)).status, 403, `${path} of ${host}`);
    assert.equal((await alone(hub, rpc(PING, `Host: ${host}`))).status, 403);
  }
});

web('Origin must be the own one, or allowed by name', { options: ['--allow-origin', 'https://app.example', '--allow-origin', 'http://localhost:3000'] }, async (hub) => {
  const { port } = new URL(hub.uri('http'));
  const answer = (...fields) => alone(hub, rpc(PING, ...fields));
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`, 'https://app.example', 'http://localhost:3000'])
    assert.equal((await answer(`Origin: ${origin}`)).status, 200, origin);
  for (const origin of ['null', '', 'http://localhost', 'http://localhost:1', `https://localhost:${port}`, `http://evil.example:${port}`, 'http://app.example', 'https://app.example.evil',
    'https://app.example:444', 'https://xapp.example', `http://localhost:${port}/`, `http://localhost:${port}@evil.example`, `http://evil@localhost:${port}`, 'file://', 'https://APP.example ,x'])
    assert.equal((await answer(`Origin: ${origin}`)).status, 403, origin);
  assert.equal((await answer('Origin: https://app.example', 'Origin: https://evil.example')).status, 403);
  for (const path of ['GET /healthz', 'GET /', 'GET /metrics', 'GET /none', 'OPTIONS /rpc', 'GET /ws', 'GET /events?pattern=*'])
    assert.equal((await statusOf(hub, path, 'Origin: https://evil.example')).status, 403, path);
});

// A browser compares what it sent with what the hub allows, byte by byte.
web('an origin is allowed as browsers send it, however it was written', { options: ['--allow-origin', 'HTTPS://App.Example:443', '--allow-origin', 'http://Localhost:80', '--allow-origin', 'http://b.example:443'] }, async (hub) => {
  for (const origin of ['https://app.example', 'http://localhost', 'http://b.example:443']) {
    const answer = await alone(hub, rpc(PING, `Origin: ${origin}`));
    assert.deepEqual([answer.status, answer.fields['access-control-allow-origin']], [200, origin]);
  }
});

web('a fetch from another site needs an Origin that is allowed by name', { options: ['--allow-origin', 'https://app.example'] }, async (hub) => {
  const { port } = new URL(hub.uri('http'));
  const status = async (...fields) => (await statusOf(hub, 'GET /healthz', ...fields)).status;
  for (const site of ['same-origin', 'none', 'Same-Origin']) assert.equal(await status(`Sec-Fetch-Site: ${site}`), 200, site);
  for (const site of ['cross-site', 'same-site', '', 'x', 'none, cross-site']) {
    assert.equal(await status(`Sec-Fetch-Site: ${site}`), 403, site);
    assert.equal(await status(`Sec-Fetch-Site: ${site}`, `Origin: http://localhost:${port}`), 403, site);
    assert.equal(await status(`Sec-Fetch-Site: ${site}`, 'Origin: https://app.example'), 200, site);
    assert.equal(await status(`Sec-Fetch-Site: ${site}`, 'Origin: https://evil.example'), 403, site);
  }
  assert.equal(await status('Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site'), 403);
});

web('no CORS but for an origin that is allowed by name', { options: ['--allow-origin', 'https://app.example'] }, async (hub) => {
  const { port } = new URL(hub.uri('http'));
  const allowed = (answer) => Object.keys(answer.fields).filter((name) => name.startsWith('access-control'));
  assert.deepEqual(allowed(await alone(hub, rpc(PING))), []);
  assert.deepEqual(allowed(await alone(hub, rpc(PING, `Origin: http://localhost:${port}`))), []);
  assert.deepEqual(allowed(await alone(hub, rpc(PING, 'Origin: https://evil.example'))), []);
  const read = await alone(hub, rpc(PING, 'Origin: https://app.example'));
  assert.equal(read.fields['access-control-allow-origin'], 'https://app.example');
  assert.match(read.fields.vary, /Origin/);
  const preflight = (...fields) => alone(hub, request('OPTIONS /rpc', [...fields, 'Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: content-type']));
  const asked = await preflight('Origin: https://app.example');
  assert.equal(asked.status, 204);
  assert.equal(asked.fields['access-control-allow-origin'], 'https://app.example');
  assert.match(asked.fields['access-control-allow-methods'], /POST/);
  assert.match(asked.fields['access-control-allow-headers'], /Content-Type/i);
  assert.ok(!('access-control-allow-credentials' in asked.fields));
  assert.equal((await preflight('Origin: https://evil.example')).status, 403);
  assert.equal((await preflight()).status, 405);
  assert.equal((await alone(hub, request('OPTIONS /none', ['Origin: https://app.example']))).status, 404);
});
