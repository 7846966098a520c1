// Two hubs and a NATS server: an agent that isn't at this hub is asked for at the other one. A request and its answer
// are across as they are locally: ids, bytes, header fields, levels, progress, cancels, errors.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { joined, linked, until } from './cluster.mjs';
import { assertError, frame, requestText } from './peer.mjs';

joined('a request crosses by targetAgent, and its answer comes back under its own id', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  for (const id of ['"mine"', '7', '-1.5e3', '"\\u00e9"']) {
    source.send(`{"jsonrpc":"2.0","method":"work","params":{"a":[1.0, 2],"targetAgent":"b"},"id":${id}}`);
    const { text, json } = await agent.next();
    assert.match(text, /^\{"jsonrpc":"2\.0","method":"work","params":\{"a":\[1\.0, 2\],"targetAgent":"b"\},"id":[1-9][0-9]*\}$/);
    agent.send(`{"id":${json.id},"jsonrpc":"2.0",  "result":{"x":1.0}}`);
    assert.equal((await source.next()).text, `{"id":${id},"jsonrpc":"2.0",  "result":{"x":1.0}}`);
  }
});

joined('both ways at once, with equal ids', {}, async (x, y) => {
  (await x.agent('at-x')).serve((message) => ['x', message.params.n]);
  (await y.agent('at-y')).serve((message) => ['y', message.params.n]);
  const [one, other] = [await x.peer(), await y.peer()];
  const both = await Promise.all(Array.from({ length: 50 }, (_, n) => n).flatMap((n) => [
    one.ask('work', { targetAgent: 'at-y', n }), other.ask('work', { targetAgent: 'at-x', n }),
  ]));
  both.forEach(({ result }, at) => assert.deepEqual(result, [at % 2 ? 'x' : 'y', at >> 1]));
});

joined('what agents at another hub owe is bounded there, for each of them', { hubs: [['--max-pending', '3'], ['--max-pending', '4']], shards: [1, 2] }, async (x, y) => {
  const silent = [await y.agent('s'), await y.agent('t')], source = await x.peer();
  (await y.agent('fast')).serve(({ params }) => params.n);
  const here = await x.agent('here');
  const asked = silent.map((agent, at) => Array.from({ length: 4 }, (_, n) => source.ask('work', { targetAgent: 'st'[at], n })));
  for (const agent of silent) for (let n = 0; n < 4; n++) assert.equal((await agent.next()).json.params.n, n);
  assertError(await source.ask('work', { targetAgent: 's' }), -32052);
  assert.equal((await source.ask('work', { targetAgent: 'fast', n: 7 })).result, 7);
  assertError(await source.ask('work', { targetAgent: 'nobody' }), -32010);
  const near = [1, 2, 3].map(() => source.ask('work', { targetAgent: 'here' }));
  for (let n = 0; n < near.length; n++) await here.next();
  assertError(await source.ask('work', { targetAgent: 'here' }), -32052);
  for (const agent of [...silent, here]) agent.drop();
  for (const answer of await Promise.all([...asked.flat(), ...near])) assertError(answer, -32050);
});

joined('an error of the target comes as it was said', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }));
  const { json } = await agent.next();
  agent.send(`{"jsonrpc":"2.0","id":${json.id},"error":{"code":-32010,"message":"mine","data":[1, 2]}}`);
  assert.equal((await source.next()).text, '{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"mine","data":[1, 2]}}');
});

joined('who is nowhere is refused at once, as locally', {}, async (x) => {
  const source = await x.peer();
  assertError(await source.ask('work', { targetAgent: 'nobody' }), -32010);
  assertError(await source.ask('work', { targetAgent: '@nothing' }), -32010);
  assertError(await source.ask('tool/integration', { tool: 'none', arguments: {} }), -32002);
  assertError(await source.ask('no/such', {}), -32601);
});

joined('notifications cross; one for nobody is counted', {}, async (x, y) => {
  const agent = await y.agent('b', { methods: ['note'] });
  const source = await x.peer();
  for (const text of ['{"jsonrpc":"2.0","method":"m","params":{"targetAgent":"b"}}', '{"jsonrpc":"2.0","method":"note","params":[ 1.0 ]}']) {
    source.send(text);
    assert.equal((await agent.next()).text, text);
  }
  source.notify('work', { targetAgent: 'nobody' });
  source.notify('no/such', {});
  await source.silent('notifications for nobody');
});

