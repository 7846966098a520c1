// Framing errors can't be recovered from. The hub answers -32700 (a limit: -32055) with id null, the fault and its
// offset. Then it half-closes and closes, and no other connection notices. Nothing of a refused block is ever passed
// on.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, frame, requestText } from './peer.mjs';

const BODY = requestText(1, 'smuggled', { targetAgent: 'target' });
const GOOD = `Content-Length: ${BODY.length}`;
const TYPE = 'Content-Type: application/vscode-jsonrpc; charset=utf-8';

// The fault, the lines of the block, and the line that holds the fault (its offset lies there).
const BAD_BLOCKS = [
  ['an HTTP request', ['POST / HTTP/1.1', 'Host: localhost', GOOD], 0],
  ['an HTTP request without a version', ['GET /', GOOD], 0],
  ['no length', ['X: 1', 'Y: 2'], null],
  ['an empty block', [], null],
  ['a sign', ['Content-Length: +5'], 0],
  ['a minus', ['Content-Length: -5'], 0],
  ['hex', ['Content-Length: 0x5'], 0],
  ['a list', [`Content-Length: ${BODY.length}, ${BODY.length}`], 0],
  ['an exponent', ['Content-Length: 1e1'], 0],
  ['a fraction', ['Content-Length: 5.0'], 0],
  ['an inner space', ['Content-Length: 5 5'], 0],
  ['an empty length', ['Content-Length:'], 0],
  ['a length of blanks', ['Content-Length:  \t '], 0],
  ['letters', ['Content-Length: five'], 0],
  ['a semicolon', ['Content-Length: 5;'], 0],
  ['wide digits', ['Content-Length: \u00ef\u00bc\u0095'], 0],
  ['eleven digits', [`Content-Length: ${String(BODY.length).padStart(11, '0')}`], 0],
  ['zero', ['Content-Length: 0'], 0],
  ['zeros', ['Content-Length: 0000000000'], 0],
  ['the length twice, equal', [GOOD, GOOD], 1],
  ['the length twice, other', ['Content-Length: 5', GOOD], 1],
  ['the length twice, in other cases', [GOOD, 'X: 1', `content-LENGTH: ${BODY.length}`], 2],
  ['a space before the colon', [`Content-Length : ${BODY.length}`], 0],
  ['a tab before the colon', [`Content-Length\t: ${BODY.length}`], 0],
  ['a space before a name', [` Content-Length: ${BODY.length}`], 0],
  ['a folded line', [GOOD, 'X: 1', ' folded'], 2],
  ['a line folded by a tab', ['X: 1', '\tContent-Length: 3', GOOD], 1],
  ['an empty name', [GOOD, ': 1'], 1],
  ['a line without a colon', [GOOD, 'nothing'], 1],
  ['a name that is no token', [GOOD, 'a(b): 1'], 1],
  ['a name beyond ASCII', [GOOD, 'n\u00e4me: 1'], 1],
  ['a NUL in a name', ['Content\0-Length: 5', GOOD], 0],
  ['a NUL in a value', [GOOD, 'X: a\0b'], 1],
  ['an escape in a value', [GOOD, 'X: \x1b[31m'], 1],
  ['DEL in a value', [GOOD, 'X: \x7f'], 1],
  ['a bare LF in a value', [GOOD, 'X: a\nContent-Length: 3'], 1],
  ['a bare CR in a value', [GOOD, 'X: a\rContent-Length: 3'], 1],
  ['a bare LF between two fields', [GOOD, 'X: a\nY: b'], 1],
  ['a bare CR between two fields', [GOOD, 'X: a\rY: b'], 1],
  ['a bare LF after the length', [`${GOOD}\nX: 1`], 0],
  ['a bare LF for the blank line', [`${GOOD}\n\n`], 0],
  ['Content-Type twice', [GOOD, TYPE, TYPE], 2],
  ['HugAI-Version twice', [GOOD, 'HugAI-Version: 2.0.0', 'hugai-version: 2.0.0'], 2],
  ['Governance-Level twice', [GOOD, 'Governance-Level: manual', 'Governance-Level: autonomous'], 2],
  ['Custom-Timeout-Ms twice', [GOOD, 'Custom-Timeout-Ms: 5', 'Custom-Timeout-Ms: 5'], 2],
  ['another charset', [GOOD, 'Content-Type: application/json; charset=iso-8859-1'], 1],
  ['another charset in capitals', [GOOD, 'content-type: application/json;CHARSET=UTF-16'], 1],
];

// Where line `at` of the block lies, its line end included.
function lineRange(lines, at) {
  const from = lines.slice(0, at).reduce((sum, line) => sum + line.length + 2, 0);
  return [from, from + lines[at].length + 2];
}

// Sends bytes that hold a framing error and checks all of the hub's way to close. Returns the error.
async function refused(hub, bytes, code, what) {
  const peer = await hub.peer();
  peer.write(bytes);
  const answer = (await peer.next(`the answer to ${what}`)).json;
  const error = assertError(answer, code, what);
  assert.strictEqual(answer.id, null, what);
  assert.ok(Number.isInteger(error.data.offset), `${what}: ${JSON.stringify(error)}`);
  assert.ok(error.data.offset >= 0 && error.data.offset <= bytes.length, `${what}: ${JSON.stringify(error)}`);
  assert.ok(Object.values(error.data).some((value) => typeof value === 'string' && value.length > 3), what);
  assert.equal(await peer.gone(`the close after ${what}`), 'end', what);
  assert.equal(peer.frames.length, 0, `${what}: nothing follows the error`);
  peer.drop();
  return error;
}

