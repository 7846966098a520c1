// WebSocket (RFC 6455) frame by frame, and peers on it: agents, sources, subscribers, as on any other transport.
import assert from 'node:assert/strict';
import { assertError, requestText, within } from './peer.mjs';
import { alone, Client, request, web } from './web.mjs';
import { BINARY, CLOSE, closed, closeFrame, CONTINUATION, PING, PONG, TEXT, upgrade, upgraded, wsFrame } from './websocket.mjs';

const EVERYWHERE = { shards: [1, 2] };
const asks = (id, more = {}) => requestText(id, 'm', { targetAgent: 'target', ...more });
const ping = (id) => requestText(id, 'hub/ping');

async function open(hub, ...fields) {
  const peer = await upgraded(hub.uri('http'), fields);
  hub.peers.push(peer);
  return peer;
}

// --- The handshake

web('an upgrade that is asked for well', {}, async (hub) => {
  const none = await open(hub);
  assert.doesNotMatch(none.head, /Sec-WebSocket-(Protocol|Extensions)/i);
  for (const [field, given] of [['Sec-WebSocket-Protocol: hugai.v2', true], ['Sec-WebSocket-Protocol: x, hugai.v2', true],
    ['Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: hugai.v2', true], ['Sec-WebSocket-Protocol: mqtt', false],
    ['Sec-WebSocket-Extensions: permessage-deflate', false]]) {
    const peer = await open(hub, field);
    assert.equal(/\r\nSec-WebSocket-Protocol: hugai\.v2(\r\n|$)/.test(peer.head), given, peer.head);
    assert.doesNotMatch(peer.head, /Sec-WebSocket-Extensions/i);
    assert.equal((await peer.ask('hub/ping')).result, null);
  }
  const own = await open(hub, `Origin: ${hub.uri('http')}`);
  await own.silent('an upgrade of the own page');
});

web('what comes right behind the upgrade is heard', EVERYWHERE, async (hub) => {
  const peer = await upgraded(hub.uri('http'), [], Buffer.concat([wsFrame(TEXT, ping(1)), wsFrame(TEXT, ping(2))]));
  hub.peers.push(peer);
  assert.equal((await peer.next()).json.id, 1);
  assert.equal((await peer.next()).json.id, 2);
});

web('an upgrade that is asked for badly', {}, async (hub) => {
  const good = upgrade().toString();
  const refused = async (status, bytes) => {
    const answer = await alone(hub, Buffer.from(bytes));
    assert.equal(answer.status, status, bytes);
    assert.ok(answer.closes);
    if (status === 426) {
      assert.equal(answer.fields.upgrade, 'websocket');
      assert.equal(answer.fields['sec-websocket-version'], '13');
    }
  };
  for (const version of ['12', '14', '8', '013', '13, 8', '']) await refused(426, good.replace('Version: 13', `Version: ${version}`));
  await refused(426, good.replace('Sec-WebSocket-Version: 13\r\n', ''));
  await refused(426, good.replace('Upgrade: websocket', 'Upgrade: h2c'));
  await refused(426, good.replace('Upgrade: websocket\r\n', ''));
  await refused(426, good.replace('Connection: Upgrade', 'Connection: keep-alive'));
  await refused(426, good.replace('HTTP/1.1', 'HTTP/1.0'));
  await refused(426, request('GET /ws').toString());
  for (const key of ['', 'x', 'dGhlIHNhbXBsZSBub25jZQ=', 'dGhlIHNhbXBsZSBub25jZQ===', 'dGhlIHNhbXBsZSBub25jZ===', '!GhlIHNhbXBsZSBub25jZQ==', 'dGhlIHNhbXBsZSBub25jZQAA'])
    await refused(400, good.replace(/Key: .*/, `Key: ${key}`));
  await refused(400, good.replace(/Sec-WebSocket-Key.*\r\n/, ''));
  await refused(400, good.replace(/(Sec-WebSocket-Key.*\r\n)/, '$1$1'));
  for (const field of ['Governance-Level: lax', 'Custom-Timeout-Ms: 0', 'HugAI-Version: 3']) await refused(400, upgrade([field]).toString());
  assert.equal((await alone(hub, upgrade(['Origin: https://evil.example']))).status, 403);
  assert.equal((await alone(hub, upgrade(['Sec-Fetch-Site: cross-site']))).status, 403);
  for (const connection of ['upgrade', 'keep-alive, Upgrade', 'x,UPGRADE,y']) {
    const client = await Client.open(hub);
    client.write(good.replace('Connection: Upgrade', `Connection: ${connection}`).replace('websocket', 'WebSocket'));
    await client.take((bytes) => (bytes.includes('HTTP/1.1 101 ') ? { whole: bytes.length, value: 1 } : null), connection);
  }
});

