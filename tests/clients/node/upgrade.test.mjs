// The client over WebSocket against a server of the test's own, which refuses, lies and closes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { client, close, failure, having, statesOf, until } from './kit.mjs';

const TEXT = 1, CLOSE = 8, PONG = 10;
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const accept = (head) => createHash('sha1').update(/^Sec-WebSocket-Key: (\S+)$/im.exec(head)[1] + GUID).digest('base64');
const good = (head) => `HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: keep-alive, Upgrade\r\nSEC-WEBSOCKET-ACCEPT: ${accept(head)} \r\n`;

const text = (body) => Buffer.concat([Buffer.from([0x81, body.length]), Buffer.from(body)]);

// Answers the upgrade with what `answer` makes of the request, and each message of the client with an empty result.
async function serve(answer) {
  const server = net.createServer().listen(0, '127.0.0.1'), sockets = [], heard = [];
  await once(server, 'listening');
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', (bytes) => {
      const head = bytes.toString('latin1');
      socket.head = head;
      socket.write(answer(head));
      socket.on('data', (chunk) => {
        for (let rest = chunk; rest.length > 0;) {
          const wide = (rest[1] & 127) === 126, at = wide ? 8 : 6, end = at + (wide ? rest.readUInt16BE(2) : rest[1] & 127), mask = rest.subarray(at - 4, at);
          const payload = Buffer.from(rest.subarray(at, end).map((byte, index) => byte ^ mask[index & 3]));
          heard.push([rest[0] & 15, payload.toString('latin1')]);
          if ((rest[0] & 15) === TEXT) socket.write(text(`{"id":${JSON.parse(payload).id},"result":{}}`));
          if ((rest[0] & 15) === CLOSE) socket.end();
          rest = rest.subarray(end);
        }
      });
    });
  });
  return { uri: `ws://127.0.0.1:${server.address().port}`, sockets, heard, async stop() { sockets.forEach((socket) => socket.destroy()); server.close(); await once(server, 'close'); } };
}

test('the upgrade, and what comes right behind it', () => having(serve((head) => Buffer.concat([Buffer.from(`${good(head)}\r\n`), Buffer.from('890170', 'hex'), text('{"method":"x"}')])), async ({ uri, sockets, heard }) => {
  const one = await client(`${uri}/other?x=1`);
  assert.match(sockets[0].head, /^GET \/other\?x=1 HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
  assert.match(sockets[0].head, /\r\nSec-WebSocket-Protocol: hugai\.v2\r\n/);
  const states = statesOf(one);
  sockets[0].write(Buffer.from('880203e9', 'hex'));
  await until('it is back', () => states.includes('connected'));
  await close(one);
  await until('it says good-bye', () => heard.filter(([opcode]) => opcode === CLOSE).length === 2);
  assert.deepEqual(heard.filter(([opcode]) => opcode === PONG).map(([, payload]) => payload), ['p', 'p']);
  assert.deepEqual(heard.filter(([opcode]) => opcode === CLOSE).map(([, payload]) => payload), ['\x03\xe9', '\x03\xe8']);
}));

const refusals = {
  'another status': () => 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
  'no HTTP': () => 'SSH-2.0-OpenSSH\r\n\r\n',
  'a wrong proof': (head) => `${good(head).replace(/ACCEPT: ./, 'ACCEPT: !')}\r\n`,
  'no proof': () => 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  'another upgrade': (head) => `${good(head).replace('WebSocket', 'h2c')}\r\n`,
  'an extension': (head) => `${good(head)}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n`,
  'another subprotocol': (head) => `${good(head)}Sec-WebSocket-Protocol: mqtt\r\n\r\n`,
  'an answer without an end': () => `HTTP/1.1 101 x\r\nX: ${'x'.repeat(20_000)}`,
};
for (const [name, answer] of Object.entries(refusals)) {
  test(`an upgrade that is answered with ${name} is an error of connect`, () => having(serve(answer), async ({ uri, sockets }) => {
    assert.match((await failure(client(uri))).message, /WebSocket/);
    await until('it is closed', () => sockets[0].destroyed || sockets[0].readableEnded);
    assert.equal(sockets.length, 1);
  }));
}