scenario('every framing error is answered, closes its connection and no other', { shards: [1, 2] }, async (hub) => {
  const target = await hub.agent('target');
  const bystander = await hub.peer();
  for (const [what, lines, at] of BAD_BLOCKS) {
    const bytes = Buffer.from(`${lines.map((line) => `${line}\r\n`).join('')}\r\n${BODY}`, 'latin1');
    const { data } = await refused(hub, bytes, -32700, what);
    if (at === null) continue;
    const [from, to] = lineRange(lines, at);
    assert.ok(data.offset >= from && data.offset < to, `${what}: offset ${data.offset} is not in ${from}..${to}`);
  }
  assert.equal((await bystander.ask('hub/ping', 'alive')).result, 'alive');
  await target.silent('all those blocks');
});

scenario('what the hub had answered before a framing error still arrives', {}, async (hub) => {
  const peer = await hub.peer();
  const bad = 'Content-Length: +5\r\n\r\nhello';
  peer.write(Buffer.concat([frame(requestText(1, 'hub/ping', 'first')), Buffer.from(bad), frame(BODY)]));
  assert.equal((await peer.next()).json.result, 'first');
  assertError((await peer.next()).json, -32700);
  assert.equal(await peer.gone(), 'end');
});

scenario('the offset counts from the start of its own frame', {}, async (hub) => {
  const peer = await hub.peer();
  peer.write(Buffer.concat([frame(requestText(1, 'hub/ping')), Buffer.from('X: 1\r\nGET /\r\n\r\n')]));
  await peer.next();
  const { data } = assertError((await peer.next()).json, -32700);
  assert.ok(data.offset >= 6 && data.offset <= 11, JSON.stringify(data));
});

scenario('a framing error cut into single bytes is the same error', {}, async (hub) => {
  for (const [what, lines, at] of BAD_BLOCKS.filter((_, n) => n % 6 === 0)) {
    const peer = await hub.peer();
    const bytes = Buffer.from(`${lines.map((line) => `${line}\r\n`).join('')}\r\n`, 'latin1');
    for (const byte of bytes) {
      if (peer.closed) break;
      await peer.write(Buffer.of(byte));
    }
    const { data } = assertError((await peer.next(what)).json, -32700, what);
    if (at !== null) assert.ok(data.offset >= lineRange(lines, at)[0] && data.offset < lineRange(lines, at)[1], what);
    await peer.gone();
  }
});

scenario('a peer that goes on sending after its error gets the answer nonetheless', {}, async (hub) => {
  const peer = await hub.peer();
  peer.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  for (let n = 0; n < 64; n++) peer.write(Buffer.alloc(64 * 1024, 'x'));
  assertError((await peer.next()).json, -32700);
  await peer.gone();
});

// A peer's fields under other limits.
scenario('blocks that are odd but right pass', {}, async (hub) => {
  (await hub.agent('target')).serve(() => 'good');
  const source = await hub.peer();
  const blocks = [
    [GOOD], [`content-length:${BODY.length}`], [`Content-Length: ${String(BODY.length).padStart(10, '0')}`],
    [`Content-Length:\t ${BODY.length}\t `], [GOOD, 'X:'], [GOOD, 'X: 1', 'X: 1'], ['Transfer-Encoding: chunked', GOOD],
    [GOOD, TYPE], [GOOD, 'Content-Type: text/plain'], [GOOD, 'Content-Type: application/json;charset=UTF8'],
    [GOOD, 'Content-Type: application/vscode-jsonrpc; charset=UTF-8'], [GOOD, `X-Long: ${'y'.repeat(7900)}`],
    [GOOD, 'HugAI-Version: 2.9.1'], [GOOD, 'Custom-Length: 5', 'Content-Lengths: 5'],
  ];
  for (const lines of blocks) {
    source.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${BODY}`));
    assert.equal((await source.next(lines.join(' | '))).json.result, 'good', lines.join(' | '));
  }
});

scenario('a frame over the limit is -32055 and closes', {}, async (hub) => {
  const target = await hub.agent('target');
  for (const length of ['16777217', '4294967295', '4294967296', '9999999999']) {
    const error = await refused(hub, Buffer.from(`Content-Length: ${length}\r\n\r\n{`), -32055, length);
    assert.ok(error.data.offset < 30, JSON.stringify(error));
  }
  await target.silent('frames over the limit');
});

scenario('a header block over the limit closes', {}, async (hub) => {
  for (const lines of [`X: ${'y'.repeat(9000)}\r\n`, 'X: 1\r\n'.repeat(1500), `${'n'.repeat(9000)}`]) {
    const peer = await hub.peer();
    peer.write(Buffer.from(`${GOOD}\r\n${lines}\r\n${BODY}`));
    const answer = (await peer.next()).json;
    assert.ok([-32055, -32700].includes(answer.error.code), JSON.stringify(answer));
    assert.equal(answer.id, null);
    await peer.gone();
  }
});

scenario('--max-frame and --max-header set the limits', { options: ['--max-frame', '1K', '--max-header', '256'] },
  async (hub) => {
    const peer = await hub.peer();
    const padded = (bytes) => requestText(1, 'hub/ping', 'x'.repeat(bytes - requestText(1, 'hub/ping', '').length));
    peer.send(padded(1024));
    assert.ok('result' in (await peer.next()).json);
    await refused(hub, frame(padded(1025)), -32055, 'a frame of 1025 bytes');
    peer.write(Buffer.from(`${GOOD}\r\nX: ${'y'.repeat(300)}\r\n\r\n${BODY}`));
    assert.ok((await peer.next()).json.error);
    await peer.gone();
  });

scenario('a peer that has said its last with a framing error still reads the answer', { shards: [1, 2] }, async (hub) => {
  for (let n = 0; n < 20; n++) {
    const peer = await hub.peer();
    peer.socket.end('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    assertError((await peer.next('the error')).json, -32700);
    assert.equal(await peer.gone(), 'end');
  }
});
