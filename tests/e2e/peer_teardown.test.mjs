// Every request ends exactly once: by its target's answer, or by the hub when the target is too slow. An answer counts
// only from the connection that was asked, and only once. A peer that half-closes still gets its answers.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, frame, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

// A cancel may reach the target of a request that timed out: it is no request of the test's.
const isRequest = (one) => 'method' in one.json && 'id' in one.json;

// Whatever the hub had for the source before this round trip through the target has come by now.
async function roundTrip(source, target) {
  source.send(requestText('round-trip', 'm', { targetAgent: 'target' }));
  const seen = await target.find(isRequest, 'the round trip');
  target.reply(seen.json.id);
  assert.equal((await source.next('the round trip')).json.id, 'round-trip', 'nothing else came before');
}

scenario('Custom-Timeout-Ms ends a request with -32051; the late answer is dropped', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const start = Date.now();
  source.send(requestText('mine', 'm', { targetAgent: 'target' }), 'Custom-Timeout-Ms: 150');
  const seen = await target.find(isRequest, 'the request');
  const answer = (await source.next()).json;
  const took = Date.now() - start;
  assertError(answer, -32051);
  assert.equal(answer.id, 'mine');
  assert.ok(took >= 145 && took < 10_000, `after ${took} ms`);
  target.reply(seen.json.id, 'late');
  await roundTrip(source, target);
});

scenario('--request-timeout does the same for all', { ...EVERYWHERE, options: ['--request-timeout', '200ms'] },
  async (hub) => {
    const target = await hub.agent('target');
    const source = await hub.peer();
    for (let id = 0; id < 20; id++) source.send(requestText(id, 'm', { targetAgent: 'target' }));
    source.send(requestText(20, 'm', { targetAgent: 'target' }), 'Custom-Timeout-Ms: 60000');
    const seen = [];
    for (let id = 0; id <= 20; id++) seen.push((await target.find(isRequest, 'a request')).json.id);
    const ended = [];
    for (let id = 0; id < 20; id++) {
      const answer = (await source.next()).json;
      assertError(answer, -32051);
      ended.push(answer.id);
    }
    assert.deepEqual(ended.sort((a, b) => a - b), Array.from({ length: 20 }, (_, n) => n));
    for (const id of seen) target.reply(id, 'late for all but one');
    assert.equal((await source.next()).json.id, 20);
    await roundTrip(source, target);
  });

scenario('an answered request does not time out too', EVERYWHERE, async (hub) => {
  const target = (await hub.agent('target')).serve(() => 'quick');
  const source = await hub.peer();
  for (let n = 0; n < 50; n++) {
    const answer = await source.ask('m', { targetAgent: 'target' }, 'Custom-Timeout-Ms: 20000');
    assert.equal(answer.result, 'quick');
  }
  target.answers = null;
  assertError(await source.ask('m', { targetAgent: 'target' }, 'Custom-Timeout-Ms: 50'), -32051);
  await source.silent('answers in time');
});

scenario('an answer from a connection that was not asked is dropped', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const thieves = [await hub.agent('thief'), await hub.peer(), await hub.peer()];
  const source = await hub.peer();
  source.send(requestText('mine', 'm', { targetAgent: 'target' }));
  const { id } = (await target.next()).json;
  for (const thief of [...thieves, source]) {
    for (let near = Math.max(0, id - 3); near <= id + 3; near++) thief.reply(near, 'stolen');
    thief.send(`{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"stolen"}}`);
    thief.send(`{"jsonrpc":"2.0","id":${id},"result":1,"result":2}`);
    await thief.silent("an answer to another's request");
  }
  target.reply(id, 'true');
  assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'mine', result: 'true' });
  await target.silent('an answer');
});

scenario('answers that answer nothing are dropped and the connection lives', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const nothing = ['0', '1', '-1', '1.5', '9007199254740991', '9007199254740992', '12345678901234567890123', '"x"', '""',
    'null', 'true', '{}', '[1]', '1e15', `"${'x'.repeat(300)}"`];
  for (const id of nothing) {
    target.send(`{"jsonrpc":"2.0","id":${id},"result":1}`);
    target.send(`{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"m"}}`);
  }
  target.send('{"jsonrpc":"2.0","result":1}');
  target.send('{"jsonrpc":"2.0","error":{}}');
  await target.silent('answers to nothing');
  await roundTrip(source, target);
});

scenario('a second answer to one request is dropped', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const { id } = (await target.next()).json;
  target.reply(id, 'first');
  target.reply(id, 'second');
  target.reply(id, 'third');
  assert.equal((await source.next()).json.result, 'first');
  await roundTrip(source, target);
});

