// WebSocket written by hand (RFC 6455): a wire for Peer. A test may put its frames together as it likes. Bytes that a
// server mustn't send fail the test.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Peer, within } from './peer.mjs';
import { Stream } from './stream.mjs';

export const CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;

function lengthBytes(count) {
  if (count < 126) return Buffer.from([count]);
  const wide = count > 0xffff;
  const bytes = Buffer.alloc(wide ? 9 : 3);
  bytes[0] = wide ? 127 : 126;
  if (wide) bytes.writeBigUInt64BE(BigInt(count), 1);
  else bytes.writeUInt16BE(count, 1);
  return bytes;
}

// The bytes of a frame. `first` has what stands beside the opcode: FIN, unless it is told.
export function wsFrame(opcode, payload = '', { fin = true, reserved = 0, mask = randomBytes(4) } = {}) {
  const bytes = Buffer.from(Buffer.isBuffer(payload) || typeof payload === 'string' ? payload : JSON.stringify(payload));
  const length = lengthBytes(bytes.length);
  if (mask) {
    length[0] |= 0x80;
    for (let at = 0; at < bytes.length; at++) bytes[at] ^= mask[at % 4];
  }
  return Buffer.concat([Buffer.from([(fin ? 0x80 : 0) | reserved | opcode]), length, mask ?? Buffer.alloc(0), bytes]);
}

export function closeFrame(code, reason = '') {
  return wsFrame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));
}

class WebSocketFrame {
  fields = [];
  constructor(opcode, body) {
    Object.assign(this, { opcode, body });
  }
  get text() {
    return this.body.toString();
  }
  // A control frame is no message.
  get json() {
    return this.opcode === TEXT ? JSON.parse(this.text) : {};
  }
  get code() {
    assert.equal(this.opcode, CLOSE, `a close, not opcode ${this.opcode}: ${this.text.slice(0, 300)}`);
    return this.body.length > 0 ? this.body.readUInt16BE(0) : undefined;
  }
  get reason() {
    return this.body.subarray(2).toString();
  }
}

export const WEBSOCKET = {
  write(body, ...fields) {
    assert.equal(fields.length, 0, 'header fields go with no message');
    return wsFrame(TEXT, body);
  },
  // The hub sends whole, unmasked frames, text and controls, with lengths as short as they can be.
  cut(bytes) {
    if (bytes.length < 2) return { need: 2 };
    const [first, second] = bytes;
    assert.ok(first & 0x80 && !(first & 0x70) && [TEXT, CLOSE, PING, PONG].includes(first & 15), `first byte ${first}`);
    assert.ok(!(second & 0x80), 'a server masks nothing');
    const more = second === 127 ? 8 : second === 126 ? 2 : 0;
    if (bytes.length < 2 + more) return { need: 2 + more };
    const length = more === 8 ? Number(bytes.readBigUInt64BE(2)) : more === 2 ? bytes.readUInt16BE(2) : second;
    assert.ok(more === 0 || length > (more === 8 ? 0xffff : 125), `a length of ${length} in ${more} bytes`);
    const whole = 2 + more + length;
    if (bytes.length < whole) return { need: whole };
    return { whole, frame: new WebSocketFrame(first & 15, bytes.subarray(2 + more, whole)) };
  },
};

export const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

export function upgrade(fields = [], { path = '/ws', host = 'Host: localhost' } = {}) {
  const lines = [`GET ${path} HTTP/1.1`, host, 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Key: ${KEY}`,
    'Sec-WebSocket-Version: 13', ...fields];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

function switched(bytes) {
  const blank = bytes.indexOf('\r\n\r\n');
  return blank < 0 ? null : { whole: blank + 4, value: bytes.subarray(0, blank).toString('latin1') };
}

// A peer on the hub's WebSocket; `fields` of the request for the upgrade, and bytes right behind it.
export async function upgraded(uri, fields = [], behind = Buffer.alloc(0)) {
  const stream = await Stream.dial(uri);
  stream.write(upgrade(fields), behind);
  const head = await stream.take(switched, 'the upgrade');
  const accept = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.ok(head.toLowerCase().includes('\r\nupgrade: websocket') && /\r\nconnection: upgrade(\r\n|$)/i.test(head), head);
  assert.ok(head.includes(`\r\nSec-WebSocket-Accept: ${accept}`), head);
  const peer = new Peer(stream.detach(), WEBSOCKET);
  peer.head = head;
  return peer;
}

// The code with which the hub closes, as the next that comes; and its end.
export async function closed(peer, what) {
  const one = await peer.next(what);
  const { code } = one;
  await within(peer.end, `the end after ${what}`);
  assert.equal(peer.frames.length, 0, `after its close the hub sent ${peer.frames[0]?.text}`);
  return code;
}