// --- Frames

web('fragments are one message, with control frames between them', EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve((message) => message.params.text);
  const peer = await open(hub);
  const text = 'aé😀'.repeat(50);
  const body = Buffer.from(asks(1, { text }));
  for (const size of [1, 3, 100, body.length]) {
    const parts = [];
    for (let at = 0; at < body.length; at += size) {
      const last = at + size >= body.length;
      parts.push(wsFrame(at ? CONTINUATION : TEXT, body.subarray(at, at + size), { fin: last }));
      if (!last && at % (size * 3) === 0) parts.push(wsFrame(PING, `p${at}`), wsFrame(PONG, 'unasked'));
    }
    peer.write(Buffer.concat(parts));
    const pongs = [];
    for (;;) {
      const one = await peer.next();
      if (one.opcode === TEXT) {
        assert.equal(one.json.result, text);
        break;
      }
      assert.equal(one.opcode, PONG);
      pongs.push(one.text);
    }
    const expected = [];
    for (let at = 0; at + size < body.length; at += size * 3) expected.push(`p${at}`);
    assert.deepEqual(pongs, expected);
  }
  // Empty fragments, the last one too.
  const [head, tail] = [ping(7).slice(0, 5), ping(7).slice(5)];
  peer.write(Buffer.concat([wsFrame(TEXT, '', { fin: false }), wsFrame(CONTINUATION, head, { fin: false }), wsFrame(CONTINUATION, '', { fin: false }),
    wsFrame(CONTINUATION, tail, { fin: false }), wsFrame(CONTINUATION, '')]));
  assert.equal((await peer.next()).json.id, 7);
});

web('a ping is answered with its payload, and frames are read however they are cut', EVERYWHERE, async (hub) => {
  const peer = await open(hub);
  for (const payload of ['', 'x', 'é'.repeat(62), '\0'.repeat(125)]) {
    for (const byte of wsFrame(PING, payload)) await peer.write(Buffer.from([byte]));
    const one = await peer.next();
    assert.deepEqual([one.opcode, one.text], [PONG, payload]);
  }
  for (const byte of wsFrame(TEXT, ping('slow'))) await peer.write(Buffer.from([byte]));
  assert.equal((await peer.next()).json.id, 'slow');
  for (const mask of [[0, 0, 0, 0], [255, 255, 255, 255], [1, 0, 0, 128]]) {
    peer.write(wsFrame(TEXT, ping(mask[0]), { mask: Buffer.from(mask) }));
    assert.equal((await peer.next()).json.id, mask[0]);
  }
  peer.write(wsFrame(PONG, 'nobody asked'));
  await peer.silent('a pong');
});

web('lengths where their form changes, and large messages', EVERYWHERE, async (hub) => {
  const target = (await hub.agent('target')).serve((message) => message.params.x);
  const peer = await open(hub);
  for (const bytes of [125, 126, 127, 65_534, 65_535, 65_536, 65_537, 1_000_000, 5_000_000]) {
    const body = ping(1).replace('}', `,"params":"${'x'.repeat(bytes - ping(1).length - 12)}"}`);
    assert.equal(body.length, bytes);
    peer.send(body);
    const answer = await peer.next();
    assert.equal(answer.json.result.length, bytes - ping(1).length - 12);
    assert.equal((await peer.ask('m', { targetAgent: 'target', x: body })).result, body);
  }
  target.answers = null;
});