scenario('a peer that half-closes gets its answers, then the hub closes', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (let id = 0; id < 100; id++) source.send(requestText(id, 'm', { targetAgent: 'target' }));
  await source.finish();
  const ids = [];
  for (let id = 0; id < 100; id++) ids.push((await target.next()).json.id);
  const other = await hub.peer();
  for (let n = 0; n < 3; n++) await other.ask('hub/ping');
  assert.equal(source.closed, false, 'the hub must not close while it owes answers');
  for (const id of ids) target.reply(id, 'yes');
  for (let id = 0; id < 100; id++) assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id, result: 'yes' });
  assert.equal(await source.gone(), 'end');
});

scenario('who goes after a half-close has left, and what it asked is cancelled', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const { id } = (await target.next()).json;
  await source.finish();
  await target.silent('the half-close alone');
  if (source.socket.remotePort) source.socket.resetAndDestroy();
  else source.drop(); // a Unix socket's close shows as it is
  assert.deepEqual((await target.next()).json, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
});

scenario('with --half-close leave the end is the leaving', { ...EVERYWHERE, options: ['--half-close', 'leave'] }, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const { id } = (await target.next()).json;
  source.send('{"jsonrpc":"2.0","method":"last","params":{"targetAgent":"target"}}');
  await source.finish();
  const came = [(await target.next()).json, (await target.next()).json]; // a cancel may pass what waits
  assert.ok(came.some(({ method }) => method === 'last'));
  assert.deepEqual(came.find(({ method }) => method !== 'last'), { jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
  await source.gone();
});

scenario('a half-close with nothing owed closes at once', EVERYWHERE, async (hub) => {
  const idle = await hub.peer();
  await idle.finish();
  assert.equal(await idle.gone(), 'end');
  const asked = await hub.peer();
  asked.send(requestText(1, 'hub/ping', 'x'));
  await asked.finish();
  assert.equal((await asked.next()).json.result, 'x');
  assert.equal(await asked.gone(), 'end');
});

scenario('a half-close in the middle of a frame closes', EVERYWHERE, async (hub) => {
  for (const part of ['Content-Le', 'Content-Length: 50\r\n\r\n{"jsonrpc"']) {
    const peer = await hub.peer();
    peer.write(Buffer.from(part));
    await peer.finish();
    await peer.gone(`the close after ${part}`);
  }
});

scenario('a target that half-closes: what it owes ends with -32050', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  await target.next();
  await target.finish();
  assertError((await source.next()).json, -32050);
});

scenario('--max-pending: a target that owes as much gets -32052 for the next', { options: ['--max-pending', '2'] },
  async (hub) => {
    const target = await hub.agent('target');
    const source = await hub.peer();
    source.send(requestText(1, 'm', { targetAgent: 'target' }));
    source.send(requestText(2, 'm', { targetAgent: 'target' }));
    assertError(await source.ask('m', { targetAgent: 'target' }), -32052);
    const first = (await target.next()).json;
    target.reply(first.id, 'room again');
    assert.equal((await source.next()).json.id, 1);
    target.serve(() => 'yes');
    assert.equal((await source.ask('m', { targetAgent: 'target' })).result, 'yes');
  });

scenario('a source that leaves before the hub answers is counted', { shards: [2] }, async (hub) => {
  const witness = await hub.peer();
  const missed = 'dropped_answers_source_gone';
  // A hub/stats isn't answered yet when it counts; a framing error is answered, but is nobody's request.
  const ended = (now) => now.answered_by_hub + now.errors_by_hub - now.framing_errors + now[missed] + 1;
  let now, rounds = 0;
  do {
    const sources = await Promise.all(Array.from({ length: 20 }, () => hub.peer()));
    for (const [n, source] of sources.entries()) {
      await source.write(frame(requestText(1, 'agent/register', { agentId: `a-${n}` })));
      if (source.socket.resetAndDestroy && hub.transport === 'tcp') source.socket.resetAndDestroy();
      else source.write('no field\r\n').then(() => source.drop()); // the hub gives up what it asked
    }
    const until = Date.now() + 10_000;
    do now = (await witness.ask('hub/stats')).result;
    while ((now.connections > 1 || now.requests_received !== ended(now)) && Date.now() < until);
    assert.equal(now.requests_received, ended(now), JSON.stringify(now));
  } while (now[missed] === 0 && ++rounds < 500);
  assert.ok(now[missed] > 0, JSON.stringify(now));
});
