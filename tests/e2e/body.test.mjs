// A fault inside a body is recoverable: an error answer, and the connection goes on. No two parsers may read what the
// hub forwards differently where it counts, so doubled and escaped routing keys are refused.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError } from './peer.mjs';

// Sends each body; the answer must be that error with id null, and then a good request must work.
async function allRefused(hub, code, bodies) {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (const body of bodies) {
    const what = body.toString('latin1');
    source.send(body);
    const answer = (await source.next(`the answer to ${what}`)).json;
    assertError(answer, code, what);
    assert.strictEqual(answer.id, null, what);
    assert.deepEqual((await source.ask('hub/ping', [what])).result, [what]);
  }
  assert.equal(source.frames.length, 0);
  await target.silent('bodies that were refused');
}

scenario('what is no JSON is -32700 and the connection goes on', { shards: [1, 2] }, (hub) => allRefused(hub, -32700, [
  '{', '}', ' ', '\n', '{"', 'nope', '{]', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{"jsonrpc":"2.0" "id":1,"method":"m"}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping"', '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping"} x', '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}{}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","params":{"a":1', '{"id":1,"method":"m","params":{"a":[1}}',
  '{"id":1,"method":"m","params":{"targetAgent":"target","a" 1}}', '{"id":1,"method":"m","params":{"targetAgent":"target",}}',
  "{'id':1,'method':'m'}", '{"id":1,"method":"m","params":{"targetAgent":"target"},}', '{"id":01,"method":"hub/ping"}',
  '{"id":1.,"method":"hub/ping"}', '{"id":+1,"method":"hub/ping"}', '{"id":1,"method":"hub/ping\n"}',
  '{"id":"\\x","method":"hub/ping"}', '{"id":1,"method":"hub/ping',
]));

scenario('JSON that is no message is -32600 with id null', { shards: [1, 2] }, (hub) => allRefused(hub, -32600, [
  '{}', '1', 'null', 'true', '"text"', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"2.0","id":1,"params":{}}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","result":1}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","error":{"code":1,"message":"m"}}',
  '{"jsonrpc":"2.0","method":"hub/ping","result":1}', '{"jsonrpc":"2.0","id":1,"method":5}',
  '{"jsonrpc":"2.0","id":1,"method":null}', '{"jsonrpc":"2.0","id":1,"method":["hub/ping"]}',
]));

const TOP = { jsonrpc: '"2.0"', method: '"hub/ping"', id: '1', params: '{}', result: '1', error: '{}' };
const PARAMS = ['targetAgent', 'sourceAgent', 'priority', 'event', 'tool', 'approver', 'agentId', 'id', 'token',
  'progressToken', 'workDoneToken', 'partialResultToken'];
const escaped = (key) => `\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}`;
const request = (params) => `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`;

scenario('a routing key twice at its level is -32600', {}, (hub) => allRefused(hub, -32600, [
  '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"hub/ping"}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","id":2}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","method":"exit"}',
  '{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"target"},"params":{}}',
  ...PARAMS.map((key) => request(`{"targetAgent":"target","${key}":"target","x":[],"${key}":"target"}`)),
  request('{"targetAgent":"target","_meta":{},"_meta":{}}'),
  request('{"targetAgent":"target","_meta":{"progressToken":1,"progressToken":2}}'),
]));

scenario('a routing key spelled with an escape is -32600', {}, (hub) => allRefused(hub, -32600, [
  ...Object.keys(TOP).filter((key) => key !== 'result' && key !== 'error').map((key) =>
    `{${Object.entries(TOP).filter(([name]) => name !== 'result' && name !== 'error').map(([name, value]) =>
      `"${name === key ? escaped(name) : name}":${value}`).join(',')}}`),
  '{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"target"},"\\u0069d":2}',
  ...PARAMS.map((key) => request(`{"${key === 'targetAgent' ? 'x' : 'targetAgent'}":"target","${escaped(key)}":"target"}`)),
  request('{"targetAgent":"target","\\u005fmeta":{}}'),
  request('{"targetAgent":"target","_meta":{"progress\\u0054oken":1}}'),
]));

scenario('a body that is not UTF-8 is -32600', {}, (hub) => allRefused(hub, -32600, [
  [0xff], [0x80], [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80],
  [0xe2, 0x82], [0xc3],
].map((bytes) => Buffer.concat([
  Buffer.from('{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"target","context":{"deep":["'),
  Buffer.from(bytes), Buffer.from('"]}}}'),
]))));