joined('@NAME, a tool, a method and a command are found at the other hub', {}, async (x, y) => {
  (await y.agent('b', { review: true, tools: ['lint'], methods: ['tests/run'], commands: ['deploy'] })).serve((message) => message.method);
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: '@review' })).result, 'work');
  assert.equal((await source.ask('tool/integration', { tool: 'lint', arguments: {} })).result, 'tool/integration');
  assert.equal((await source.ask('tests/run', {})).result, 'tests/run');
  assert.equal((await source.ask('command/execute', { command: 'deploy' })).result, 'command/execute');
  assertError(await source.ask('tool/integration', { tool: 'lin', arguments: {} }), -32002);
  assertError(await source.ask('tests', {}), -32601);
});

joined('header fields of both sides arrive as they were sent', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  const fields = ['Request-Id: r 1', 'Custom-A: b, c', 'X-Same: 1', 'X-Same: 2', 'HugAI-Version: 2.0.0', 'Governance-Level: autonomous'];
  source.send(requestText(1, 'work', { targetAgent: 'b' }), ...fields);
  const came = await agent.next();
  assert.deepEqual(came.fields.slice(1).map(([name, value]) => `${name}: ${value}`), fields);
  agent.write(frame(`{"jsonrpc":"2.0","id":${came.json.id},"result":1}`, 'X-Back: 1', 'Custom-B: x'));
  assert.deepEqual((await source.next()).fields.slice(1), [['X-Back', '1'], ['Custom-B', 'x']]);
});

joined('fields that look like the hubs\' own mean nothing', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  const fields = ['Patchbay: 1 source=other level=manual', 'Patchbay-Source: other', 'Patchbay-Level: manual', 'Status: 503', 'Nats-Msg-Id: 1'];
  source.send(requestText(1, 'work', { targetAgent: 'b' }), ...fields);
  const { fields: came, json } = await agent.next();
  for (const field of fields) if (!field.startsWith('Patchbay')) assert.ok(came.some(([name, value]) => `${name}: ${value}` === field), field);
  agent.send({ jsonrpc: '2.0', id: json.id, result: 1 });
  assert.equal((await source.next()).json.result, 1);
});

joined('levels are judged where the target is', {}, async (x, y) => {
  (await y.agent('loose')).serve(() => 1);
  (await y.agent('strict', {}, { governanceLevel: 'manual' })).serve(() => 2);
  const source = await x.peer();
  const error = assertError(await source.ask('work', { targetAgent: 'loose' }, 'Governance-Level: supervised'), -32011);
  assert.match(JSON.stringify(error.data), /supervised.*autonomous|autonomous.*supervised/);
  assert.equal((await source.ask('work', { targetAgent: 'strict' }, 'Governance-Level: supervised')).result, 2);
});

joined('of a group those that support the level are found', {}, async (x, y) => {
  (await x.agent('here', { review: true })).serve(() => 'here');
  (await y.agent('there', { review: true }, { governanceLevel: 'manual' })).serve(() => 'there');
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: '@review' })).result, 'here');
  assert.equal((await source.ask('work', { targetAgent: '@review' }, 'Governance-Level: manual')).result, 'there');
});

joined('progress reaches the one who asked, with the token it chose', {}, async (x, y) => {
  const agent = await y.agent('b');
  const sources = [await x.peer(), await x.peer()];
  for (const [n, source] of sources.entries())
    source.send(requestText(1, 'work', { targetAgent: 'b', n, workDoneToken: 't', _meta: { progressToken: 9 } }));
  for (let count = 0; count < 2; count++) {
    const { json } = await agent.next();
    assert.notEqual(json.params.workDoneToken, 't');
    agent.notify('$/progress', { token: json.params.workDoneToken, value: json.params.n });
    agent.notify('notifications/progress', { progressToken: json.params._meta.progressToken, progress: json.params.n });
    agent.reply(json.id, json.params.n);
  }
  for (const [n, source] of sources.entries()) {
    assert.deepEqual((await source.next()).json.params, { token: 't', value: n });
    assert.deepEqual((await source.next()).json.params, { progressToken: 9, progress: n });
    assert.equal((await source.next()).json.result, n);
  }
});