web('what breaks the protocol ends with the code that says so', { ...EVERYWHERE, options: ['--max-frame', '64K'] }, async (hub) => {
  const within125 = Buffer.alloc(126);
  const raw = (...bytes) => Buffer.from(bytes);
  const rows = [
    [1002, wsFrame(TEXT, ping(1), { mask: null })],
    [1002, wsFrame(TEXT, ping(1), { reserved: 0x40 })],
    [1002, wsFrame(TEXT, ping(1), { reserved: 0x20 })],
    [1002, wsFrame(TEXT, ping(1), { reserved: 0x10 })],
    ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [1002, wsFrame(opcode, '')]),
    [1002, wsFrame(PING, within125)],
    [1002, wsFrame(PING, 'x', { fin: false })],
    [1002, wsFrame(CLOSE, '', { fin: false })],
    [1002, wsFrame(CONTINUATION, 'x')],
    [1002, Buffer.concat([wsFrame(TEXT, '{', { fin: false }), wsFrame(TEXT, '}')])],
    [1002, Buffer.concat([wsFrame(TEXT, '{', { fin: false }), wsFrame(BINARY, '}')])],
    [1002, raw(0x81, 0xfe, 0, 125)],
    [1002, raw(0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff)],
    [1002, raw(0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0)],
    [1002, wsFrame(CLOSE, 'x')],
    ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535].map((code) => [1002, closeFrame(code)]),
    [1007, wsFrame(CLOSE, Buffer.from([3, 232, 0xff]))],
    [1003, wsFrame(BINARY, ping(1))],
    [1003, wsFrame(BINARY, '')],
    [1007, wsFrame(TEXT, Buffer.from([0x22, 0xff, 0x22]))],
    [1007, wsFrame(TEXT, Buffer.from([0xed, 0xa0, 0x80]))],
    [1007, wsFrame(TEXT, Buffer.from([0xc3]))],
    [1007, Buffer.concat([wsFrame(TEXT, Buffer.from([0xc3]), { fin: false }), wsFrame(CONTINUATION, '')])],
    [1009, wsFrame(TEXT, 'x'.repeat(65_537))],
    [1009, raw(0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 1)],
    [1009, raw(0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255)],
    [1009, Buffer.concat([wsFrame(TEXT, 'x'.repeat(65_536), { fin: false }), wsFrame(CONTINUATION, 'x')])],
  ];
  for (const [code, bytes] of rows) {
    const peer = await open(hub);
    peer.write(Buffer.concat([bytes, wsFrame(TEXT, ping('never'))]));
    const what = bytes.subarray(0, 16).toString('hex');
    assert.equal(await closed(peer, what), code, what);
    peer.drop();
  }
  // Right at the limit, and a character that two fragments share, all is well.
  const peer = await open(hub);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hub/ping', params: 'é'.repeat(100) });
  const bytes = Buffer.from(body + ' '.repeat(65_536 - Buffer.byteLength(body)));
  const cut = bytes.indexOf(0xc3) + 1;
  peer.write(Buffer.concat([wsFrame(TEXT, bytes.subarray(0, cut), { fin: false }), wsFrame(CONTINUATION, bytes.subarray(cut))]));
  assert.equal((await peer.next()).json.result, 'é'.repeat(100));
});

web('an empty message, and one that is no JSON, is answered', {}, async (hub) => {
  const peer = await open(hub);
  for (const body of ['', '{', ' ', 'x']) {
    peer.send(body);
    assertError((await peer.next()).json, -32700, JSON.stringify(body));
  }
  peer.send('7');
  assertError((await peer.next()).json, -32600);
  await peer.silent('faulty bodies');
});

// --- The close

web('a close is answered with its code, behind what is due, and nothing after it is heard', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  for (const [bytes, code] of [[closeFrame(1000, 'bye'), 1000], [closeFrame(1001), 1001], [closeFrame(4999, 'é'), 4999], [closeFrame(3000), 3000], [closeFrame(1012), 1012],
    [wsFrame(CLOSE, ''), undefined]]) {
    const peer = await open(hub);
    peer.write(Buffer.concat([wsFrame(TEXT, ping(1)), bytes, wsFrame(TEXT, asks('never')), wsFrame(PING, 'never')]));
    assert.equal((await peer.next()).json.id, 1);
    assert.equal(await closed(peer, String(code)), code);
    peer.drop();
  }
  await target.silent('what came behind a close');
});

