// SIGTERM drains: there are no new connections, and new requests get -32052. Pending requests may still be answered,
// the rest gets -32050, and the hub ends with status 0.
import assert from 'node:assert/strict';
import { dial, scenario } from './hub.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError, requestText, within } from './peer.mjs';

fourAtOnce();

const EVERYWHERE = { shards: [1, 2] };

// Sends SIGTERM and waits until the hub is seen to drain: its refusals say so.
async function terminate(hub, source) {
  hub.process.kill('SIGTERM');
  for (;;) {
    const answer = await source.ask('m', { targetAgent: 'echo' });
    if (answer.error) return assertError(answer, -32052);
  }
}

// The end as common clients see it to: they close when the hub has. (One that doesn't is given a second.)
async function ended(hub) {
  for (const peer of hub.peers) peer.end.then(() => peer.drop());
  await hub.ended();
}

async function three(hub) {
  (await hub.agent('echo')).serve((message) => message.params);
  return [await hub.agent('target'), await hub.peer()];
}

scenario('what is pending may still be answered, and then the hub ends', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] },
  async (hub) => {
    const [target, source] = await three(hub);
    source.send(requestText('kept', 'm', { targetAgent: 'target' }));
    const { id } = (await target.next()).json;
    await terminate(hub, source);
    target.reply(id, 'in time');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'kept', result: 'in time' });
    assert.equal(await source.gone(), 'end');
    await ended(hub);
  });

scenario('what is not answered in time gets -32050', { ...EVERYWHERE, options: ['--drain-timeout', '300ms'] }, async (hub) => {
  const [target, source] = await three(hub);
  for (let id = 0; id < 20; id++) source.send(requestText(id, 'm', { targetAgent: 'target' }));
  for (let id = 0; id < 20; id++) await target.next();
  await terminate(hub, source);
  const ended = new Set();
  for (let id = 0; id < 20; id++) {
    const answer = (await source.next()).json;
    assertError(answer, -32050);
    ended.add(answer.id);
  }
  assert.equal(ended.size, 20);
  assert.equal(await source.gone(), 'end');
  await hub.ended();
});

scenario('new connections are refused while it drains', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const [target, source] = await three(hub);
  source.send(requestText('kept', 'm', { targetAgent: 'target' }));
  const { id } = (await target.next()).json;
  await terminate(hub, source);
  const late = await dial(hub.uri()).catch((error) => error);
  if (!(late instanceof Error)) await late.gone('the late connection to be closed');
  target.reply(id);
  await ended(hub);
});

scenario('with nothing pending it ends at once', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const peers = [await hub.agent('target'), await hub.peer(), await hub.peer()];
  hub.process.kill('SIGTERM');
  for (const peer of peers) await peer.gone('the end of the drain');
  await ended(hub);
});

scenario('peers that stay when the hub has closed do not keep it', { options: ['--drain-timeout', '60s'] }, async (hub) => {
  const peers = [await hub.agent('target'), await hub.peer()];
  hub.process.kill('SIGTERM');
  await hub.ended();
  for (const peer of peers) assert.equal(peer.socket.writableEnded, false);
});

scenario('with a peer in the middle of a frame it ends too', { ...EVERYWHERE, options: ['--drain-timeout', '1s'] }, async (hub) => {
  const peer = await hub.peer();
  await peer.ask('hub/ping');
  await peer.write(Buffer.from('Content-Length: 100\r\n\r\n{"jsonrpc"'));
  const header = await hub.peer();
  await header.write(Buffer.from('Content-Le'));
  hub.process.kill('SIGTERM');
  await hub.ended();
});

scenario('with a peer that does not read it ends too', { ...EVERYWHERE, options: ['--drain-timeout', '1s'] }, async (hub) => {
  const [, source] = await three(hub);
  const slow = await hub.peer();
  slow.socket.pause();
  const text = 'x'.repeat(100_000);
  for (let id = 0; id < 60; id++) slow.send(requestText(id, 'm', { targetAgent: 'echo', text }));
  await source.ask('m', { targetAgent: 'echo' });
  hub.process.kill('SIGTERM');
  await hub.ended();
});

scenario('in the middle of load every request ends at most once, and the hub with status 0', EVERYWHERE, async (hub) => {
  for (const name of ['one', 'two']) (await hub.agent(name)).serve((message) => message.params.n);
  const sources = await Promise.all(Array.from({ length: 4 }, () => hub.peer()));
  let answers = 0;
  let enough;
  const warm = new Promise((resolve) => (enough = resolve));
  const loads = sources.map(async (source, s) => {
    const pending = new Set();
    let n = 0;
    const more = () => {
      pending.add(++n);
      source.send(requestText(n, 'm', { targetAgent: (n + s) % 2 ? 'one' : 'two', n }));
    };
    for (let depth = 0; depth < 32; depth++) more();
    for (;;) {
      const one = await source.next().catch(() => null);
      if (one === null) return;
      const answer = one.json;
      assert.ok(pending.delete(answer.id), `${answer.id} was answered twice`);
      if (answer.error) assert.ok([-32052, -32050, -32010].includes(answer.error.code), JSON.stringify(answer));
      else assert.equal(answer.result, answer.id);
      if (++answers === 2000) enough();
      if (!answer.error) more();
    }
  });
  await within(warm, '2,000 answers');
  hub.process.kill('SIGTERM');
  await ended(hub);
  await within(Promise.all(loads), 'the sources to see the end');
});
