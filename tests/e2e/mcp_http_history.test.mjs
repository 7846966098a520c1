// MCP over HTTP, streams that outlast their connections: ids of events, and GET with Last-Event-ID.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OPENING, send, Session } from './mcp_web.mjs';
import { WAIT_MS } from './peer.mjs';
import { web } from './web.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-history-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_server.py', import.meta.url));
const SECTION = `[child server]\ncommand = python3 -S -E ${program}\nprotocol = mcp\nask-clients = yes\n`;
writeFileSync(join(directory, 'hub.ini'), SECTION);
const hub = (...options) => ({ shards: [1, 2], options: ['--config', join(directory, 'hub.ini'), '--drain-timeout', '100ms', ...options] });
const HUB = hub();
const LATEST = { ...OPENING, protocolVersion: '2025-11-25' };
const EVENTS = { Accept: 'text/event-stream' };

async function until(what, look) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`no ${what}`);
}
const note = (n, more = {}) => ({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { n, ...more } });
const numbers = ({ messages }) => messages.filter(({ method }) => method === 'notifications/tools/list_changed').map(({ params }) => params.n);
const seen = async (session) => (await session.ask('seen')).result.messages;
const asked = (session, method = 'wait') => until(method, async () => (await seen(session)).findLast((message) => message.method === method));
const last = (answer) => answer.events.findLast(({ id }) => id).id;
const back = (session, id) => session.listen({ 'Last-Event-ID': id });

// Drops the one stream that there is, and waits until the hub knows.
async function leave(on, answer) {
  const peer = await on.peer('tcp');
  answer.drop();
  await until('leaving', async () => (await peer.ask('hub/stats')).result.by_transport.http === 0);
}
async function refused(answer) {
  await answer.end();
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json.error.code, -32600);
}

web('a stream begins with an empty event from 2025-11-25 on', HUB, async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST });
  const stream = await session.listen();
  await stream.until(({ events }) => events.length, 'the first event');
  assert.match(stream.text, /^id: [!-~]+\ndata: ?\n\n/);
  const answer = await (await session.call('where', {}, EVENTS)).end();
  assert.deepEqual(answer.events.map(({ data }) => data && data.id), [null, session.ids]);
  assert.equal((await (await session.call('where')).end()).json.result.era, 'legacy');
  const old = await Session.open(on);
  const oldAnswer = await (await old.call('where', {}, EVENTS)).end();
  assert.deepEqual(oldAnswer.events.map(({ data }) => data.id), [old.ids]);
  const oldStream = await old.listen();
  assert.ok(!/^id:/m.test(oldStream.text));
});

web('the version of a session is the one that was agreed on', hub('--mcp-keep-alive', '50ms'), async (on) => {
  // Until then it is the client's: the stream begins before the server has answered.
  const session = await Session.open(on, '/mcp/server', { opening: LATEST, fields: EVENTS });
  assert.equal(session.opened.result.protocolVersion, '2025-11-25');
  const stream = await session.listen();
  await stream.until(({ text }) => (text.match(/^:$/gm) ?? []).length >= 2, 'comments');
  assert.match(stream.text, /^id: [!-~]+\ndata: ?\n\n:\n\n/);
  const waiting = await session.call('wait');
  await waiting.until(({ text }) => /^:$/m.test(text), 'a comment');
  assert.match(waiting.text, /^id: [!-~]+\ndata: ?\n\n:\n\n/);
});

web('ids of events are unique in a session', HUB, async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST }), other = await Session.open(on);
  const stream = await session.listen();
  for (const n of [1, 2, 3]) await other.ask('say', { message: note(n) });
  const answers = await Promise.all([1, 2].map(async () => (await session.call('where', {}, EVENTS)).end()));
  await stream.until((answer) => numbers(answer).length === 3, 'notes');
  const ids = [stream, ...answers].flatMap(({ events }) => events.map(({ id }) => id));
  assert.equal(ids.length, 8);
  assert.ok(ids.every(Boolean));
  assert.equal(new Set(ids).size, ids.length);
});

