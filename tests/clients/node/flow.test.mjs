// Messages wait for the socket: `await` returns once less than 1 MiB waits, and the client reads all the same.
import assert from 'node:assert/strict';
import net from 'node:net';
import { mock, test } from 'node:test';
import { ConnectionLost, Hub, PlayedHub, agent, client, close, failure, gate, having, pause, until, within } from './kit.mjs';

const LARGE = 'x'.repeat(256 * 1024);

// Sends until `await` doesn't return; resolves with how much that took, and the promise that waits.
async function fill(send) {
  for (let bytes = 0; ; bytes += LARGE.length) {
    const promise = send();
    let isOver = false;
    promise.then(() => { isOver = true; }, () => { isOver = true; });
    await Promise.race([promise, pause(200)]);
    if (!isOver) return { bytes, promise };
    assert.ok(bytes < 256 * 1024 * 1024, 'nothing ever waits');
  }
}

test('notify waits for a hub that doesn\'t read, and goes on when it does', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri);
  hub.peer.socket.pause();
  const { bytes, promise } = await fill(() => one.notify('m', { text: LARGE }));
  assert.ok(bytes >= 1024 * 1024, `${bytes}`);
  const more = one.notify('m', {});
  hub.peer.socket.resume();
  await within(Promise.all([promise, more]), 'the socket');
  await one.call('hub/ping');
  assert.equal(hub.messages.filter(({ method }) => method === 'm').length, bytes / LARGE.length + 2);
  hub.peer.socket.pause();
  const again = await fill(() => one.notify('m', { text: LARGE }));
  hub.peer.drop();
  assert.ok(await failure(again.promise) instanceof ConnectionLost);
  await close(one);
}));

test('progress waits, too, and requests are read meanwhile', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), told = gate(), { peer } = hub;
  let filled;
  one.method('work', async (params, request) => { filled = await fill(() => request.progress(LARGE)); told.open(); await filled.promise; return 'done'; });
  let notes = 0;
  one.method('note', () => { notes++; });
  peer.send({ jsonrpc: '2.0', id: 'w', method: 'work', params: { workDoneToken: 1 } });
  await until('it runs', () => hub.messages.some(({ method }) => method === '$/progress'));
  peer.socket.pause();
  await within(told.passed, 'progress to wait');
  for (let n = 0; n < 20; n++) peer.notify('note', {});
  await until('the client reads', () => notes === 20);
  peer.socket.resume();
  await until('it is answered', () => hub.messages.some(({ id, result }) => id === 'w' && result === 'done'));
  await close(one);
}));

test('handlers keep their places while their results wait', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri, { concurrency: 2 }), { peer } = hub;
  let ran = 0;
  one.method('large', () => { ran++; return LARGE.repeat(8); });
  peer.socket.pause();
  for (let id = 0; id < 50; id++) peer.send({ jsonrpc: '2.0', id, method: 'large' });
  await until('they run', () => ran > 2);
  let before;
  do {
    before = ran;
    await pause(200);
  } while (ran > before);
  assert.ok(ran < 50, 'what waits for the socket is bounded');
  peer.socket.resume();
  await until('all are answered', () => hub.messages.filter(({ method }) => method === undefined).length === 50);
  await close(one);
}));

test('a hub that stands still and goes on loses nothing', () => having(Hub.start(), async (hub) => {
  const one = await agent(hub.uri('tcp'), 'one'), other = await client(hub.uri('unix'));
  let got = 0;
  one.method('note', ({ text }) => { got += text.length; });
  hub.process.kill('SIGSTOP');
  const sent = Array.from({ length: 14 }, () => other.notify('note', { targetAgent: 'one', text: LARGE }));
  let waits = 0;
  for (const promise of sent) promise.then(() => { waits++; });
  await pause(300);
  assert.ok(waits < sent.length, 'some wait');
  hub.process.kill('SIGCONT');
  await within(Promise.all(sent), 'the hub');
  await until('all of it came', () => got === sent.length * LARGE.length);
  await close(one, other);
}));

test('answers go out while later requests of the same read wait, in order and behind what the read has', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), { peer } = hub, { socket } = peer;
  const begun = [], writes = [];
  const { write } = net.Socket.prototype;
  const spy = mock.method(net.Socket.prototype, 'write', function (data, ...more) {
    if (this !== socket) writes.push({ begun: begun.length, answers: String(data).split('"result"').length - 1 });
    return write.call(this, data, ...more);
  });
  one.method('work', async ({ n }) => { begun.push(n); return n; });
  const text = Array.from({ length: 14 }, (_, n) => JSON.stringify({ jsonrpc: '2.0', id: n, method: 'work', params: { n } }));
  socket.write(Buffer.from(text.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`).join('')));
  await until('all are answered', () => hub.messages.filter(({ result }) => result !== undefined).length >= 14);
  spy.mock.restore();
  const results = hub.messages.filter(({ id, result }) => typeof id === 'number' && result === id).map(({ id }) => id);
  assert.deepEqual(results.slice(-14), Array.from({ length: 14 }, (_, n) => n));
  assert.deepEqual(writes.filter(({ answers }) => answers > 0), [{ begun: 4, answers: 4 }, { begun: 8, answers: 4 }, { begun: 12, answers: 4 }, { begun: 14, answers: 2 }]);
  // What is no frame ends the connection once all before it are heard.
  socket.write(Buffer.from(`${text.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`).join('')}nonsense\r\n\r\n`));
  await until('all were heard', () => begun.length === 28);
  await until('the client comes back', () => hub.connections.length === 2);
  await close(one);
}));
