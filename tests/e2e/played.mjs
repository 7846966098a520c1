// A client of the server's that plays another hub: it says only what it is told to say.
import { Client } from './cluster.mjs';

export const head = (hub, words = '') => `NATS/1.0\r\nPatchbay: ${hub}${words}\r\n\r\n`;
export const framed = (body, fields = '') => `Content-Length: ${Buffer.byteLength(body)}\r\n${fields}\r\n${body}`;
const hexadecimal = () => Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join('');

// The header block and the body of a frame.
export function unframed(text) {
  const end = text.indexOf('\r\n\r\n');
  return { fields: text.slice(0, end + 2), body: text.slice(end + 4) };
}

export class Played {
  static async join(broker, { cluster = 'test', realm = '1', number = 1, node = hexadecimal() } = {}) {
    const played = new Played();
    Object.assign(played, { node, realm, root: `patchbay.${cluster}`, hub: `${node}-${number}` });
    played.client = await Client.join(broker);
    await played.client.subscribe(`${played.root}.hub.${played.hub}.>`);
    return played;
  }

  // The next link of the same hub.
  async again(number) {
    this.hub = `${this.node}-${number}`;
    await this.client.subscribe(`${this.root}.hub.${this.hub}.>`);
  }

  publish(rest, payload = '', reply = '', words = '') {
    this.client.publish(`${this.root}.${rest}`, payload, reply, head(this.hub, words));
  }

  beat(more = {}) {
    const said = { protocol: 1, realm: this.realm, hub: this.hub, agents: 0, dropped: 0, ...more };
    this.publish('hubs.beat', JSON.stringify(said));
  }

  // Beats until the test's end, as hubs do.
  beats(more = {}) {
    this.beat(more);
    this.timer = setInterval(() => this.beat(more), 1000);
    this.timer.unref();
  }

  silence() {
    clearInterval(this.timer);
  }

  // Sends a message of hubs that has no frame.
  tell(hub, kind, json) {
    this.publish(`hub.${hub}.${kind}`, json === undefined ? '' : JSON.stringify(json));
  }

  ask(to, number, body, { words = '', fields = '' } = {}) {
    const message = { jsonrpc: '2.0', id: number, ...body };
    this.publish(`${this.realm}.${to}`, framed(JSON.stringify(message), fields), `${this.root}.hub.${this.hub}.answer.${number}`, words);
  }

  notify(to, body, { words = '', fields = '' } = {}) {
    this.publish(`${this.realm}.${to}`, framed(JSON.stringify({ jsonrpc: '2.0', ...body }), fields), '', words);
  }

  // A request that comes to it, under a subject that it has subscribed to.
  async request(to) {
    const subject = `${this.root}.${this.realm}.${to}`;
    const { reply, head: said, text } = await this.client.find((one) => one.subject === subject, `a request for ${to}`);
    const [, hub, , number] = /\.hub\.([^.]+)\.(answer)\.(\d+)$/.exec(reply);
    const { fields, body } = unframed(text);
    return { hub, number: Number(number), reply, said, fields, message: JSON.parse(body) };
  }

  answer(request, result, reply = request.reply) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: request.number, ...result });
    this.client.publish(reply, framed(body), '', head(this.hub));
  }

  // Returns the next message of this kind to this hub alone. The kind stands behind hub.HUB in the subject.
  async told(kind) {
    const subject = `${this.root}.hub.${this.hub}.${kind}`;
    return this.client.find((one) => one.subject === subject, kind);
  }

  async toldJson(kind) {
    return JSON.parse((await this.told(kind)).text);
  }

  async result(number) {
    return JSON.parse(unframed((await this.told(`answer.${number}`)).text).body);
  }

  drop() {
    this.silence();
    this.client.drop();
  }
}
