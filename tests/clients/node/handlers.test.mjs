// Requests to a client: handlers run side by side within a bound, each request is answered once, and may be given up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hub, HubError, PlayedHub, agent, close, gate, having, pause, until, within } from './kit.mjs';

// The client's answers to the played hub, by id.
const answers = (hub) => Object.fromEntries(hub.messages.filter((one) => one.method === undefined).map((one) => [one.id, one]));
const answered = (hub, id) => until(`${id} is answered`, () => answers(hub)[id]);
const asked = (peer, id, method, params = {}) => peer.send({ jsonrpc: '2.0', id, method, params });

function playing(run, options = {}) {
  return having(PlayedHub.start(), async (hub) => {
    const one = await agent(hub.uri, 'one', {}, options);
    await run(one, hub, hub.peer);
    await close(one);
  });
}

test('a value is the result, and what isn\'t JSON is an error', () => playing(async (one, hub, peer) => {
  const loop = [];
  loop.push(loop);
  const values = { text: 'é\u2028', nothing: undefined, null: null, zero: 0, false: false, list: [1], date: new Date(0), then: { then: 1 } };
  const wrong = { function: () => {}, symbol: Symbol('s'), bigint: 1n, loop, nan: NaN, deep: { a: { b: 2n } } };
  for (const [name, value] of Object.entries({ ...values, ...wrong })) {
    one.method(`sync/${name}`, () => value);
    one.method(`async/${name}`, async () => value);
    for (const how of ['sync', 'async']) asked(peer, `${how}/${name}`, `${how}/${name}`);
  }
  const expected = { ...values, nothing: null, date: new Date(0).toJSON() };
  for (const how of ['sync', 'async']) {
    for (const [name, value] of Object.entries(expected)) assert.deepEqual((await answered(hub, `${how}/${name}`)).result, value, name);
    for (const name of Object.keys(wrong)) {
      const { error } = await answered(hub, `${how}/${name}`);
      assert.equal(error.code, -32603, name);
    }
  }
}));

test('an exception is answered with its text and no traceback, a HubError as it is', () => playing(async (one, hub, peer) => {
  const loop = {};
  loop.self = loop;
  const thrown = {
    error: [new RangeError('out of <range>'), { code: -32603, message: 'out of <range>' }],
    text: ['a text', { code: -32603, message: 'a text' }],
    nothing: [undefined, { code: -32603, message: 'undefined' }],
    bare: [new Error(), { code: -32603, message: 'Error' }],
    hostile: [{ toString() { throw new Error('x'); } }, { code: -32603, message: 'internal error' }],
    own: [new HubError(-31000, 'mine', { a: 1 }), { code: -31000, message: 'mine', data: { a: 1 } }],
    unreadable: [new HubError(-31000, 'mine', loop), undefined],
  };
  for (const [name, [error]] of Object.entries(thrown)) {
    one.method(`sync/${name}`, () => { throw error; });
    one.method(`async/${name}`, async () => { throw error; });
    for (const how of ['sync', 'async']) asked(peer, `${how}/${name}`, `${how}/${name}`);
  }
  for (const how of ['sync', 'async']) {
    for (const [name, [, expected]] of Object.entries(thrown)) {
      const { error } = await answered(hub, `${how}/${name}`);
      if (expected) assert.deepEqual(error, expected, name);
      assert.doesNotMatch(JSON.stringify(error), /\.mjs|\.js:|\n +at /);
    }
  }
  assert.equal(answers(hub)['sync/unreadable'].error.code, -32603);
}));

test('without a handler a method isn\'t found, a notification is nothing', () => playing(async (one, hub, peer) => {
  one.task('known', () => 1);
  asked(peer, 1, 'unknown');
  peer.notify('unknown', {});
  asked(peer, 2, 'agent/request', { task: 'unknown' });
  asked(peer, 3, 'agent/request', { task: 'known' });
  assert.equal((await answered(hub, 1)).error.code, -32601);
  assert.deepEqual((await answered(hub, 2)).error, { code: -32601, message: 'method not found', data: { method: 'agent/request', task: 'unknown' } });
  assert.equal((await answered(hub, 3)).result, 1);
  one.method('agent/request', ({ task }) => task);
  asked(peer, 4, 'agent/request', { task: 'other' });
  assert.equal((await answered(hub, 4)).result, 'other');
  assert.deepEqual(Object.keys(answers(hub)), ['1', '2', '3', '4']);
}));