scenario('notifications that can not be read are answered too', {}, (hub) => allRefused(hub, -32600, [
  '{"jsonrpc":"2.0","method":"m","method":"m"}', '{"jsonrpc":"2.0","method":7}',
  '{"jsonrpc":"2.0","method":"m","params":{"targetAgent":"target","targetAgent":"target"}}',
]));

scenario('keys that only look like routing keys pass, doubled or not', {}, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const bodies = [
    '{"method":"m","params":{"targetAgent":"target","context":{"targetAgent":"a","targetAgent":"b","i\\u0064":1}}}',
    '{"method":"m","params":{"targetAgent":"target","Id":1,"Id":2,"TargetAgent":"x"},"Method":"y","x":1,"x":1}',
    '{"method":"m","params":{"targetAgent":"target","_meta":{"other":1,"other":2},"method":"x","method":"y"}}',
    '{"method":"m","params":{"targetAgent":"target","\\u0078":1},"\\u0078":2,"targetAgent":"nobody","targetAgent":"no"}',
  ];
  for (const body of bodies) {
    source.send(body);
    assert.equal((await target.next(body)).text, body);
  }
});

scenario('a routing value spelled with escapes means what it spells', { shards: [1, 2] }, async (hub) => {
  const target = await hub.agent('test-agent', { methods: ['code/format'] });
  const source = await hub.peer();
  const bodies = [
    '{"method":"m","params":{"targetAgent":"test\\u002dagent"}}',
    '{"method":"m","params":{"targetAgent":"\\u0074\\u0065st-agent"}}',
    '{"method":"code\\/format","params":{}}', '{"method":"c\\u006Fde/format","params":{}}',
  ];
  for (const body of bodies) {
    source.send(body);
    assert.equal((await target.next(body)).text, body);
  }
  source.send('{"jsonrpc":"2.0","id":1,"method":"hub\\/ping","params":{"targetAgent":"test-agent"}}');
  assert.deepEqual((await source.next()).json.result, { targetAgent: 'test-agent' });
  source.send('{"jsonrpc":"2.0","id":2,"method":"m","params":{"targetAgent":"test-agent\\u0000"}}');
  assert.ok([-32010, -32602].includes((await source.next()).json.error.code));
});

scenario('a broken response is never answered, and ends the request it names', { shards: [1, 2] }, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const broken = [
    (id) => `{"jsonrpc":"2.0","id":${id},"result":1,"result":2}`,
    (id) => `{"jsonrpc":"2.0","id":${id},"result":1,"err\\u006fr":2}`,
    (id) => Buffer.concat([Buffer.from(`{"id":${id},"result":"`), Buffer.of(0xff), Buffer.from('"}')]),
  ];
  for (const spell of broken) {
    source.send('{"jsonrpc":"2.0","id":"mine","method":"m","params":{"targetAgent":"target"}}');
    const { id } = (await target.next()).json;
    target.send(spell(id));
    const answer = (await source.next()).json;
    assertError(answer, -32603);
    assert.equal(answer.id, 'mine');
    await target.silent('a broken response');
  }
});

scenario('header fields with bad values are answered with the id of the request', {}, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const bad = [
    ['Governance-Level: strict', -32602], ['Governance-Level:', -32602], ['Governance-Level: Manual', -32602],
    ['Custom-Timeout-Ms: 0', -32602], ['Custom-Timeout-Ms: 3600001', -32602], ['Custom-Timeout-Ms: soon', -32602],
    ['Custom-Timeout-Ms: -5', -32602], ['Custom-Timeout-Ms: 1.5', -32602], ['Custom-Timeout-Ms:', -32602],
    ['HugAI-Version: 3.0.0', -32056], ['HugAI-Version: 1.0.0', -32056], ['HugAI-Version: 20.0.0', -32056],
  ];
  for (const [field, code] of bad) {
    assertError(await source.ask('m', { targetAgent: 'target' }, field), code, field);
    source.notify('m', { targetAgent: 'target' }, field);
    await source.silent(`a notification with ${field}`);
  }
  await target.silent('refused header fields');
  target.serve(() => 'good');
  for (const field of ['HugAI-Version: 2', 'HugAI-Version: 2.1', 'Custom-Timeout-Ms: 3600000', 'Governance-Level: autonomous']) {
    assert.equal((await source.ask('m', { targetAgent: 'target' }, field)).result, 'good', field);
  }
});
