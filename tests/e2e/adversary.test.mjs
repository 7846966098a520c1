// An adversary's attempts: headers that two readers could read differently, bodies made to hurt a parser, answers to
// the requests of others. More of everything than there is room for, and small requests for much. Each time the others
// are served, and nothing reaches them that shouldn't.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { scenario } from './hub.mjs';
import { assertError, frame, requestText, within } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const isRequest = (one) => 'method' in one.json && 'id' in one.json;
const wide = (count, member) => Array.from({ length: count }, (_, n) => member(n)).join(',');

// --- Headers

const SMUGGLED = requestText(1, 'smuggled', { targetAgent: 'target' });
const L = SMUGGLED.length;

// Blocks that some client or library reads as a good one. Behind each lies a frame that would be the smuggled one.
const VARIANTS = [
  'Content-Length: 1_0', 'Content-Length: 0b11', 'Content-Length: 0o7', 'Content-Length: 07x', 'Content-Length: "5"',
  'Content-Length: 5 (five)', 'Content-Length: 5;q=1', 'Content-Length: 5,', 'Content-Length: ,5', 'Content-Length: 5 ,5',
  'Content-Length: NaN', 'Content-Length: Infinity', 'Content-Length: 5f', 'Content-Length: 5L', 'Content-Length: \u00a05',
  'Content-Length: \x0b5', 'Content-Length: \x0c5', 'Content-Length: 5\x85', 'Content-Length: 5\0', 'Content-Length:\0 5',
  `Content-Length: ${L}\r`, `\rContent-Length: ${L}`, `\nContent-Length: ${L}`, `Content-Length: ${L}\r\r`,
  `\x00Content-Length: ${L}`, `\ufeffContent-Length: ${L}`, `Content-Length\x00: ${L}`, `Content-Length\x0b: ${L}`,
  `Content_Length: ${L}`, `ContentLength: ${L}`, `Content-Length ${L}`, `Content-Length=${L}`, `Content-Length;: ${L}`,
  `"Content-Length": ${L}`, `Content-Length: 18446744073709551621`, `Content-Length: 4294967301`,
  `Transfer-Encoding: chunked`, `Transfer-Encoding: chunked\r\n\r\n${L.toString(16)}`, `Content-Length : ${L}\r\nX: 1`,
  `X: 1\r\n Content-Length: ${L}`, `X: 1\r\n\tContent-Length: ${L}`, `Content-Length: ${L}\r\n\t`,
  `Content-Length: ${L}\r\nContent-Length: ${L}`, `Content-Length: 5\r\nTransfer-Encoding: x\r\ncontent-length: ${L}`,
  `X: 1\nContent-Length: 3\r\nContent-Length: ${L}`, `X: 1\rContent-Length: 3\r\nContent-Length: ${L}`,
  `Content-Length: ${L}\r\nX-Y\r\n`, `Content-Length: ${L}\r\n: x`, `Content-Length: ${L}\r\nX\x7fY: 1`,
  `HTTP/1.1 200 OK\r\nContent-Length: ${L}`, `CONNECT hub:1 HTTP/1.1`, `PRI * HTTP/2.0`, `{"jsonrpc":"2.0"}`,
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'SSH-2.0-x', '*1\r\n$4\r\nPING', 'CONNECT {"verbose":false}',
];

scenario('no block that somebody could read otherwise is passed on', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  for (const lines of VARIANTS) {
    const what = JSON.stringify(lines);
    const peer = await hub.peer();
    peer.write(Buffer.concat([Buffer.from(`${lines}\r\n\r\n`, 'latin1'), Buffer.from(SMUGGLED), frame(SMUGGLED)]));
    const answer = (await peer.next(`the answer to ${what}`)).json;
    assert.ok([-32700, -32055].includes(answer.error?.code), `${what}: ${JSON.stringify(answer)}`);
    assert.strictEqual(answer.id, null);
    await peer.gone(what);
    peer.drop();
  }
  await target.silent('all those blocks');
});

scenario('fields that mean something elsewhere mean nothing here, and arrive as they were', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const fields = ['Transfer-Encoding: chunked', 'Content-Encoding: gzip', 'Expect: 100-continue', 'Connection: close',
    'Upgrade: h2c', 'X-Content-Length: 3', 'Content-Length-X: 3', 'Host: a', 'Host: b', 'X: \x80\xff', 'X: Content-Length: 3'];
  source.write(frame('{"method":"m","params":{"targetAgent":"target"}}', ...fields));
  const came = await target.next();
  assert.deepEqual(came.fields.map(([name, value]) => `${name}: ${value}`).slice(1), fields);
  await target.silent('one notification');
});

// --- Bodies

