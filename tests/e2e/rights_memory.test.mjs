// A token that the hub has judged is nowhere in its memory, in whatever pieces and over whatever transport it came.
// Each search looks for either half of the token, since a copy may end anywhere. Each search must also find a text that
// the hub does keep.
import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { frame, line, within } from './peer.mjs';
import { Stream } from './stream.mjs';
import { ALL, known, passed, withUsers } from './users.mjs';
import { chunk, request, rpc } from './web.mjs';
import { CONTINUATION, TEXT, upgrade, wsFrame } from './websocket.mjs';

const TOKEN = 'pb_S7qfNf2VxkJ0aYbWc3dLhTgR9mUeZo4i1pXyKsQvBw8', WRONG = 'pb_W3rongGuessOfSomebodyAtAll0123456789ABCDEFGH';
const USERS = { a: ALL, b: { ...ALL, admin: true, token: `sha256:${createHash('sha256').update(TOKEN).digest('hex')}` } };
const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}';
const INITIALIZE = (token = TOKEN, more = '') => `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{${more}"token":"${token}"}}`;
const REGISTER = `{"jsonrpc":"2.0","id":1,"method":"agent/register","params":{"agentId":"x","agentSecret":"${TOKEN}"}}`;
const basic = (token) => Buffer.from(`x:${token}`).toString('base64');
const halves = (text) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
const NEEDLES = [TOKEN, WRONG, basic(TOKEN), basic(WRONG)].flatMap(halves).map((text) => Buffer.from(text));

// --- What the process may write to

const READABLE_BYTES_MAX = 2 ** 34; // a sanitizer's shadow is terabytes
const PAGE_BYTES = 4096;

function readAll(file, count, at) {
  const bytes = Buffer.alloc(count);
  return bytes.subarray(0, readSync(file, bytes, 0, count, at));
}

function rangesOf(pid) {
  return [...readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)]
    .map(([, from, to]) => [parseInt(from, 16), parseInt(to, 16)]);
}

// Why nobody can look there; null: it can be read.
function unreadable(pid) {
  try {
    closeSync(openSync(`/proc/${pid}/mem`, 'r'));
  } catch ({ code }) {
    return `a hub with users is read by root alone (${code})`;
  }
  const bytes = rangesOf(pid).reduce((sum, [from, to]) => sum + to - from, 0);
  return bytes > READABLE_BYTES_MAX ? `it is too much memory (${bytes} bytes), as with a sanitizer` : null;
}

// The pages that are there, as stretches of one after the other.
function* stretches(pid) {
  const ranges = rangesOf(pid);
  const file = openSync(`/proc/${pid}/pagemap`, 'r');
  for (const [from, to] of ranges) {
    const pages = readAll(file, (to - from) / PAGE_BYTES * 8, from / PAGE_BYTES * 8);
    let begin = null;
    for (let at = from; at <= to; at += PAGE_BYTES) {
      const there = at < to && pages[(at - from) / PAGE_BYTES * 8 + 7] & 0xc0; // present, or swapped out
      if (there) begin ??= at;
      else if (begin !== null) {
        yield [begin, at];
        begin = null;
      }
    }
  }
  closeSync(file);
}

// The bytes still there of a stretch: the hub goes on, and may have given back memory since the list was read.
function* partsOf(file, from, to) {
  for (let at = from; at < to;) {
    let part = Buffer.alloc(0);
    try {
      part = readAll(file, to - at, at);
    } catch ({ code }) {
      assert.equal(code, 'EIO');
    }
    yield part;
    at += part.length || PAGE_BYTES;
  }
}

// Returns the texts that stand in the memory of the process.
function inMemory(pid, texts) {
  const found = new Set(), file = openSync(`/proc/${pid}/mem`, 'r');
  for (const [from, to] of stretches(pid))
    for (const part of partsOf(file, from, to))
      for (const text of texts) if (part.includes(text)) found.add(text.toString());
  closeSync(file);
  return [...found];
}

// --- What comes

const whole = (bytes) => [Buffer.from(bytes)];

// Cut where it is told, in order: at a number of bytes, or behind a text.
function cut(bytes, ...places) {
  bytes = Buffer.from(bytes);
  const ends = places.map((place) => (typeof place === 'number' ? place : bytes.indexOf(place) + place.length));
  assert.ok(ends.every((end, at) => end > (ends[at - 1] ?? 0) && end < bytes.length), `${places} of ${bytes.length}`);
  return [...ends, bytes.length].map((end, at) => bytes.subarray(at ? ends[at - 1] : 0, end));
}

