// One JSON text a line, on listeners of its own. A peer that speaks lines and one that sends frames are two peers like
// any others, whoever talks to whom. A body's line breaks are spaces for whoever gets it as a line; all else is as it
// was sent.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { scenario } from './hub.mjs';
import { assertError, frame, line, LINES as WIRE, requestText, within } from './peer.mjs';

const LINES = { transports: ['tcp-lines', 'unix-lines'] };
const EVERYWHERE = { ...LINES, shards: [1, 2] };
const ON_TCP = { transports: ['tcp-lines'] };

const framed = (hub) => hub.peer(hub.transport.replace('-lines', ''));
const flat = (text) => text.replace(/[\r\n]/g, ' ');
const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}';
const PONG = '{"jsonrpc":"2.0","id":1,"result":null}';

// Returns the body as `receiver` gets it: unchanged, or on one line.
const seenBy = (receiver, text) => (receiver.wire === WIRE ? flat(text) : text);

async function both(hub) {
  return [await hub.peer(), await framed(hub)];
}

scenario('requests, answers and notifications, each way, with line breaks in all of them', EVERYWHERE, async (hub) => {
  const [lines, frames] = await both(hub);
  await lines.register('lines');
  await frames.register('frames');
  for (const [source, target, name] of [[frames, lines, 'lines'], [lines, frames, 'frames']]) {
    const breaks = source === frames ? '\r\n' : ' '; // in a line there are none to be sent
    const fields = source === frames ? ['Request-Id: r', 'X-Trace: 1'] : [];
    source.send(`{"jsonrpc":"2.0","id":"s",${breaks}"method":"m","params":{"targetAgent":"${name}","deep":["a${breaks}b"]}}`, ...fields);
    const asked = await target.next();
    const { id } = JSON.parse(flat(asked.text));
    assert.equal(asked.text, seenBy(target, `{"jsonrpc":"2.0","id":${id},${breaks}"method":"m","params":{"targetAgent":"${name}","deep":["a${breaks}b"]}}`));
    assert.deepEqual(asked.fields.filter(([field]) => field !== 'Content-Length'), []);
    const back = target === frames ? '\n\r' : ' ';
    target.send(`{"jsonrpc":"2.0",${back}"id":${id},"result":{"deep":[${back}"x${back}y"]}}${back}`, ...(target === frames ? ['A: b'] : []));
    assert.equal((await source.next()).text, seenBy(source, `{"jsonrpc":"2.0",${back}"id":"s","result":{"deep":[${back}"x${back}y"]}}${back}`));
    source.send(`{"jsonrpc":"2.0","method":"n",${breaks}"params":{"targetAgent":"${name}"}}`);
    assert.equal((await target.next()).text, seenBy(target, `{"jsonrpc":"2.0","method":"n",${breaks}"params":{"targetAgent":"${name}"}}`));
  }
});

scenario('no message hides in another one', EVERYWHERE, async (hub) => {
  const [lines, frames] = await both(hub);
  await lines.register('lines');
  const hidden = '{"jsonrpc":"2.0","id":4503599627370497,"method":"hub/stats"}';
  for (const feed of ['\n', '\r\n', '\r', '\n\n', '\n\r']) {
    for (const body of [
      `{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"lines","deep":{"s":"${feed}${hidden.replaceAll('"', '\\"')}${feed}"}}}`,
      `${feed}{"jsonrpc":"2.0",${feed}"method":"n","params":{"targetAgent":"lines","deep":[${feed}${hidden}${feed}]}}${feed}`,
      `{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"lines","deep":["${feed}"]}}`,
    ]) {
      frames.send(body);
      assert.equal((await lines.next()).text, flat(body));
    }
  }
  await lines.silent('what was hidden');
});

scenario('a frame where lines are spoken is lines', LINES, async (hub) => {
  const peer = await hub.peer();
  peer.write(frame(`${PING}\n`, 'Host: localhost'));
  for (let wrong = 0; wrong < 2; wrong++) assert.equal(assertError((await peer.next()).json, -32700).data.offset, 0);
  assert.equal((await peer.next()).text, PONG);
  peer.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  assertError((await peer.next()).json, -32700);
  await peer.gone('the end after HTTP');
});