const DEPTH = 500_000;
const deep = (open, inner, close) => open.repeat(DEPTH) + inner + close.repeat(DEPTH);

scenario('nesting 500,000 deep is carried, or refused, and nobody falls over it', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (const inner of [deep('[', '', ']'), deep('{"targetAgent":', '1', '}'), deep('[{"id":', '1', '}]')]) {
    const body = (id) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"target","context":${inner}}}`;
    source.send(body('"mine"'));
    const came = await target.next('the deep request');
    const id = /"id":(\d+),/.exec(came.text.slice(0, 60))[1];
    assert.ok(came.text === body(id), 'the deep request differs');
    target.send(`{"jsonrpc":"2.0","result":${inner},"id":${id}}`);
    assert.ok((await source.next('the deep answer')).text === `{"jsonrpc":"2.0","result":${inner},"id":"mine"}`);
  }
  const refused = [
    [`{"id":1,"method":"m","params":{"targetAgent":"target","context":${'['.repeat(DEPTH)}}}`, -32700],
    [`{"id":1,"method":"m","params":${'{"params":'.repeat(DEPTH)}`, -32700],
    [`{"id":${deep('[', '', ']')},"method":"m","params":{"targetAgent":"target"}}`, -32600],
  ];
  for (const [body, code] of refused) {
    source.send(body);
    const answer = (await source.next()).json;
    assertError(answer, code);
    assert.strictEqual(answer.id, null);
  }
  assertError(await ask(source, 'agent/register', `{"agentId":"deep","capabilities":${deep('[', '', ']')}}`), -32602);
  for (const body of [deep('[', '', ']'), deep('[', '{"method":"m"}', ']')]) {
    source.send(body);
    const answer = await source.next('the answer to a deep array');
    assert.match(answer.text.slice(0, 200), /-32600|-32700/);
  }
  assert.equal((await source.ask('hub/ping', 1)).result, 1);
  await target.silent('deep bodies that were refused');
});

let asked = 0;
// A request with params as text.
async function ask(peer, method, params) {
  const id = `raw-${++asked}`;
  peer.send(`{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`);
  return (await peer.find((one) => one.text.includes(`"${id}"`), method)).json;
}

scenario('objects of 100,000 members: keys are guarded to the last', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const many = wide(100_000, (n) => `"key-${n}":${n}`);
  const good = `{${many},"method":"m","params":{${many},"targetAgent":"target"}}`;
  source.send(good);
  assert.ok((await target.next('the wide body')).text === good);
  const ambiguous = [
    `{"method":"m",${many},"params":{"targetAgent":"target",${many},"targetAgent":"target"}}`,
    `{"method":"m",${many},"params":{"targetAgent":"target",${many},"t\\u0061rgetAgent":"x"}}`,
    `{"method":"m","params":{"targetAgent":"target"},${many},"method":"n"}`,
    `{"method":"m","params":{"targetAgent":"target","_meta":{"progressToken":1,${many},"progressToken":2}}}`,
  ];
  for (const body of ambiguous) {
    source.send(body);
    assertError((await source.next()).json, -32600);
  }
  await target.silent('wide bodies that were refused');
});

scenario('numbers of a million digits', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const digits = '7'.repeat(1_000_000);
  for (const number of [digits, `-${digits}`, `0.${digits}`, `1e${digits}`, `${digits}.${digits}E-${digits}`]) {
    const body = `{"method":"m","params":{"targetAgent":"target","x":${number}}}`;
    source.send(body);
    assert.ok((await target.next(`a number of ${number.length} bytes`)).text === body);
    source.send(`{"id":${number},"method":"m","params":{"targetAgent":"target"}}`);
    const answer = (await source.next()).json;
    assertError(answer, -32600);
    assert.strictEqual(answer.id, null);
    target.send(`{"id":${number},"result":1}`);
  }
  await target.silent('answers with such ids');
});

scenario('ids of every size up to the bound come back as they were', EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve(() => 1);
  const source = await hub.peer();
  const ids = [];
  for (let bytes = 1; bytes <= 256; bytes += bytes < 70 ? 1 : 31) {
    ids.push('9'.repeat(bytes));
    if (bytes >= 2) ids.push(`"${'i'.repeat(bytes - 2)}"`);
  }
  ids.push('9'.repeat(256), `"${'\\u0000'.repeat(42)}"`, '"\\ud83d\\ude00 \\" \\\\"', '1E400', '-0', '0.0000000000000000000001e-999');
  for (const id of ids) {
    source.send(`{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"target"}}`);
    assert.equal((await source.next(id)).text, `{"jsonrpc":"2.0","id":${id},"result":1}`);
  }
  for (const id of ['9'.repeat(257), `"${'i'.repeat(255)}"`]) {
    source.send(`{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"target"}}`);
    assert.strictEqual(assertError((await source.next()).json, -32600) && null, null);
  }
});

// --- Answers to others

scenario('a stale answer does not end the request that has its slot now', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const first = await hub.peer();
  const second = await hub.peer();
  const old = [];
  for (let round = 0; round < 50; round++) {
    const source = round % 2 ? first : second;
    source.send(requestText(round, 'm', { targetAgent: 'target' }));
    const { id } = (await target.find(isRequest, 'the request')).json;
    assert.ok(!old.includes(id), `the hub id ${id} came back while somebody could remember it`);
    for (const stale of old) target.reply(stale, 'stale');
    target.send(`{"jsonrpc":"2.0","id":${id}.0,"result":"${round}"}`);
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: round, result: String(round) });
    old.push(id);
  }
  for (const source of [first, second]) await source.silent('stale answers');
});

scenario('an answer to a request that ended otherwise ends no other', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (let round = 0; round < 4; round++) {
    source.send(requestText('slow', 'm', { targetAgent: 'target' }), 'Custom-Timeout-Ms: 250');
    const late = (await target.find(isRequest, 'a request')).json.id;
    assertError((await source.next()).json, -32051);
    source.send(requestText('next', 'm', { targetAgent: 'target' }));
    const { id } = (await target.find(isRequest, 'a request')).json;
    target.reply(late, 'late');
    target.send(`{"jsonrpc":"2.0","id":${late},"result":1,"result":2}`);
    target.reply(id, 'right');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'next', result: 'right' });
  }
});

scenario('a connection in the place of one that left inherits nothing', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  for (let round = 0; round < 10; round++) {
    const victim = await hub.agent('victim');
    source.send(requestText(round, 'm', { targetAgent: 'victim' }));
    const { id } = (await victim.next()).json;
    victim.drop();
    assertError((await source.next()).json, -32050);
    const heir = await hub.agent('victim');
    heir.reply(id, 'stolen');
    source.send(requestText('again', 'm', { targetAgent: 'victim' }));
    heir.reply((await heir.find(isRequest, 'the request')).json.id, 'own');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'again', result: 'own' });
    heir.drop();
    while ((await source.ask('hub/agents')).result.agents.length > 0);
  }
});

scenario('a name that is taken over: each connection answers for what it was asked itself',
  { ...EVERYWHERE, options: ['--takeover'] }, async (hub) => {
    const old = await hub.agent('name');
    const source = await hub.peer();
    source.send(requestText(1, 'm', { targetAgent: 'name' }));
    const first = (await old.next()).json.id;
    const heir = await hub.agent('name');
    assert.deepEqual((await old.next()).json, { jsonrpc: '2.0', method: 'hub/replaced', params: { agentId: 'name' } });
    source.send(requestText(2, 'm', { targetAgent: 'name' }));
    const second = (await heir.next()).json.id;
    heir.reply(first, 'stolen');
    old.reply(second, 'stolen');
    for (const peer of [heir, old]) await peer.silent('an answer to what the other was asked');
    old.reply(first, 'old');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 1, result: 'old' });
    heir.reply(second, 'heir');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 2, result: 'heir' });
    assertError(await old.ask('agent/unregister', { agentId: 'name' }), -32010);
  });

// --- More than there is room for

scenario('--max-pending: past it -32052, and each answer makes room for one',
  { ...EVERYWHERE, options: ['--max-pending', '100'] }, async (hub) => {
    const target = await hub.agent('target');
    const source = await hub.peer();
    source.write(Buffer.concat(Array.from({ length: 150 }, (_, id) => frame(requestText(id, 'm', { targetAgent: 'target' })))));
    const refused = [];
    for (let n = 0; n < 50; n++) {
      const answer = (await source.next(`refusal ${n}`)).json;
      assertError(answer, -32052);
      refused.push(answer.id);
    }
    assert.deepEqual(refused, Array.from({ length: 50 }, (_, n) => 100 + n));
    const ids = [];
    for (let n = 0; n < 100; n++) ids.push((await target.next()).json.id);
    const other = await hub.peer();
    assertError(await other.ask('m', { targetAgent: 'target' }), -32052);
    target.reply(ids[0]);
    await source.next();
    other.send(requestText('now', 'm', { targetAgent: 'target' }));
    target.reply((await target.next()).json.id, 'room');
    assert.equal((await other.next()).json.result, 'room');
  });

scenario('the 65th agent of a connection is refused, on no other', EVERYWHERE, async (hub) => {
  const crowd = await hub.peer();
  for (let n = 0; n < 64; n++) await crowd.register(`agent-${n}`);
  const { data } = assertError(await crowd.ask('agent/register', { agentId: 'agent-64' }), -32052);
  assert.equal(data.limit, 64);
  await crowd.register('agent-7'); // again
  await hub.agent('agent-64');
  assert.ok((await crowd.ask('agent/unregister', { agentId: 'agent-0' })).result);
  await crowd.register('agent-65');
});

scenario('--max-connections: those beyond it are closed, and a place that falls free is taken',
  { ...EVERYWHERE, options: ['--max-connections', '8'] }, async (hub) => {
    const peers = [];
    for (let n = 0; n < 8; n++) {
      peers.push(await hub.peer());
      assert.equal((await peers[n].ask('hub/ping', n)).result, n);
    }
    for (let n = 0; n < 5; n++) await (await hub.peer()).gone('the ninth connection');
    peers[3].drop();
    await peers[0].ask('hub/ping');
    let again;
    for (;;) {
      again = await hub.peer();
      const answer = await again.ask('hub/ping', 'in').catch(() => null);
      if (answer) break;
    }
    for (const [n, peer] of peers.entries()) if (n !== 3) assert.equal((await peer.ask('hub/ping', n)).result, n);
    const told = /^patchbayd: there are as many connections as --max-connections allows, 8: more are refused until one ends$/gm;
    while (!told.test(hub.stderr)) await within(once(hub.process.stderr, 'data'), 'a line of the log');
    assert.equal(hub.stderr.match(told).length, 1, 'the first of a row has a line');
  });

// --- Little asked for much

scenario('an error is no longer than its request and a little more', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const long = 'n'.repeat(60_000);
  const bodies = [
    requestText(1, long), requestText(1, 'm', { targetAgent: long }), requestText(1, 'm', { targetAgent: `@${long}` }),
    requestText(1, 'tool/integration', { tool: long }), requestText(1, 'agent/register', { agentId: long }),
    requestText(1, 'agent/register', { agentId: 'a', governanceLevel: long }), requestText(1, 'agent/unregister', { agentId: long }),
    requestText(1, 'governance/approval', { approver: long }), requestText(1, 'm', { targetAgent: '"\\\u0001'.repeat(80) }),
    requestText(1, 'initialize', { governanceLevel: long }), requestText(1, 'hub/agents', { capability: long }),
  ];
  for (const body of bodies) {
    peer.send(body);
    const answer = await peer.next(body.slice(0, 80));
    assertError(answer.json, answer.json.error?.code);
    assert.ok(answer.body.length <= 2600, `${answer.body.length} bytes for ${body.slice(0, 80)}`);
  }
});

// Within a second or so, or sooner if its answers fill the memory: nobody else is the worse for it.
scenario('who asks for much and reads nothing is closed, with a bound on what waits',
  { ...EVERYWHERE, options: ['--max-queue', '256K', '--max-memory', '64M'] }, async (hub) => {
    const witness = await hub.peer();
    const crowd = await hub.peer();
    for (let n = 0; n < 16; n++) await crowd.register(`agent-${n}`, { about: 'x'.repeat(60_000) });
    const before = (await witness.ask('hub/stats')).result;
    const greedy = await hub.peer();
    greedy.socket.pause();
    greedy.write(Buffer.concat(Array.from({ length: 500 }, (_, id) => frame(requestText(id, 'hub/agents')))));
    const closed = (stats) => stats.closed_slow_readers + stats.closed_no_memory;
    let stats = before;
    // A request that finds too much waiting is refused. The socket takes the rest for a while, so more is asked for.
    for (let id = 500; closed(stats) === closed(before); id++) {
      greedy.write(frame(requestText(id, 'hub/agents')));
      stats = (await witness.ask('hub/stats')).result;
    }
    assert.equal(closed(stats) - closed(before), 1);
    greedy.socket.resume();
    await greedy.gone('the close of who reads nothing');
    assert.equal((await crowd.ask('hub/ping', 1)).result, 1);
  });

scenario('a header block that never ends is closed in time, though a byte comes now and then',
  { options: ['--frame-timeout', '400ms'] }, async (hub) => {
    const slow = await hub.peer();
    const other = await hub.peer();
    const start = Date.now();
    const bytes = frame(SMUGGLED, `X: ${'y'.repeat(8000)}`);
    for (let at = 0; !slow.closed && at < bytes.length; at++) {
      await slow.write(bytes.subarray(at, at + 1));
      await other.ask('hub/ping', 'x'.repeat(20_000));
      if (Date.now() - start > 20_000) break;
    }
    await slow.gone('the slow block to be closed');
    assert.equal((await other.ask('hub/ping', 1)).result, 1);
  });