web('GET goes on behind the last event that its client has', HUB, async (on) => {
  const session = await Session.open(on), other = await Session.open(on);
  const stream = await session.listen();
  for (const n of [1, 2, 3]) await other.ask('say', { message: note(n) });
  await stream.until((answer) => numbers(answer).length === 3, 'notes');
  const [first] = stream.events.map(({ id }) => id).filter(Boolean);
  await leave(on, stream);
  for (const n of [4, 5]) await other.ask('say', { message: note(n) }); // while the connection is gone
  await session.ask('say', { message: note(6) });
  const again = await back(session, first);
  await again.until((answer) => numbers(answer).length === 5, 'what was missed');
  assert.deepEqual(numbers(again), [2, 3, 4, 5, 6]);
  await other.ask('say', { message: note(7) });
  await again.until((answer) => numbers(answer).length === 6, 'what comes now');
  await leave(on, again);
  const third = await back(session, last(again));
  await other.ask('say', { message: note(8) });
  await third.until((answer) => numbers(answer).length, 'what comes next');
  assert.deepEqual(numbers(third), [8]);
});

web('a GET without a place has what never went out', HUB, async (on) => {
  const session = await Session.open(on), other = await Session.open(on);
  const stream = await session.listen();
  await other.ask('say', { message: note(1) });
  await stream.until((answer) => numbers(answer).length, 'the note');
  await leave(on, stream);
  await other.ask('say', { message: note(2) });
  const fresh = await session.listen();
  await fresh.until((answer) => numbers(answer).length, 'what waited');
  assert.deepEqual(numbers(fresh), [2]);
  const behind = await back(session, last(fresh)); // it ends the one before
  await fresh.end();
  await other.ask('say', { message: note(3) });
  await behind.until((answer) => numbers(answer).length, 'the next');
  assert.deepEqual(numbers(behind), [3]);
});

for (const opening of [OPENING, LATEST])
  web(`a request goes on when its client comes back, ${opening.protocolVersion}`, HUB, async (on) => {
    const session = await Session.open(on, '/mcp/server', { opening });
    const waiting = session.call('wait', { _meta: { progressToken: 'mine' } });
    const { id, params: { _meta: { progressToken } } } = await asked(session);
    const progress = (value) => session.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: value } } });
    await progress(1);
    const stream = await waiting;
    await stream.until(({ messages }) => messages.length, 'progress');
    const place = last(stream);
    await leave(on, stream);
    await progress(2);
    const again = await back(session, place);
    await again.until(({ messages }) => messages.length, 'progress');
    await progress(3);
    await again.until(({ messages }) => messages.length === 2, 'progress');
    assert.deepEqual(again.messages.map(({ params }) => params.progress), [2, 3]);
    const middle = last(again);
    await leave(on, again);
    await session.ask('finish', { id, result: { done: true } }); // while the connection is gone
    const answered = await (await back(session, middle)).end();
    assert.deepEqual(answered.messages, [{ jsonrpc: '2.0', id: 1, result: { done: true } }]);
    const whole = await (await back(session, place)).end(); // and once more
    assert.deepEqual(whole.messages.map(({ params, result }) => params?.progress ?? result), [2, 3, { done: true }]);
    const nothing = await (await back(session, last(whole))).end();
    assert.deepEqual([nothing.status, nothing.messages], [200, []]);
    const counts = (await (await on.peer('tcp')).ask('hub/stats')).result;
    assert.equal(counts.dropped_answers_source_gone, 0);
    assert.equal(counts.dropped_progress_unknown_token, 0);
  });

web('a second connection takes a request’s stream over', hub('--mcp-keep-alive', '50ms'), async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST });
  const waiting = await session.call('wait');
  const { id } = await asked(session);
  await waiting.until(({ events }) => events.length, 'the first event');
  const second = await back(session, last(waiting));
  await waiting.end();
  await session.ask('finish', { id, result: {} });
  await second.end();
  assert.deepEqual([waiting.messages, second.messages], [[], [{ jsonrpc: '2.0', id: 1, result: {} }]]);
});

web('what a server asks waits for a client that comes back', HUB, async (on) => {
  const session = await Session.open(on);
  const waiting = session.call('wait', { _meta: { progressToken: 'mine' } });
  const { params: { _meta: { progressToken } } } = await asked(session);
  await session.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } } });
  const stream = await waiting;
  await stream.until(({ messages }) => messages.length, 'progress');
  await leave(on, stream);
  await session.ask('say', { message: { jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} } }, { Accept: 'application/json' });
  const again = await back(session, last(stream));
  await again.until(({ messages }) => messages.length, 'the question');
  assert.equal(again.messages[0].method, 'sampling/createMessage');
  assert.equal((await (await session.send({ jsonrpc: '2.0', id: again.messages[0].id, result: { good: true } })).end()).status, 202);
  await until('answer', async () => (await seen(session)).find(({ id, method }) => id === 'q' && !method));
});