const HALF = halves(TOKEN)[0], MORE = `"text":"${'x'.repeat(30000)}",`;
const framed = (body) => frame(body);
const bodies = (wire) => ({
  'whole': [whole(wire(INITIALIZE())), /"result"/],
  'as the secret of an agent': [whole(wire(REGISTER)), /"result"/],
  'wrong': [whole(wire(INITIALIZE(WRONG))), /-32001/],
  'in two': [cut(wire(INITIALIZE()), 'params'), /"result"/],
  'cut in the token': [cut(wire(INITIALIZE()), HALF), /"result"/],
  'cut behind the token': [cut(wire(INITIALIZE()), TOKEN), /"result"/],
  'in its first bytes and more': [cut(wire(INITIALIZE()), 3, HALF, TOKEN), /"result"/],
  'behind much else, in pieces': [cut(wire(INITIALIZE(TOKEN, MORE)), 5000, 9000, HALF, TOKEN), /"result"/],
  'before much else, in pieces': [cut(wire(INITIALIZE().replace(/}}$/, `,${MORE.slice(0, -1)}}}`)), HALF, TOKEN, 9000, 20000), /"result"/],
  'behind another one that was cut': [cut(Buffer.concat([wire(PING), wire(INITIALIZE())]), 3), /-32054[^]*"result"/],
  'in what is no JSON': [whole(wire(INITIALIZE().slice(0, -1))), /-32700/],
  'in what can be read in two ways': [whole(wire(INITIALIZE().replace('"id":1', '"id":1,"id":2'))), /-32600/],
  'twice': [whole(wire(INITIALIZE(TOKEN, `"token":"${TOKEN}",`))), /-32600/],
  'in what is no message': [whole(wire(INITIALIZE().replace('"method":"initialize",', ''))), /-32600/],
  'under an id that is none': [whole(wire(INITIALIZE().replace('"id":1', '"id":[]'))), /-32600/],
  'with another method': [whole(wire(INITIALIZE().replace('initialize', 'initialise'))), /-32054/],
  'in an array': [whole(wire(`[${INITIALIZE()},${PING}]`)), /"result"[^]*"result"/],
  'in an array that is no JSON': [whole(wire(`[${INITIALIZE()},]`)), /-32700/],
  'in an array, with what is no message': [whole(wire(`[${INITIALIZE()},{"params":{"token":"${TOKEN}"}}]`)), /-32600/],
  'in an array, too deep': [whole(wire(`[${INITIALIZE()},${'['.repeat(3000)}${']'.repeat(3000)}]`)), /-32600/],
  'in large ones, again': [cut(Buffer.concat([wire(INITIALIZE()), wire(INITIALIZE(TOKEN, MORE.repeat(1).replace(/x+/, 'x'.repeat(150000))))]), HALF, TOKEN, 100000, 150000), /"result"[^]*"result"/],
});

const FRAMED = {
  ...bodies(framed),
  'with a user that it says itself': [whole(frame(INITIALIZE(), 'Patchbay-User: a')), /"result"/],
  'in a header block that is none': [whole(`X ${TOKEN}\r\n\r\n`), /-32700/],
};
const LINES = {
  ...bodies((body) => line(body)),
  'in a line that is too long': [cut(`${INITIALIZE()}${'x'.repeat(70000)}`, HALF, 30000, 69000), /-32055/],
};

const bearer = (token) => `Authorization: Bearer ${token}`;
const head = (line, ...fields) => request(line, fields);
const SLOW = rpc('{"jsonrpc":"2.0","id":1,"method":"x","params":{"targetAgent":"slow"}}', bearer(TOKEN));
const chunked = (...parts) => request('POST /rpc', ['Content-Type: application/json', 'Transfer-Encoding: chunked', bearer(TOKEN)],
  Buffer.concat([...parts.map(chunk), Buffer.from('0\r\n\r\n')]));
