// WebSocket (RFC 6455) on a socket that is there: a client's frames, and the upgrade that opens them. No extensions.
import { createHash, randomBytes, randomFillSync } from 'node:crypto';

const OPCODE = { CONTINUATION: 0, TEXT: 1, BINARY: 2, CLOSE: 8, PING: 9, PONG: 10 };
const CODE = { NORMAL: 1000, PROTOCOL: 1002, UNSUPPORTED: 1003, NOT_UTF8: 1007, TOO_LARGE: 1009 };
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const ANSWER_BYTES_MAX = 16 * 1024;
const ASIDE_BYTES_MAX = 125; // of a control frame
const FRAGMENTS_MAX = 4096; // of a message
const LENGTH_16 = 126, LENGTH_64 = 127;

// --- The upgrade

const field = (head, name) => [...head.matchAll(new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'gim'))].map((found) => found[1]).join(', ');

function judge(head, key) {
  const status = /^HTTP\/1\.1 ([0-9]{3})(?: |$)/m.exec(head)?.[1];
  if (status !== '101') throw new Error(`the hub opens no WebSocket: HTTP status ${status ?? 'missing'}`);
  const proof = createHash('sha1').update(key + GUID).digest('base64');
  const good = field(head, 'Upgrade').toLowerCase() === 'websocket' && /(^|,\s*)upgrade(\s*,|$)/i.test(field(head, 'Connection'))
    && field(head, 'Sec-WebSocket-Accept') === proof && field(head, 'Sec-WebSocket-Extensions') === ''
    && ['', 'hugai.v2'].includes(field(head, 'Sec-WebSocket-Protocol'));
  if (!good) throw new Error('the hub\'s answer to the WebSocket upgrade is none');
}

// Upgrades the socket, which is left paused; what came behind the answer is put back. Rejects when the socket ends first,
// or the answer is another.
export function upgrade(socket, { authority, path }) {
  const key = randomBytes(16).toString('base64');
  let answer = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const settle = (how, value) => {
      socket.pause();
      socket.off('data', take).off('close', closed);
      how(value);
    };
    const closed = () => settle(reject, new Error('the hub closed the connection before the WebSocket was open'));
    const take = (bytes) => {
      answer = Buffer.concat([answer, bytes]);
      const end = answer.indexOf('\r\n\r\n');
      if (end < 0 && answer.length <= ANSWER_BYTES_MAX) return;
      try {
        if (end < 0) throw new Error('the hub\'s answer to the WebSocket upgrade has no end');
        judge(answer.toString('latin1', 0, end), key);
        socket.pause();
        if (answer.length > end + 4) socket.unshift(answer.subarray(end + 4));
        settle(resolve);
      } catch (error) {
        settle(reject, error);
      }
    };
    socket.on('data', take).on('close', closed);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${authority}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
      + `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: hugai.v2\r\n\r\n`);
  });
}

// --- Frames

const masks = Buffer.alloc(4096);
let masksAt = masks.length;

function putMask(frame, at) {
  if (masksAt === masks.length) {
    randomFillSync(masks);
    masksAt = 0;
  }
  masks.copy(frame, at, masksAt, masksAt + 4);
  masksAt += 4;
}

// One whole frame of a client: masked. `payload` is a text or bytes.
function frame(opcode, payload) {
  const count = Buffer.byteLength(payload), wide = count > 0xffff ? 8 : count >= LENGTH_16 ? 2 : 0;
  const start = 2 + wide + 4, bytes = Buffer.allocUnsafe(start + count);
  bytes[0] = 0x80 | opcode;
  bytes[1] = 0x80 | (wide === 8 ? LENGTH_64 : wide === 2 ? LENGTH_16 : count);
  if (wide === 2) bytes.writeUInt16BE(count, 2);
  if (wide === 8) bytes.writeBigUInt64BE(BigInt(count), 2);
  putMask(bytes, start - 4);
  if (typeof payload === 'string') bytes.write(payload, start, 'utf8');
  else bytes.set(payload, start);
  const mask = bytes.subarray(start - 4, start);
  for (let at = 0; at < count; at++) bytes[start + at] ^= mask[at & 3];
  return bytes;
}

function closeFrame(code) {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return frame(OPCODE.CLOSE, payload);
}

// A fault after which the connection ends; `farewell` is the close frame that tells the hub why.
class Fault extends Error {
  constructor(code, message) {
    super(`the hub sent ${message}`);
    this.farewell = closeFrame(code);
  }
}