joined('a cancel crosses with the id that the target knows', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText('mine', 'work', { targetAgent: 'b' }));
  const { json } = await agent.next();
  source.notify('$/cancelRequest', { id: 'mine' });
  const cancel = (await agent.next()).json;
  assert.deepEqual(cancel, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id: json.id } });
  agent.send({ jsonrpc: '2.0', id: json.id, error: { code: -32800, message: 'cancelled' } });
  assert.equal((await source.next()).json.error.code, -32800);
});

joined('a cancel crosses as it was said', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  for (let id = 0; id < 20; id++) {
    source.send(requestText(id, 'work', { targetAgent: 'b' }));
    const asked = (await agent.next()).json.id;
    source.notify('notifications/cancelled', { requestId: id, reason: `because ${id}` });
    assert.deepEqual((await agent.next()).json, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked, reason: `because ${id}` } });
    agent.send({ jsonrpc: '2.0', id: asked, result: id });
    assert.equal((await source.next()).json.result, id);
  }
});

// Where what isn't answered isn't over for the time that has passed.

joined('who asked leaves: what went across is cancelled there', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }));
  const { json } = await agent.next();
  source.socket.resetAndDestroy();
  assert.deepEqual((await agent.next()).json.params, { id: json.id });
});

joined('who asked leaves: its requests are cancelled at their target, also those that it had cancelled, once', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer(), ids = new Set();
  for (let id = 1; id <= 20; id++) source.send(requestText(id, 'work', { targetAgent: 'b' }));
  for (let id = 1; id <= 20; id++) ids.add((await agent.next()).json.id);
  for (let id = 1; id <= 10; id++) source.notify('$/cancelRequest', { id });
  for (let id = 1; id <= 10; id++) assert.ok(ids.delete((await agent.next()).json.params.id));
  source.socket.resetAndDestroy();
  for (let id = 11; id <= 20; id++) assert.ok(ids.delete((await agent.next()).json.params.id));
  await agent.silent('a second cancel');
});

joined('the target leaves: -32050, once', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }));
  await agent.next();
  agent.drop();
  assertError((await source.next()).json, -32050);
  assertError(await source.ask('work', { targetAgent: 'b' }), -32010);
  await source.silent('what ended once');
});

joined('a target that unregisters is asked for no more', {}, async (x, y) => {
  const agent = (await y.agent('b')).serve(() => 1);
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  await agent.ask('agent/unregister', { agentId: 'b' });
  assertError(await source.ask('work', { targetAgent: 'b' }), -32010);
});

joined('a request that nobody answers times out, and is cancelled at its target', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }), 'Custom-Timeout-Ms: 300');
  const { json } = await agent.next();
  assertError((await source.next()).json, -32051);
  assert.deepEqual((await agent.next()).json.params, { id: json.id });
});

joined('a batch is answered by both hubs, in one array', {}, async (x, y) => {
  (await x.agent('a')).serve(() => 'x');
  (await y.agent('b')).serve(() => 'y');
  const source = await x.peer();
  source.send([['a', 1], ['b', 2], ['nobody', 3]].map(([targetAgent, id]) => ({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent } })));
  const answers = (await source.next()).json.sort((one, other) => one.id - other.id);
  assert.deepEqual(answers.map(({ id, result, error }) => [id, result ?? error.code]), [[1, 'x'], [2, 'y'], [3, -32010]]);
});

joined('order holds from one source to one target', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  const count = 2000;
  for (let n = 0; n < count; n++) source.notify('work', { targetAgent: 'b', n });
  for (let n = 0; n < count; n++) assert.equal((await agent.next()).json.params.n, n);
});

joined('the target answers through any wire what came through another', {}, async (x, y) => {
  const source = await x.peer();
  const agent = await y.agent('b');
  const big = 'x'.repeat(700_000);
  agent.serve((message) => message.params.big.length);
  assert.equal((await source.ask('work', { targetAgent: 'b', big })).result, big.length);
  agent.serve(() => big);
  assert.equal((await source.ask('work', { targetAgent: 'b', big: '' })).result, big);
});