web('who closes, or goes, has left: what it asked is cancelled, and its agents are free', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  for (const leave of [(peer) => peer.write(closeFrame(1000)), (peer) => peer.drop(), (peer) => peer.finish()]) {
    const peer = await (await open(hub)).register('short');
    peer.send(asks(1));
    const { id } = (await target.next()).json;
    leave(peer);
    const cancel = (await target.next('the cancel')).json;
    assert.deepEqual([cancel.method, cancel.params], ['$/cancelRequest', { id }]);
    await target.register('short');
    await target.ask('agent/unregister', { agentId: 'short' });
    peer.drop();
  }
});

web('the hub says why when it closes, and waits a second for the answer', {}, async (hub) => {
  const peer = await open(hub);
  peer.write(wsFrame(BINARY, ''));
  const close = await peer.next();
  assert.equal(close.code, 1003);
  assert.ok(close.reason.length > 0);
  peer.write(closeFrame(1003));
  await peer.gone();
});

web('at the drain: 1001', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const target = await (await open(hub)).register('target');
  (await hub.agent('echo')).serve(() => null);
  const [source, idle] = [await open(hub), await open(hub)];
  source.send(asks('kept'));
  const { id } = (await target.next()).json;
  hub.process.kill('SIGTERM');
  let answer;
  do answer = await source.ask('m', { targetAgent: 'echo' });
  while (!answer.error);
  assertError(answer, -32052);
  target.reply(id, 'in time');
  assert.equal((await source.next()).json.result, 'in time');
  for (const peer of [source, idle, target]) assert.equal(await closed(peer, 'the end of the drain'), 1001);
  for (const peer of [source, idle, target]) peer.drop();
  await hub.ended();
});

// --- Standing header fields

web('the fields of the upgrade hold for each message: they reach a framed target, and are judged', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target', {}, { governanceLevel: 'supervised' });
  const standing = await open(hub, 'Governance-Level: supervised', 'Custom-Timeout-Ms: 60000', 'Custom-Other: no', 'Cookie: x', 'Request-Id: r', 'HugAI-Version: 2');
  standing.send(asks(1));
  const asked = await target.next();
  const fields = asked.fields.slice(1);
  assert.deepEqual(fields, [['Governance-Level', 'supervised'], ['Custom-Timeout-Ms', '60000']]);
  target.send({ jsonrpc: '2.0', id: asked.json.id, result: 1 }, 'Custom-Cost: 3');
  assert.equal((await standing.next()).json.result, 1);
  const strict = await open(hub, 'Governance-Level: manual');
  assertError(await strict.ask('m', { targetAgent: 'target' }), -32011);
  assert.equal((await strict.ask('hub/ping')).result, null);
  const hasty = await open(hub, 'Custom-Timeout-Ms: 40');
  assertError(await hasty.ask('m', { targetAgent: 'target' }), -32051);
  const plain = await open(hub);
  target.frames.length = 0;
  plain.send(asks(2));
  assert.deepEqual((await target.find((one) => one.json.method === 'm', 'the plain one')).fields.length, 1);
});

web('a framed peer\'s fields are judged, and don\'t reach a WebSocket', EVERYWHERE, async (hub) => {
  const target = await (await open(hub)).register('target', {}, { governanceLevel: 'supervised' });
  const source = await hub.peer();
  source.send(asks(1), 'Governance-Level: supervised', 'Custom-X: y');
  const asked = await target.next();
  assert.equal(asked.text, asks(asked.json.id));
  target.reply(asked.json.id, 1);
  assert.equal((await source.next()).json.result, 1);
  assertError(await source.ask('m', { targetAgent: 'target' }, 'Governance-Level: manual'), -32011);
});

// --- A peer like any other

web('a target, its source, its cancels, its progress', EVERYWHERE, async (hub) => {
  const target = await (await open(hub)).register('target');
  const source = await open(hub);
  source.send(asks('mine', { workDoneToken: 'token' }));
  const { id, params } = (await target.next()).json;
  target.notify('$/progress', { token: params.workDoneToken, value: 5 });
  assert.deepEqual((await source.next()).json.params, { token: 'token', value: 5 });
  source.notify('$/cancelRequest', { id: 'mine' });
  assert.deepEqual((await target.next()).json.params, { id });
  target.send({ jsonrpc: '2.0', id, error: { code: -32800, message: 'cancelled' } });
  assert.equal((await source.next()).json.error.code, -32800);
});