// Puts frames together into messages.
export class WebSocketReader {
  #bytes = Buffer.alloc(0);
  #parts = [];
  #held = 0; // received and not in #bytes yet
  #need = 2;
  #fragments; // of the message that has begun
  #length = 0; // bytes in them
  #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #max;

  constructor(bodyBytesMax) {
    this.#max = bodyBytesMax;
  }

  // Calls `heard(text, bytes)` for each message that is whole by now, and `reply(bytes)` with what the protocol owes.
  // Throws for what is no WebSocket; returns true at the hub's close.
  take(chunk, heard, reply) {
    this.#parts.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#need) return false;
    this.#bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts, this.#held);
    for (let head; (head = this.#head()); ) {
      const payload = this.#bytes.subarray(head.at, head.end);
      this.#bytes = this.#bytes.subarray(head.end);
      if (this.#frame(head, payload, heard, reply)) return true;
    }
    this.#parts = this.#bytes.length > 0 ? [this.#bytes] : [];
    this.#held = this.#bytes.length;
    return false;
  }

  // The next frame's head, once all of the frame is there.
  #head() {
    const bytes = this.#bytes;
    this.#need = 2;
    if (bytes.length < 2) return undefined;
    const short = bytes[1] & 0x7f, wide = short === LENGTH_64 ? 8 : short === LENGTH_16 ? 2 : 0;
    const opcode = bytes[0] & 0x0f, whole = (bytes[0] & 0x80) !== 0, aside = opcode >= OPCODE.CLOSE;
    if ((bytes[0] & 0x70) !== 0 || (bytes[1] & 0x80) !== 0) throw new Fault(CODE.PROTOCOL, 'a WebSocket frame that no server may send');
    if (aside && (!whole || short > ASIDE_BYTES_MAX)) throw new Fault(CODE.PROTOCOL, 'a control frame that is none');
    this.#need = 2 + wide;
    if (bytes.length < this.#need) return undefined;
    const count = wide === 8 ? Number(bytes.readBigUInt64BE(2)) : wide === 2 ? bytes.readUInt16BE(2) : short;
    if (count + (aside ? 0 : this.#length) > this.#max) throw new Fault(CODE.TOO_LARGE, `a message of more than ${this.#max} bytes`);
    this.#need += count;
    return bytes.length < this.#need ? undefined : { opcode, whole, at: 2 + wide, end: this.#need };
  }

  #frame({ opcode, whole }, payload, heard, reply) {
    switch (opcode) {
      case OPCODE.PING:
        reply(frame(OPCODE.PONG, payload));
        return false;
      case OPCODE.PONG:
        return false;
      case OPCODE.CLOSE:
        reply(frame(OPCODE.CLOSE, payload.subarray(0, 2)));
        return true;
      case OPCODE.TEXT:
      case OPCODE.CONTINUATION:
        this.#text(opcode, whole, payload, heard);
        return false;
      default:
        throw new Fault(opcode === OPCODE.BINARY ? CODE.UNSUPPORTED : CODE.PROTOCOL, 'a frame that is no text');
    }
  }

  #text(opcode, whole, payload, heard) {
    if ((opcode === OPCODE.TEXT) === (this.#fragments !== undefined)) throw new Fault(CODE.PROTOCOL, 'fragments that don\'t belong together');
    this.#fragments ??= [];
    if (this.#fragments.push(payload) > FRAGMENTS_MAX) throw new Fault(CODE.TOO_LARGE, `a message in more than ${FRAGMENTS_MAX} fragments`);
    this.#length += payload.length;
    if (!whole) return;
    const bytes = this.#fragments.length === 1 ? payload : Buffer.concat(this.#fragments, this.#length);
    this.#fragments = undefined;
    this.#length = 0;
    heard(this.#decode(bytes), bytes.length);
  }

  #decode(bytes) {
    try {
      return this.#utf8.decode(bytes);
    } catch {
      throw new Fault(CODE.NOT_UTF8, 'a text that is not UTF-8');
    }
  }
}

export const webSocket = {
  hasFields: false,
  encode: (body) => frame(OPCODE.TEXT, body),
  bye: () => closeFrame(CODE.NORMAL),
  reader: (bodyBytesMax) => new WebSocketReader(bodyBytesMax),
};