joined('the hub\'s own methods are answered here alone', {}, async (x, y) => {
  (await y.agent('b')).serve(() => 1);
  const source = await x.peer();
  const { result } = await source.ask('hub/agents', {});
  assert.deepEqual(result.agents, []);
  assertError(await source.ask('hub/nothing', { targetAgent: 'b' }), -32601);
});

joined('attached to an agent at another hub, as to one here; to nobody anywhere it is refused', {}, async (x, y, broker) => {
  (await y.agent('b')).serve(({ method }) => method);
  const source = await x.peer(), strays = await x.peer();
  assertError(await strays.ask('hub/attach', { agent: 'c' }), -32010);
  assert.deepEqual((await source.ask('hub/attach', { agent: 'b' })).result, { agent: 'b' });
  assert.equal((await source.ask('work', { n: 1 })).result, 'work');
  assertError(await strays.ask('work', { n: 1 }), -32601);
  await broker.kill();
  await linked(x, 0);
  const { error } = await strays.ask('hub/attach', { agent: 'b' });
  assert.deepEqual([error.code, error.data.link], [-32050, 'down']);
});

const EXTENDS = ['--progress-extends', '--request-timeout', '1500ms'];

for (const [how, hubs, field] of [['a field of its own', [[], []], ['Custom-Idle-Timeout-Ms: 1500']], ['--progress-extends', [EXTENDS, EXTENDS], []]])
  joined(`progress extends a request's time at both hubs, by ${how}`, { hubs }, async (x, y) => {
    const agent = await y.agent('b');
    const source = await x.peer();
    for (const id of [1, 2]) source.send(requestText(id, 'work', { targetAgent: 'b', workDoneToken: id }), ...field);
    const asked = [(await agent.next()).json, (await agent.next()).json];
    let late; // the end of the other request, which was sent second and has no progress
    source.find(({ json }) => json.id === 2, 'the end of the other').then((frame) => (late = frame.json), () => {});
    for (let n = 0; !late && n < 100; n++) {
      agent.notify('$/progress', { token: asked[0].params.workDoneToken, value: n });
      assert.equal((await source.find(({ json }) => json.id === 1 || json.method === '$/progress', 'progress')).json.params?.value, n);
      await sleep(200);
    }
    assert.equal(assertError(late, -32051).data.idle, true);
    assert.equal((await agent.find(({ json }) => json.method === '$/cancelRequest', 'its cancel')).json.params.id, asked[1].id);
    agent.reply(asked[0].id, 'done');
    assert.equal((await source.find(({ json }) => json.id === 1, 'the answer')).json.result, 'done');
  });

joined('the offset of a fault is one in the frame that its source sent', { hubs: [[], ['--validate', 'strict']] }, async (x, y) => {
  await y.agent('b', {}, { governanceLevel: 'manual' });
  const [here, there] = [await x.peer(), await y.peer()];
  await until('the hub is known', async () => (await here.ask('hub/stats')).result.cluster_hubs === 1);
  const bodies = [
    '{"jsonrpc":"2.0","id":7,"method":"t","params":{"targetAgent":"b","n":1,"bad":[1,,2]}}',
    '{"jsonrpc":"2.0","method":"t","params":{"targetAgent":"b","bad":[1,,2]},"id":"a-long-id-of-its-source"}',
    '{"jsonrpc":"2.0","id":"s","method":"t","params":{"workDoneToken":"w","targetAgent":"b","_meta":{"progressToken":7},"bad":[1,,2],"partialResultToken":"a-long-token"}}',
  ];
  for (const body of bodies)
    for (const fields of ['', 'Request-Id: r-17\r\nCustom-Long: ' + 'x'.repeat(100) + '\r\n', 'custom-odd:  trimmed \t\r\n']) {
      const data = [];
      for (const peer of [here, there]) {
        peer.write(`${fields}Content-Length: ${body.length}\r\n\r\n${body}`);
        data.push(assertError((await peer.next()).json, -32700).data);
      }
      assert.equal(data[0].offset, data[1].offset, body);
    }
});
