// A client of the server's that plays another hub: it says only what it is told to say.
import assert from 'node:assert/strict';
import { Client } from './cluster.mjs';

export const head = (name, words = '', more = '') => `NATS/1.0\r\nPatchbay: 1 hub=${name}${words}\r\n${more}\r\n`;
const hexadecimal = () => Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join('');

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

  // A request that came to it: by which hub, and under which number.
  async request(subject) {
    const { reply, bytes } = await this.client.find((one) => one.subject === subject, `a request for ${subject}`);
    const [hub, number] = reply.split('.').slice(3);
    return { subject, hub, number, reply, text: bytes.toString() };
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