scenario('a batch: its members in their receivers\' ways, its answers in one line', EVERYWHERE, async (hub) => {
  const [lines, frames] = await both(hub);
  await lines.register('lines');
  await frames.register('frames');
  lines.serve(() => 'of lines');
  frames.answers = () => 'of frames';
  const other = { lines: await hub.peer(), frames: await framed(hub) };
  const members = ['lines', 'frames', 'lines', 'frames'].map((targetAgent, id) => ({ jsonrpc: '2.0', id, method: 'm', params: { targetAgent } }));
  for (const [name, source] of Object.entries(other)) {
    source.send(name === 'frames' ? JSON.stringify(members, null, '\r\n ') : JSON.stringify(members));
    const answer = await source.next();
    const byId = Object.fromEntries(answer.json.map(({ id, result }) => [id, result]));
    assert.deepEqual(byId, { 0: 'of lines', 1: 'of frames', 2: 'of lines', 3: 'of frames' });
  }
  other.lines.send('[]');
  assertError((await other.lines.next()).json, -32600);
});

scenario('cancel and progress, from lines to frames and back', EVERYWHERE, async (hub) => {
  const [lines, frames] = await both(hub);
  await lines.register('lines');
  await frames.register('frames');
  for (const [source, target, targetAgent] of [[frames, lines, 'lines'], [lines, frames, 'frames']]) {
    source.send({ jsonrpc: '2.0', id: 'q', method: 'm', params: { targetAgent, workDoneToken: 'mine' } });
    const { id, params } = (await target.next()).json;
    assert.notEqual(params.workDoneToken, 'mine');
    target.notify('$/progress', { token: params.workDoneToken, value: 1 });
    assert.deepEqual((await source.next()).json.params, { token: 'mine', value: 1 });
    source.notify('$/cancelRequest', { id: 'q' });
    assert.deepEqual((await target.next()).json, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
    target.send({ jsonrpc: '2.0', id, error: { code: -32800, message: 'given up' } });
    assert.equal((await source.next()).json.error.message, 'given up');
  }
});

scenario('an exchange, cut at each byte', { ...LINES, shards: [1] }, async (hub) => {
  const [peer, other] = [await hub.peer(), await framed(hub)];
  await peer.register('self');
  const text = Buffer.from(` \r\n\n{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"self","s":"é"}}\r\n\t\n${PING}\r\n`);
  for (let cut = 1; cut < text.length; cut++) {
    await peer.write(text.subarray(0, cut));
    await other.ask('hub/ping'); // by now the first part has been read
    await peer.write(text.subarray(cut));
    assert.equal((await peer.next()).text, '{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"self","s":"é"}}', `cut at ${cut}`);
    assert.equal((await peer.next()).text, PONG, `cut at ${cut}`);
  }
  for (const byte of text) await peer.write(Buffer.from([byte]));
  await peer.next();
  assert.equal((await peer.next()).text, PONG);
  await peer.silent('blank lines');
});

for (const [name, bytes] of [['200 KB', 200_000], ['5 MB', 5_000_000]]) {
  scenario(`bodies of ${name}, each way`, EVERYWHERE, async (hub) => {
    const [lines, frames] = await both(hub);
    await lines.register('lines');
    await frames.register('frames');
    const x = 'x'.repeat(bytes / 2);
    for (const [source, target, targetAgent] of [[frames, lines, 'lines'], [lines, frames, 'frames'], [lines, lines, 'lines']]) {
      const breaks = source === frames ? '\n' : ' ';
      const body = `{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"${targetAgent}","x":["${x}",${breaks}"${x}"]}}`;
      source.send(body);
      const asked = await target.next();
      const { id } = JSON.parse(flat(asked.text));
      assert.ok(asked.text === seenBy(target, body.replace('"id":1', `"id":${id}`)), `${targetAgent} got something else`);
      target.reply(id, x);
      assert.ok((await source.next()).json.result === x, `${targetAgent}'s answer is another one`);
      await Promise.all([source, target].map((peer) => peer.silent('a large body')));
    }
  });
}

scenario('the limit: a line may be as long as a body, without its end', { ...LINES, options: ['--max-frame', '100K'] }, async (hub) => {
  const limit = 100 << 10;
  const body = (bytes) => PING.replace('}', `,"params":"${'x'.repeat(bytes - PING.length - ',"params":""'.length)}"}`);
  for (const end of ['\n', '\r\n', '']) {
    const peer = await hub.peer();
    peer.write(body(limit) + end);
    if (!end) peer.finish();
    assert.equal((await peer.next()).json.result.length, limit - PING.length - ',"params":""'.length, JSON.stringify(end));
  }
  for (const text of [`${body(limit + 1)}\n${PING}\n`, `${body(limit + 1)}\r\n${PING}\n`, body(limit + 1), `${body(limit)}\rx`, ' '.repeat(limit + 1), 'x'.repeat(3 * limit)]) {
    const peer = await hub.peer();
    peer.write(text);
    const { id, error } = (await peer.next()).json;
    assert.deepEqual([id, error.code, error.data], [null, -32055, { fault: 'the body is over the limit', offset: limit, limit }]);
    assert.equal(await peer.gone(), 'end');
    assert.equal(peer.frames.length, 0);
  }
});

scenario('a line that is no message is answered, and the connection goes on', LINES, async (hub) => {
  const peer = await hub.peer();
  for (const [text, code] of [['nope', -32700], ['{"a":', -32700], ['5', -32600], ['{}', -32600], ['\0', -32700], ['\xff', -32600]]) {
    peer.write(Buffer.from(`${text}\n${PING}\r\n`, 'latin1'));
    const answer = (await peer.next()).json;
    assert.equal(answer.id, null);
    assertError(answer, code, text);
    assert.equal((await peer.next()).text, PONG);
  }
  const stats = (await peer.ask('hub/stats')).result;
  assert.equal(stats.framing_errors, 0);
});

scenario('the last line needs no line feed', EVERYWHERE, async (hub) => {
  (await (await framed(hub)).register('frames')).serve(() => 'yes');
  for (const end of ['', '\r', ' \t', '\n', '\n ', '\n\r\n']) {
    const peer = await hub.peer();
    await peer.write(requestText('x', 'm', { targetAgent: 'frames' }) + end);
    await peer.finish();
    assert.deepEqual((await peer.next()).json, { jsonrpc: '2.0', id: 'x', result: 'yes' }, JSON.stringify(end));
    assert.equal(await peer.gone(), 'end');
    assert.equal(peer.frames.length, 0);
  }
  const cut = await hub.peer();
  await cut.write(PING.slice(0, -1));
  await cut.finish();
  assertError((await cut.next()).json, -32700);
  assert.equal(await cut.gone(), 'end');
});

scenario('a line that doesn\'t go on is cut off; one that does has time', { ...LINES, options: ['--frame-timeout', '600ms'] }, async (hub) => {
  const [stuck, steady, blank] = [await hub.peer(), await hub.peer(), await hub.peer()];
  blank.write('\n\r\n');
  stuck.write('{"jsonrpc":');
  const error = assertError((await stuck.next()).json, -32700);
  assert.deepEqual(error.data, { fault: 'the frame was not whole in time', offset: 11 });
  assert.equal(await stuck.gone(), 'end');
  const body = PING.replace('}', `,"params":"${'x'.repeat(4000)}"}\n`);
  for (let at = 0; at < body.length; at += 400) { // at 4 KB a second
    await steady.write(body.slice(at, at + 400));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.equal((await steady.next()).json.result.length, 4000);
  await blank.silent('blank lines');
});

scenario('a reader of lines that is too slow misses events, and is told where', { ...LINES, shards: [1, 2], options: ['--max-queue', '64K'] }, async (hub) => {
  const [slow, frames] = await both(hub);
  await slow.ask('hub/subscribe', { events: ['*'] });
  slow.socket.pause();
  const data = 'x'.repeat(50_000);
  let sent = 0;
  for (; (await frames.ask('event', { event: 'e', n: sent, data })).result.delivered; sent++) continue;
  slow.socket.resume();
  for (let n = 0; n < sent; n++) assert.equal((await slow.next()).json.params.n, n);
  assert.deepEqual((await slow.next()).json, { jsonrpc: '2.0', method: 'hub/dropped', params: { count: 1 } });
  assert.equal((await frames.ask('event', { event: 'e' })).result.delivered, 1);
  assert.equal((await slow.next()).json.method, 'event');
});

// The hub hands a run, which is some frames of one write, on as it lies where that is possible.
scenario('events: runs of them, with line breaks in some, to readers of both kinds', EVERYWHERE, async (hub) => {
  const readers = [];
  for (let number = 0; number < 8; number++) {
    const reader = number % 2 ? await framed(hub) : await hub.peer();
    await reader.ask('hub/subscribe', { events: [number % 3 ? 'e' : '*'] });
    readers.push(reader);
  }
  const [lines, frames] = [await hub.peer(), await framed(hub)];
  const event = (n, breaks) => `{"jsonrpc":"2.0","method":"event",${breaks}"params":{"event":"e","n":${n},"deep":["${breaks}"]}}`;
  for (const [breaks, fields] of [[[''], []], [['\n'], []], [['', '\r\n', '\r'], []], [['', '', '\n'], ['X: 1']]]) {
    const bodies = Array.from({ length: 100 }, (_, n) => event(n, breaks[n % breaks.length]));
    await frames.write(Buffer.concat(bodies.map((body) => frame(body, ...fields))));
    await lines.write(Buffer.concat(bodies.map((body) => line(flat(body)))));
    for (const reader of readers) {
      // Each source's are in order; how the two mix is anyone's guess.
      const came = [];
      while (came.length < 200) came.push(await reader.next());
      const of = (count) => came.filter((one) => one.fields.length === count).map((one) => one.text);
      const expected = [bodies.map((body) => seenBy(reader, body)), bodies.map(flat)];
      if (reader.wire === WIRE) assert.deepEqual(of(0).sort(), expected.flat().sort());
      else if (fields.length) assert.deepEqual([of(2), of(1)], expected);
      else assert.deepEqual(of(1).sort(), expected.flat().sort());
      const numbers = (texts) => texts.map((text) => JSON.parse(flat(text)).params.n);
      if (fields.length && reader.wire !== WIRE) assert.deepEqual(numbers(of(2)), bodies.map((_, n) => n));
    }
  }
  for (const reader of readers) await reader.silent('the events');
});

scenario('half lines without end are bounded by --max-memory, and others are served', { ...ON_TCP, shards: [1, 2], options: ['--max-memory', '32M'] }, async (hub) => {
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${hub.process.pid}/status`, 'latin1'))[1]) << 10;
  const sanitized = /lib[at]san/.test(readFileSync(`/proc/${hub.process.pid}/maps`, 'latin1')); // it holds on to what was given back
  const [bystander, frames] = await both(hub);
  (await frames.register('frames')).serve(() => 'served');
  const before = resident();
  const half = Buffer.alloc(1 << 20, 'x');
  const holders = await Promise.all(Array.from({ length: 60 }, () => hub.peer()));
  for (const holder of holders) holder.write(half);
  for (let round = 0; round < 50; round++) {
    assert.equal((await within(bystander.ask('m', { targetAgent: 'frames' }), 'the bystander')).result, 'served');
    if (!sanitized) assert.ok(resident() - before < 48 << 20, `${resident() - before} bytes more`);
  }
  for (const holder of holders) holder.drop();
  assert.equal((await bystander.ask('m', { targetAgent: 'frames' })).result, 'served');
});

scenario('many lines in one write, and their answers', EVERYWHERE, async (hub) => {
  const [lines, frames] = await both(hub);
  (await frames.register('frames')).serve(({ params }) => params.n);
  const count = 3000;
  const text = Array.from({ length: count }, (_, n) => `${requestText(n, 'm', { targetAgent: 'frames', n })}\n${n % 7 ? '' : ' \r\n'}`);
  await lines.write(text.join(''));
  for (let n = 0; n < count; n++) {
    const { id, result } = (await lines.next()).json;
    assert.deepEqual([id, result], [n, n]);
  }
});