const WEB = {
  'a bearer': [whole(rpc(PING, bearer(TOKEN))), / 200 /],
  'a basic one': [whole(rpc(PING, `Authorization: Basic ${basic(TOKEN)}`)), / 200 /],
  'a wrong bearer': [whole(rpc(PING, bearer(WRONG))), / 401 /],
  'a wrong basic one': [whole(rpc(PING, `Authorization: Basic ${basic(WRONG)}`)), / 401 /],
  'two': [whole(rpc(PING, bearer(TOKEN), bearer(WRONG))), / 401 /],
  'where none is needed': [whole(head('GET /healthz', bearer(TOKEN))), / 200 /],
  'where nothing is': [whole(head('GET /nothing', bearer(TOKEN))), / 404 /],
  'with what moves in the head': [whole(rpc(PING, 'Custom-A: 1', bearer(TOKEN), 'Request-Id: 2')), / 200 /],
  'with a foreign Host': [whole(head('GET /metrics', 'Host: example.org', bearer(TOKEN))), / 403 /],
  'cut in the token': [cut(rpc(PING, bearer(TOKEN)), HALF), / 200 /],
  'cut in its first bytes and more': [cut(rpc(PING, bearer(TOKEN)), 3, HALF, TOKEN), / 200 /],
  'before a body in pieces': [cut(rpc(INITIALIZE(TOKEN, MORE), bearer(TOKEN)), TOKEN, 3000, 9000, 20000), / 200 /],
  'before a body that is large': [cut(rpc(PING.replace(/}$/, `,"params":["${'x'.repeat(150000)}"]}`), bearer(TOKEN)), 3000, 50000, 100000), / 200 /],
  'before a body that never comes': [cut(rpc(PING, bearer(TOKEN)), 3, '\r\n\r\n').slice(0, 2), null],
  'behind another request': [cut(Buffer.concat([head('GET /healthz'), rpc(PING, bearer(TOKEN))]), 3, HALF), / 200 [^]* 200 /],
  'in a head that is none': [whole(`GET / HTTP/1.1\r\n${bearer(TOKEN)}\r\n\r\n`), / 400 /],
  'in chunks': [whole(chunked(INITIALIZE().slice(0, 20), INITIALIZE().slice(20))), / 200 /],
  'in chunks that are cut': [cut(chunked(...INITIALIZE().match(/.{1,7}/g)), TOKEN, 250, 330), / 200 /],
  'for a WebSocket': [whole(upgrade([bearer(TOKEN)])), / 101 /],
  'for events, behind what waits': [whole(Buffer.concat([SLOW, head('GET /events?pattern=x', bearer(TOKEN))])), / 200 [^]* 200 /, 'slow'],
  'for events that nobody waits for': [whole(Buffer.concat([SLOW, head('GET /events?pattern=x', bearer(TOKEN))])), null, 'slow'],
};
const text = (payload, more) => wsFrame(TEXT, payload, more), [BEGIN, END] = [INITIALIZE().slice(0, 60), INITIALIZE().slice(60)];
const SOCKETS = {
  'in a message': [whole(text(INITIALIZE())), /"result"/],
  'in fragments': [whole(Buffer.concat([text(BEGIN, { fin: false }), wsFrame(CONTINUATION, END)])), /"result"/],
  'in fragments that come one by one': [[text(BEGIN, { fin: false }), wsFrame(CONTINUATION, END.slice(0, 40), { fin: false }), wsFrame(CONTINUATION, END.slice(40))], /"result"/],
  'in fragments that are cut': [cut(Buffer.concat([text(BEGIN, { fin: false }), wsFrame(CONTINUATION, END, { mask: Buffer.alloc(4) })]), 20, HALF, TOKEN), /"result"/],
  'cut': [cut(text(INITIALIZE(), { mask: Buffer.alloc(4) }), HALF), /"result"/],
};

// --- Playing it

async function connect(hub, how) {
  const { hostname: host, port } = new URL(hub.uri(how.transport));
  const socket = how.secure
    ? tls.connect({ host, port, ca: (await import('./certificates.mjs')).trusted, ...how.secure })
    : net.connect({ host, port });
  await within(new Promise((resolve, reject) => socket.once(how.secure ? 'secureConnect' : 'connect', resolve).once('error', reject)), 'a connection');
  socket.setNoDelay(true);
  return new Stream(socket);
}

const said = (stream, pattern, what) => stream.take((bytes) => (pattern.test(bytes.toString('latin1')) ? { whole: bytes.length, value: bytes } : null), what);

async function play(hub, friend, how, [pieces, answer, waits]) {
  const stream = await connect(hub, how);
  if (how.upgrades) {
    stream.write(upgrade());
    await said(stream, /\r\n\r\n/, 'the upgrade');
  }
  for (const piece of pieces) {
    stream.write(piece);
    passed(await friend.ask('hub/ping')); // it has come by then
  }
  if (waits) {
    const { id } = (await friend.next()).json;
    if (answer) friend.reply(id);
    else stream.socket.destroy();
  }
  if (answer) await said(stream, answer, `${answer}`);
  stream.socket.destroy();
  passed(await friend.ask('hub/ping'));
}

function withTokens(what, how, cases) {
  withUsers(`a token is nowhere in the hub's memory once it was judged: ${what}`, USERS, { transport: how.transport, options: ['--shards', '1'] }, async (hub, t) => {
    const friend = await known(hub, 'a', 'tcp');
    await friend.register('slow');
    const kept = Array.from({ length: 40 }, () => String.fromCharCode(97 + randomInt(26))).join('');
    await friend.register(kept);
    const why = unreadable(hub.process.pid);
    for (const [name, one] of Object.entries(cases)) {
      await play(hub, friend, how, one);
      if (!why) assert.deepEqual(inMemory(hub.process.pid, [Buffer.from(kept), ...NEEDLES]), [kept], name);
    }
    if (why) t.skip(why);
  });
}

withTokens('frames', { transport: 'tcp' }, FRAMED);
withTokens('lines', { transport: 'tcp-lines' }, LINES);
withTokens('HTTP', { transport: 'http' }, WEB);
withTokens('WebSocket', { transport: 'http', upgrades: true }, SOCKETS);
for (const version of ['TLSv1.2', 'TLSv1.3']) {
  const secure = { minVersion: version, maxVersion: version };
  withTokens(`frames, ${version}`, { transport: 'tls', secure }, FRAMED);
}
withTokens('HTTPS', { transport: 'https', secure: {} }, WEB);