web('a place that is unknown, or another session’s, is refused', HUB, async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST }), other = await Session.open(on, '/mcp/server', { opening: LATEST });
  const stream = await session.listen();
  await stream.until(({ events }) => events.length, 'the first event');
  const place = last(stream);
  for (const id of ['x', '', '1', '-', '1-', '-1', '0-1', '01-1', '1-999', '999-1', `${place}0`, ` ${place} x`, '18446744073709551616-1', '1-18446744073709551616'])
    await refused(await back(session, id));
  await refused(await session.listen({ 'Last-Event-ID': [place, place] }));
  await refused(await back(other, place));
  assert.ok(!stream.ended);
  await other.ask('say', { message: note(1) });
  await stream.until((answer) => numbers(answer).length, 'the note');
});

// The places of an answer's events in their order, with how many bytes of the history each event takes.
const places = ({ text }) => text.split('\n\n').slice(0, -1).filter((event) => event.startsWith('id: ')).map((event) => {
  const [id, data = ''] = event.split('\n');
  return { id: id.slice(4), bytes: Math.max(0, Buffer.byteLength(data) - 'data: '.length) };
});

// Of the streams' events only the last ones are kept, and a client goes on behind an event if all later ones of its stream are.
function resumable(streams, most) {
  const all = streams.flat().filter(({ bytes }) => bytes).sort((a, b) => a.id.split('-')[1] - b.id.split('-')[1]);
  let bytes = 0;
  const kept = new Set(all.reverse().filter((event) => (bytes += event.bytes) <= most));
  const found = new Map();
  for (const stream of streams.filter((events) => events.some((event) => kept.has(event))))
    for (const [at, { id }] of stream.entries())
      if (stream.slice(at + 1).every((event) => kept.has(event))) found.set(id, stream.slice(at + 1).map((event) => event.id));
  return found;
}

for (const [path, size, most] of [['/mcp/server', '256K', 256 * 1024], ['/mcp', '256K', 256 * 1024], ['/mcp/server', '3K', 3 * 1024], ['/mcp', '3K', 3 * 1024]])
  web(`of all ids only those are places that a stream has had, ${path} with ${size}`, hub('--mcp-history', size), async (on) => {
    const session = await Session.open(on, path, { opening: LATEST }), other = await Session.open(on), x = 'x'.repeat(700), streams = [];
    for (const listens of [[1, 2], [4, 5]]) {
      const stream = await session.listen();
      for (const n of listens) await other.ask('say', { message: note(n, { x }) });
      await stream.until((answer) => numbers(answer).includes(listens.at(-1)), 'notes');
      await leave(on, stream);
      streams.push(places(stream), places(await (await session.call('ping', {}, EVENTS)).end()));
      if (listens[0] === 1) await other.ask('say', { message: note(3, { x }) }); // goes to the next stream
    }
    const known = resumable(streams, most), last = Math.max(...streams.flat().map(({ id }) => id.split('-')[1]));
    assert.equal(known.size, size === '3K' ? 8 : 11, JSON.stringify([streams, [...known]]));
    const ids = [...Array(streams.length + 2).keys()].flatMap((stream) => [...Array(last + 3).keys()].map((number) => `${stream}-${number}`));
    const bent = [...known.keys()].flatMap((id) => [id.slice(0, -1), id.slice(1), `${id}0`, `0${id}`, `1${id}`, `${id}-1`, id.replace('-', ''), id.replace('-', '-0'), id.replace('-', '--'), id.split('-').reverse().join('-')]);
    for (const id of new Set([...ids, ...bent])) {
      const answer = await back(session, id), later = known.get(id);
      if (!later) {
        await refused(answer);
        continue;
      }
      assert.equal(answer.status, 200, id);
      await answer.until(({ events }) => events.length > later.length, `what is behind ${id}`);
      const goesOn = streams.findIndex((stream) => stream.some((event) => event.id === id)) % 2 === 0; // a GET's
      await (goesOn ? leave(on, answer) : answer.end());
      assert.deepEqual(places(answer).map((event) => event.id), [id, ...later]); // an empty event with the place itself comes first
    }
  });