test('a notification runs its handler, and a handler that throws breaks nothing', () => {
  const errors = [];
  return playing(async (one, hub, peer) => {
    const seen = [];
    one.method('note', (params) => { seen.push(params); throw new Error('sync'); });
    one.method('later', async (params) => { seen.push(params); throw new Error('async'); });
    for (const method of ['note', 'later']) peer.notify(method, { method });
    peer.send({ jsonrpc: '2.0', method: 'note' });
    await until('all came', () => errors.length === 3);
    assert.deepEqual(seen, [{ method: 'note' }, { method: 'later' }, {}]);
    assert.deepEqual(errors.map((error) => error.message).sort(), ['async', 'sync', 'sync']);
    assert.deepEqual(answers(hub), {});
  }, { onError: (error) => errors.push(error) });
});

test('at most so many run, in the order in which they came', () => playing(async (one, hub, peer) => {
  const gates = [], order = [];
  let running = 0, most = 0;
  one.method('work', async ({ n }) => {
    order.push(n);
    most = Math.max(most, ++running);
    gates[n] = gate();
    await gates[n].passed;
    running--;
    return n;
  });
  for (let n = 0; n < 10; n++) asked(peer, n, 'work', { n });
  await until('three run', () => running === 3);
  await pause(30);
  assert.equal(running, 3);
  for (let n = 0; n < 10; n++) {
    await until(`${n} runs`, () => gates[n]);
    gates[n].open();
    assert.equal((await answered(hub, n)).result, n);
  }
  assert.equal(most, 3);
  assert.deepEqual(order, Array.from({ length: 10 }, (_, n) => n));
}, { concurrency: 3 }));

test('64 run by default', () => playing(async (one, hub, peer) => {
  const { open, passed } = gate();
  let running = 0;
  one.method('work', async () => { running++; await passed; });
  for (let n = 0; n < 100; n++) asked(peer, n, 'work');
  asked(peer, 'last', 'none');
  await answered(hub, 'last');
  assert.equal(running, 64);
  open();
  await answered(hub, 99);
}));

test('thousands that wait for one place don\'t pile up on the stack', () => playing(async (one, hub, peer) => {
  const { open, passed } = gate();
  one.method('first', () => passed);
  one.method('next', ({ n }) => n);
  asked(peer, 'first', 'first');
  for (let n = 0; n < 20_000; n++) asked(peer, n, 'next', { n });
  asked(peer, 'last', 'none');
  await answered(hub, 'last');
  open();
  await answered(hub, 19_999);
  assert.equal(Object.keys(answers(hub)).length, 20_002);
}, { concurrency: 1 }));

for (const [form, cancel] of Object.entries({ '$/cancelRequest': (id) => ({ id }), '$/cancel_request': (requestId) => ({ requestId }), 'notifications/cancelled': (requestId) => ({ requestId }) })) {
  test(`${form} ends one that runs and one that waits`, () => playing(async (one, hub, peer) => {
    const { open, passed } = gate(), signals = [];
    let runs = 0;
    one.method('work', async (params, { signal }) => { runs++; signals.push(signal); await passed; return 'late'; });
    for (const id of [7, '7', 8]) asked(peer, id, 'work');
    await until('two run', () => runs === 2);
    peer.notify(form, cancel('7'));
    const error = (await until('it is answered', () => hub.messages.find((message) => message.id === '7'))).error;
    assert.equal(error.code, -32800);
    assert.deepEqual(signals.map((signal) => signal.aborted), [false, true]);
    assert.equal(signals[1].reason.code, -32800);
    peer.notify(form, cancel(8));
    assert.equal((await until('it is answered', () => hub.messages.find((message) => message.id === 8))).error.code, -32800);
    for (const params of [cancel(99), cancel({}), cancel(null), {}, undefined]) peer.notify(form, params);
    open();
    assert.equal((await until('it is answered', () => hub.messages.find((message) => message.id === 7))).result, 'late');
    assert.equal(runs, 2, 'what was cancelled while it waited never ran');
    asked(peer, 'last', 'none');
    await answered(hub, 'last');
    assert.equal(hub.messages.filter((message) => message.method === undefined).length, 4, 'each is answered once');
  }, { concurrency: 2 }));
}

test('up to 4 MiB wait, past that a request is overloaded', () => playing(async (one, hub, peer) => {
  const { open, passed } = gate(), text = 'x'.repeat(1024 * 1024 - 200);
  let ran = 0;
  one.method('work', async () => { ran++; await passed; return 'done'; });
  one.method('note', () => { ran++; });
  asked(peer, 'running', 'work');
  for (let n = 0; n < 6; n++) asked(peer, n, 'work', { text });
  peer.notify('note', { text });
  for (const n of [4, 5]) assert.equal((await answered(hub, n)).error.code, -32052);
  await until('the notification is counted', () => one.dropped === 1);
  peer.notify('$/cancelRequest', { id: 3 });
  assert.equal((await answered(hub, 3)).error.code, -32800);
  asked(peer, 6, 'work', { text });
  asked(peer, 7, 'work', { text });
  assert.equal((await answered(hub, 7)).error.code, -32052);
  assert.equal(ran, 1);
  open();
  for (const id of ['running', 0, 1, 2, 6]) assert.equal((await answered(hub, id)).result, 'done');
  assert.equal(ran, 5);
  assert.equal(Object.keys(answers(hub)).length, 9);
}, { concurrency: 1 }));

