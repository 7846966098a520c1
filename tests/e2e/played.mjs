// A client of the server's that plays another hub: it says only what it is told to say.
import assert from 'node:assert/strict';
import { Client } from './cluster.mjs';

export const head = (name, words = '', more = '') => `NATS/1.0\r\nPatchbay: 1 hub=${name}${words}\r\n${more}\r\n`;
const hexadecimal = () => Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join('');

// Requests, or answers, as the body of one message: of each its number, in hexadecimal digits, its body, and what else is said of it
// (core/cluster/bundle.h).
export const bundle = (...parts) => Buffer.concat(parts.flatMap(([number, body, said = 0], at) => {
  const begin = Buffer.alloc(16);
  begin.writeBigUInt64LE(BigInt(`0x${number}`));
  begin.writeUInt32LE(Buffer.byteLength(body), 8);
  begin.writeUInt32LE(said, 12);
  return [Buffer.from(at ? '\r\n' : ''), begin, Buffer.from(body)];
}));

export function unbundle(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 16 + bytes.readUInt32LE(at + 8);
    assert.ok(end === bytes.length || bytes.toString('latin1', end, end + 2) === '\r\n', bytes.toString());
    parts.push({ number: Number(bytes.readBigUInt64LE(at)), said: bytes.readUInt32LE(at + 12), body: bytes.toString('utf8', at + 16, end) });
    at = end === bytes.length ? end : end + 2;
  }
  return parts;
}

export const numbersOf = (bytes) =>
  Array.from({ length: bytes.length / 8 }, (_, at) => Number(bytes.readBigUInt64LE(8 * at)));

export class Played {
  static async join(broker) {
    const played = new Played();
    played.name = hexadecimal();
    played.client = await Client.join(broker);
    await played.client.subscribe(`patchbay.test.hub.${played.name}`);
    await played.client.subscribe(`patchbay.test.hub.${played.name}.>`);
    return played;
  }

  say(hub, words) {
    this.client.publish(`patchbay.test.hub.${hub}`, '', '', head(this.name, words));
  }

  beat(words = '') {
    this.client.publish('patchbay.test.beat', '', '', head(this.name, words));
  }

  ask(agent, number, body) {
    this.client.publish(`patchbay.test.agent.${agent}`, body, `patchbay.test.hub.${this.name}.${number.toString(16)}`,
      head(this.name, '', `Content-Length: ${Buffer.byteLength(body)}\r\n`));
  }

  #parts = [];

  // A request that came to it, by itself or with others: by which hub, and under which number.
  async request(subject) {
    const at = this.#parts.findIndex((part) => part.subject === subject);
    if (at >= 0) return this.#parts.splice(at, 1)[0];
    const { reply, bytes } = await this.client.find((one) => one.subject === subject, `a request for ${subject}`);
    const [hub, number, serial] = reply.split('.').slice(3);
    if (!serial) return { subject, hub, number, reply, text: bytes.toString() };
    for (const part of unbundle(bytes)) {
      const digits = part.number.toString(16);
      this.#parts.push({ subject, hub, number: digits, reply: `patchbay.test.hub.${hub}.${digits}`, text: part.body, together: reply });
    }
    return this.#parts.shift();
  }

  // Once that hub has taken all that was said before: what it is asked after then isn't there.
  async heard(hub) {
    this.say(hub, ' ask=1');
    await this.told(` hub=${hub} gone=1`);
  }

  told(words) {
    return this.client.find((one) => one.head?.includes(words), words);
  }
}