web('a place is a place in its own session alone', HUB, async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST }), stream = await session.listen();
  await stream.until(({ events }) => events.length, 'the first event');
  const fields = { ...session.fields, 'Last-Event-ID': last(stream) };
  const missing = async (hub, path, more = {}) => {
    const answer = await (await send(hub, 'GET', path, { fields: { ...fields, ...more } })).end();
    assert.deepEqual([answer.status, answer.json.error.code], [404, -31054]);
  };
  await missing(on, '/mcp');
  await missing(on, '/mcp/server', { 'Mcp-Session-Id': session.id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) });
  await missing(on, '/mcp/server', { 'Mcp-Session-Id': session.id.slice(1) });
  assert.ok(!stream.ended);
  await session.close();
  await stream.end();
  await missing(on, '/mcp/server');
});

web('the last events of a session are kept', hub('--mcp-history', '4K'), async (on) => {
  const session = await Session.open(on), other = await Session.open(on);
  const stream = await session.listen();
  const x = 'x'.repeat(1000);
  for (let n = 0; n < 8; n++) await other.ask('say', { message: note(n, { x }) });
  await stream.until((answer) => numbers(answer).length === 8, 'notes');
  const places = stream.events.map(({ id }) => id).filter(Boolean);
  const counts = async () => (await (await on.peer('tcp')).ask('hub/stats')).result.dropped_notifications_overloaded;
  assert.equal(await counts(), 0); // the client has had them
  await leave(on, stream);
  await refused(await back(session, places[0]));
  const again = await back(session, places[5]);
  await again.until((answer) => numbers(answer).length === 2, 'the last ones');
  assert.deepEqual(numbers(again), [6, 7]);
  await leave(on, again);
  for (let n = 8; n < 16; n++) await other.ask('say', { message: note(n, { x }) });
  assert.equal(await counts(), 5); // which nobody has had
  await refused(await back(session, last(again)));
  const fresh = await session.listen();
  await fresh.until((answer) => numbers(answer).length === 3, 'what is kept');
  assert.deepEqual(numbers(fresh), [13, 14, 15]);
});

web('all sessions together keep an eighth of the memory', hub('--max-memory', '16M', '--max-queue', '1M'), async (on) => {
  const sessions = await Promise.all(Array.from({ length: 12 }, () => Session.open(on, '/mcp/server', { opening: LATEST })));
  const streams = await Promise.all(sessions.map((session) => session.listen()));
  const other = await Session.open(on), x = 'x'.repeat(60000);
  for (let n = 0; n < 4; n++) await other.ask('say', { message: note(n, { x }) });
  for (const stream of streams) await stream.until((answer) => numbers(answer).length === 4, 'notes');
  const places = streams.map(({ events }) => events.filter(({ id }) => id).map(({ id }) => id));
  for (const [index, session] of sessions.entries()) {
    const [opening, , second] = places[index];
    await refused(await back(session, opening));
    const again = await back(session, second);
    await again.until((answer) => numbers(answer).length === 2, 'what is kept');
    again.drop();
  }
  assert.equal((await (await on.peer('tcp')).ask('hub/stats')).result.dropped_notifications_overloaded, 0);
});

web('an answer that isn’t kept is counted', hub('--mcp-history', '4K'), async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST });
  const waiting = session.call('wait', { _meta: { progressToken: 'mine' } });
  const { id, params: { _meta: { progressToken } } } = await asked(session);
  await session.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } } });
  const stream = await waiting;
  await stream.until(({ messages }) => messages.length, 'progress');
  await leave(on, stream);
  await session.ask('finish', { id, result: { x: 'x'.repeat(5000) } });
  assert.equal((await (await on.peer('tcp')).ask('hub/stats')).result.dropped_answers_source_gone, 1);
  await refused(await back(session, last(stream)));
});

web('without history there are no ids', hub('--mcp-history', '0'), async (on) => {
  const session = await Session.open(on, '/mcp/server', { opening: LATEST });
  const answer = await (await session.call('where', {}, EVENTS)).end();
  assert.ok(!/^id:/m.test(answer.text));
  const stream = await session.listen({ 'Last-Event-ID': '1-1' });
  assert.equal(stream.status, 200);
  await session.ask('say', { message: note(1) });
  await stream.until((one) => numbers(one).length, 'the note');
  assert.ok(!/^id:/m.test(stream.text));
});