test('a cancel that is a request is carried out, and answered null', () => playing(async (one, hub, peer) => {
  one.method('work', (params, { signal }) => new Promise((resolve) => { signal.addEventListener('abort', resolve); }));
  asked(peer, 1, 'work');
  asked(peer, 2, '$/cancelRequest', { id: 1 });
  asked(peer, 3, '$/cancel_request', { requestId: 9 });
  asked(peer, 4, 'notifications/cancelled');
  for (const method of ['$/progress', 'hub/dropped', 'hub/replaced']) asked(peer, method, method, { token: 1, count: 1, agentId: 'one' });
  for (const id of [2, 3, 4]) assert.equal((await answered(hub, id)).result, null);
  assert.equal((await answered(hub, 1)).error.code, -32800);
  for (const id of ['$/progress', 'hub/dropped', 'hub/replaced']) assert.equal((await answered(hub, id)).error.code, -32601);
}));

test('what the hub tells of itself has handlers, too', () => playing(async (one, hub, peer) => {
  const seen = [];
  for (const name of ['hub/dropped', 'hub/replaced', '$/cancelRequest']) one.method(name, () => seen.push(name));
  peer.notify('hub/dropped', { count: 1 });
  peer.notify('hub/replaced', { agentId: 'one' });
  peer.notify('$/cancelRequest', { id: 1 });
  asked(peer, 'over', 'none');
  await answered(hub, 'over');
  assert.deepEqual(seen, ['hub/dropped', 'hub/replaced']);
}));

test('progress goes with the token, and nowhere without one', () => playing(async (one, hub, peer) => {
  one.method('work', async (params, request) => {
    await request.progress({ n: 1 });
    await request.progress(2);
    setTimeout(() => request.progress({ late: true }), 1);
    return 'done';
  });
  const said = (id) => hub.messages.splice(0).filter((message) => message.id === undefined).map(({ method, params }) => [method, params]);
  asked(peer, 1, 'work', { workDoneToken: 't' });
  await answered(hub, 1);
  assert.deepEqual(said(), [['$/progress', { token: 't', value: { n: 1 } }], ['$/progress', { token: 't', value: 2 }]]);
  asked(peer, 2, 'work', { _meta: { progressToken: 0 } });
  await answered(hub, 2);
  assert.deepEqual(said(), [['notifications/progress', { n: 1, progressToken: 0 }], ['notifications/progress', { progress: 2, progressToken: 0 }]]);
  asked(peer, 4, 'work', { partialResultToken: 'p' });
  await answered(hub, 4);
  assert.deepEqual(said(), [['$/progress', { token: 'p', value: { n: 1 } }], ['$/progress', { token: 'p', value: 2 }]]);
  asked(peer, 3, 'work');
  await answered(hub, 3);
  await pause(20);
  assert.deepEqual(said(), []);
}));

test('a caller\'s progress comes before the result, whatever the callback does', () => having(Hub.start(), async (hub) => {
  const errors = [], one = await agent(hub.uri('tcp'), 'one'), other = await agent(hub.uri('tcp'), 'other', {}, { onError: (error) => errors.push(error) });
  one.method('work', async (params, request) => { for (const n of [1, 2]) await request.progress(n); return 3; });
  const seen = [];
  seen.push(await other.call('work', { targetAgent: 'one' }, { onProgress: (value) => { seen.push(value); throw new Error('callback'); } }));
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(errors.map((error) => error.message), ['callback', 'callback']);
  await close(one, other);
}));

test('a handler may call, also the one that asked', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await agent(hub.uri('unix'), 'other');
  one.method('down', async ({ n }) => (n === 0 ? [] : [n, ...await one.call('down', { targetAgent: 'other', n: n - 1 })]));
  other.method('down', async ({ n }) => [n, ...await other.call('down', { targetAgent: 'one', n: n - 1 })]);
  assert.deepEqual(await within(other.call('down', { targetAgent: 'one', n: 20 }), 'the way down'), Array.from({ length: 20 }, (_, n) => 20 - n));
  await close(one, other);
}));