web('a batch, whose answers come in one array', EVERYWHERE, async (hub) => {
  (await (await open(hub)).register('target')).serve((message) => message.params.n);
  const source = await open(hub);
  source.send(`[${asks(1, { n: 10 })},${ping(2)},{"jsonrpc":"2.0","method":"n"},3]`);
  const answers = (await source.next()).json;
  assert.equal(answers.length, 3);
  assert.equal(answers.find(({ id }) => id === 1).result, 10);
  assert.equal(answers.find(({ id }) => id === 2).result, null);
  assertError(answers.find(({ id }) => id === null), -32600);
  source.send('[{"jsonrpc":"2.0","method":"n"}]');
  await source.silent('a batch of notifications');
});

web('events reach WebSocket and framed subscribers as the same bytes', EVERYWHERE, async (hub) => {
  const subscribers = [await open(hub), await hub.peer(), await open(hub)];
  for (const one of subscribers) await one.ask('hub/subscribe', { events: ['build-*'] });
  const source = await open(hub);
  for (const size of [1, 100, 130, 3_000, 70_000]) {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { event: 'build-x', text: 'é'.repeat(size) } });
    source.send(body);
    for (const one of subscribers) assert.equal((await one.next()).text, body);
  }
  const [first] = subscribers;
  await first.ask('hub/unsubscribe', { events: ['build-*'] });
  source.notify('event', { event: 'build-x' });
  await subscribers[1].next();
  await first.silent('an event after unsubscribing');
});

web('a slow WebSocket alone misses events, and is told how many', { ...EVERYWHERE, options: ['--max-queue', '256K'] }, async (hub) => {
  const [slow, quick] = [await open(hub), await open(hub)];
  for (const one of [slow, quick]) await one.ask('hub/subscribe', { events: ['*'] });
  slow.socket.pause();
  const source = await hub.peer();
  const count = 600;
  const text = 'x'.repeat(50_000);
  for (let n = 0; n < count; n++) {
    source.notify('event', { event: 'e', n, text });
    assert.equal((await quick.next()).json.params.n, n);
  }
  slow.socket.resume();
  let [heard, missed, last] = [0, 0, -1];
  while (heard + missed < count) {
    const { method, params } = (await slow.next()).json;
    if (method === 'hub/dropped') missed += params.count;
    else {
      assert.ok(params.n > last);
      last = params.n;
      heard++;
    }
  }
  assert.ok(missed > 0);
  assert.equal(heard + missed, count);
});

web('endless fragments and pings in a message take no memory', { options: ['--max-memory', '16M'], shards: [1] }, async (hub) => {
  const peer = await open(hub);
  peer.serve(() => null);
  peer.write(wsFrame(TEXT, '[', { fin: false }));
  const empty = wsFrame(CONTINUATION, '', { fin: false });
  const many = Buffer.concat(Array.from({ length: 20_000 }, () => empty));
  for (let n = 0; n < 20; n++) await peer.write(many);
  peer.write(Buffer.concat([wsFrame(PING, 'still'), wsFrame(CONTINUATION, ping(1)), wsFrame(TEXT, ping(2))]));
  const next = () => peer.next('an answer after 400,000 fragments');
  assert.equal((await next()).opcode, PONG);
  assertError((await next()).json, -32700);
  assert.equal((await next()).json.id, 2);
  const { result } = await peer.ask('hub/stats');
  assert.ok(result.closed_no_memory === 0 && result.buffer_bytes < 8_000_000, `${result.buffer_bytes}`);
});

web('a hundred at once, each its own', EVERYWHERE, async (hub) => {
  (await (await open(hub)).register('target')).serve((message) => message.params);
  const peers = await Promise.all(Array.from({ length: 100 }, () => open(hub)));
  await within(Promise.all(peers.map(async (peer, n) => {
    for (let round = 0; round < 10; round++) {
      const { result } = await peer.ask('m', { targetAgent: 'target', n, round });
      assert.deepEqual(result, { targetAgent: 'target', n, round });
    }
  })), '1,000 answers');
});
