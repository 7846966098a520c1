// Cancels, both ways. A peer's cancel reaches the target under the id that the target knows. A request that still waits
// is taken out of the queue and answered -32800. When a source leaves or a request times out, the hub cancels.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const cancelText = (id) => `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":${id}}}`;

async function asked(hub, id) {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(`{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"target"}}`);
  return { target, source, hubId: (await target.next('the request')).json.id };
}

scenario('a cancel bears the id that the target knows, and the target answers it', EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '"mine"');
  source.send('{"method":"$/cancelRequest","params":{"why":[1, 2],"id":"mine"},"jsonrpc":"2.0"}', 'Custom-A: b');
  const cancel = await target.next('the cancel');
  assert.equal(cancel.text, `{"method":"$/cancelRequest","params":{"why":[1, 2],"id":${hubId}},"jsonrpc":"2.0"}`);
  assert.deepEqual(cancel.fields[1], ['Custom-A', 'b']);
  target.send(`{"jsonrpc":"2.0","id":${hubId},"error":{"code":-32800,"message":"stopped"}}`);
  assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'mine', error: { code: -32800, message: 'stopped' } });
});

scenario("MCP's cancel is carried likewise", EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '5');
  source.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"no need"}}');
  assert.deepEqual((await target.next()).json.params, { requestId: hubId, reason: 'no need' });
  target.reply(hubId, 'done all the same');
  assert.equal((await source.next()).json.result, 'done all the same');
});

scenario('ids match by what they mean', EVERYWHERE, async (hub) => {
  for (const [id, cancelled] of [['7', '7.0'], ['1e2', '100'], ['"a\\u0062c"', '"abc"']]) {
    const target = await hub.agent(`target-${cancelled}`.replace(/[^a-z0-9-]/g, 'x'));
    const source = await hub.peer();
    source.send(`{"jsonrpc":"2.0","id":${id},"method":"m","params":{"targetAgent":"${`target-${cancelled}`.replace(/[^a-z0-9-]/g, 'x')}"}}`);
    const hubId = (await target.next()).json.id;
    source.send(cancelText(cancelled));
    assert.equal((await target.next('the cancel')).json.params.id, hubId);
  }
});

scenario('what is not pending, or not named clearly, is not cancelled', EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '77');
  const other = await hub.peer();
  other.send(cancelText(77));
  other.send(cancelText(hubId));
  for (const id of ['78', '"77"', 'null', '{}', hubId]) source.send(cancelText(id));
  source.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77,"requestId":${hubId}}}`);
  assertError((await source.next('what two readers could read differently')).json, -32600);
  source.send('{"jsonrpc":"2.0","method":"$/cancelRequest"}');
  source.send(requestText('after', 'm', { targetAgent: 'target' }));
  assert.equal((await target.next('what comes after')).json.method, 'm');
  target.reply(hubId, 'untouched');
  assert.equal((await source.next()).json.result, 'untouched');
  source.send(cancelText(77));
  source.send(requestText('last', 'm', { targetAgent: 'target' }));
  assert.equal((await target.next('what comes last')).json.method, 'm');
});

scenario('of two requests with one id the latest is cancelled first', EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '1');
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const latest = (await target.next()).json.id;
  source.send(cancelText(1));
  source.send(cancelText(1));
  assert.equal((await target.next()).json.params.id, latest);
  assert.equal((await target.next()).json.params.id, hubId);
});

scenario('a source that leaves cancels what it asked', EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '1');
  source.notify('exit');
  const cancel = (await target.next('the cancel')).json;
  assert.deepEqual(cancel, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id: hubId } });
});

// A closed connection shows at once on a Unix socket, or where TCP says so by a reset.
scenario('a source that closes its connection cancels what it asked', EVERYWHERE, async (hub) => {
  const { target, source, hubId } = await asked(hub, '1');
  if (hub.transport === 'tcp') source.socket.resetAndDestroy();
  else source.drop();
  assert.deepEqual((await target.next('the cancel')).json.params, { id: hubId });
  assert.equal((await target.ask('hub/stats')).result.requests_abandoned_by_source, 1);
});

scenario('a request that times out is cancelled', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }), 'Custom-Timeout-Ms: 1000');
  const { id } = (await target.next()).json;
  assertError((await source.next()).json, -32051);
  assert.deepEqual((await target.next('the cancel')).json.params, { id });
});

// Fills a target that doesn't read until the hub refuses one request after another, and cancels the last that it took.
// Resolves to what came first: its answer, or the cancel at the target, whose sockets have taken it after all.
async function cancelTheLast(hub, name) {
  const target = await hub.agent(name);
  const source = await hub.peer();
  target.socket.pause();
  const text = 'x'.repeat(64_000);
  const refusals = () => source.frames.map((one) => one.json).filter((one) => one.error?.code === -32052).map((one) => one.id);
  let last = 0;
  while (refusals().length < 20) {
    source.send(requestText(++last, 'm', { targetAgent: name, text }));
    await source.ask('hub/ping', last);
  }
  // Refusals come in order: with that of the last, all are here.
  await source.find((one) => one.json.id === last, 'the last refusal');
  const refused = [last, ...refusals()];
  let waiting = last;
  while (refused.includes(waiting)) waiting--;
  source.send(cancelText(waiting));
  await source.ask('hub/ping'); // now the cancel is on its way to the target's shard, ahead of what the target lets in
  target.socket.resume();
  const answered = source.find((one) => one.json.id === waiting, 'the cancelled one');
  const taken = target.find((one) => one.json.method === '$/cancelRequest', 'the cancel');
  for (const one of [answered, taken]) one.catch(() => {}); // only one of them comes
  const first = await Promise.race([answered, taken]);
  return { target, first: first.json, before: last - refused.length - 1 };
}

scenario('a request that still waits is taken out of the queue and answered -32800', { ...EVERYWHERE, options: ['--max-queue', '256K'] },
  async (hub) => {
    // How much the kernel takes isn't known, nor when: now and then it is all, or the one that was thought to wait was
    // refused behind the others.
    let cancelled;
    for (let n = 0; n < 40 && cancelled?.first.error?.code !== -32800; n++) cancelled = await cancelTheLast(hub, `target-${n}`);
    assertError(cancelled.first, -32800);
    for (let n = 0; n < cancelled.before; n++) assert.equal((await cancelled.target.next()).json.params.text.length, 64_000);
  });
