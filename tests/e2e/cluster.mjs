// Real NATS servers, each on a port of its own, and hubs that are joined through them. Whatever a test does, its hubs end
// well, and no server outlives it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { after } from 'node:test';
import { Hub } from './hub.mjs';
import { scenarioTests } from './parallel.mjs';
import { within } from './peer.mjs';

const running = new Set();
after(() => running.forEach((one) => one.kill('SIGKILL')));

// A NATS server; its arguments are more than those for its address.
export class Broker {
  static async start(args = [], port = -1) {
    const broker = new Broker();
    broker.args = args;
    await broker.run(port);
    return broker;
  }

  // Starts the server. A line of its log names the port, and another says that the server is ready.
  async run(port) {
    const line = await this.#launch(port);
    assert.ok(line, `nats-server said: ${this.log}`);
    this.port = Number(line[1]);
  }

  async #launch(port) {
    const address = ['-a', '127.0.0.1', '-p', String(port)];
    const server = spawn('nats-server', [...address, ...this.args], { stdio: ['ignore', 'ignore', 'pipe'] });
    this.process = server;
    running.add(server);
    this.log = '';
    this.exit = new Promise((resolve, reject) => server.on('error', reject).on('close', () => {
      running.delete(server);
      resolve();
    }));
    const up = new Promise((resolve) => server.stderr.setEncoding('utf8').on('data', (text) => {
      this.log += text;
      if (this.log.includes('Server is ready')) resolve();
    }));
    await within(Promise.race([up, this.exit]), 'nats-server to be ready');
    return /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(this.log);
  }

  get uri() {
    return `nats://127.0.0.1:${this.port}`;
  }

  async kill(signal = 'SIGKILL') {
    this.process.kill(signal);
    await within(this.exit, 'nats-server to end');
  }

  // Starts the server at its former address. Another program may have the port for a moment: this waits until the port is
  // free. Nothing else listens there in the meantime, since a hub would count a link to any listener as an opened link.
  again() {
    return until('its port is free', async () => {
      const line = await this.#launch(this.port);
      assert.ok(line || this.log.includes('address already in use'), `nats-server said: ${this.log}`);
      return line;
    });
  }

  // Stops the server's process, whose sockets stay: each of its threads stands once this returns.
  freeze() {
    this.process.kill('SIGSTOP');
    const tasks = `/proc/${this.process.pid}/task`;
    const stands = (task) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'latin1'));
    while (!readdirSync(tasks).every(stands));
  }

  thaw() {
    this.process.kill('SIGCONT');
  }
}

// A client of a server that is no hub, with the protocol written by hand.
export class Client {
  #bytes = Buffer.alloc(0);
  #waiting = [];
  #sids = 0;
  messages = [];

  static async join(broker, options = {}) {
    const client = new Client();
    client.socket = net.connect(broker.port, '127.0.0.1');
    client.socket.on('data', (bytes) => client.#take(bytes)).on('error', () => {});
    const say = { verbose: false, headers: true, no_responders: true, echo: false, ...options };
    client.write(`CONNECT ${JSON.stringify(say)}\r\n`);
    await client.settled();
    return client;
  }

  write(text) {
    this.socket.write(text);
  }

  // Once the server has done what it was told.
  async settled() {
    this.write('PING\r\n');
    await this.find((one) => one.pong, 'a PONG');
  }

  #take(bytes) {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    for (let end; (end = this.#bytes.indexOf('\r\n')) >= 0;) {
      const words = this.#bytes.subarray(0, end).toString().split(' ');
      const headed = words[0] === 'HMSG';
      if (words[0] !== 'MSG' && !headed) {
        this.#bytes = this.#bytes.subarray(end + 2);
        if (words[0] === 'PING') this.write('PONG\r\n');
        if (words[0] === 'PONG') this.#arrived({ pong: true });
        if (words[0] === '-ERR') this.#arrived({ fault: words.slice(1).join(' ') });
        continue;
      }
      const count = Number(words.at(-1)), head = headed ? Number(words.at(-2)) : 0;
      if (this.#bytes.length < end + 4 + count) return;
      const body = this.#bytes.subarray(end + 2, end + 2 + count);
      this.#bytes = this.#bytes.subarray(end + 4 + count);
      const reply = words.length === (headed ? 6 : 5) ? words[3] : undefined;
      this.#arrived({
        subject: words[1], reply, head: body.subarray(0, head).toString('latin1'), text: body.subarray(head).toString(),
        bytes: body.subarray(head),
      });
    }
  }

  #arrived(one) {
    const at = this.#waiting.findIndex((waiter) => waiter.match(one));
    if (at < 0) this.messages.push(one);
    else this.#waiting.splice(at, 1)[0].resolve(one);
  }

  find(match, what) {
    const at = this.messages.findIndex(match);
    if (at >= 0) return Promise.resolve(this.messages.splice(at, 1)[0]);
    return within(new Promise((resolve) => this.#waiting.push({ match, resolve })), what);
  }

  message(what = 'a message') {
    return this.find((one) => one.subject, what);
  }

  subscribe(subject) {
    this.write(`SUB ${subject} ${++this.#sids}\r\n`);
    return this.settled();
  }

  publish(subject, body, reply = '', head = '') {
    const bytes = Buffer.byteLength(body);
    const counts = head ? `${Buffer.byteLength(head)} ${Buffer.byteLength(head) + bytes}` : bytes;
    const line = `${head ? 'HPUB' : 'PUB'} ${subject} ${reply ? `${reply} ` : ''}${counts}\r\n${head}`;
    this.write(Buffer.concat([Buffer.from(line), Buffer.from(body), Buffer.from('\r\n')]));
  }

  // Asks, and resolves to the first answers.
  async askAll(subject, body, count, head = '') {
    const inbox = `_INBOX.${Math.random().toString(36).slice(2)}`;
    await this.subscribe(inbox);
    this.publish(subject, body, inbox, head);
    const answers = Array.from({ length: count }, () => this.find((one) => one.subject === inbox, `an answer from ${subject}`));
    return Promise.all(answers);
  }

  // Asks, and resolves to the first answer.
  async ask(subject, body, head = '') {
    return (await this.askAll(subject, body, 1, head))[0];
  }

  drop() {
    this.socket.destroy();
  }
}

// Asks until what comes of it holds.
export async function until(what, holds) {
  const begun = Date.now();
  while (!(await holds())) {
    assert.ok(Date.now() - begun < 30_000, `waited for it that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// Whether a hub has a link to a server, as it says itself.
export async function linked(hub, wanted = 1) {
  const watch = await hub.peer();
  await until(wanted ? 'there is a link' : 'there is no link',
    async () => (await watch.ask('hub/stats')).result.cluster_link === wanted);
  watch.drop();
}

// `where`: one broker, or several in the order in which they are to be tried.
export function joining(where, name = 'test') {
  return ['--nats', [where].flat().map((one) => one.uri ?? one).join(','), '--cluster', name];
}

// Defines a test for each number of shards. `run` gets hubs that have a link, and their broker. Each entry of `hubs`
// has the options of one hub.
export function joined(name, how, run) {
  const { hubs = [[], []], broker: args = [], shards = [1, 2], cluster = 'test' } = how;
  scenarioTests(name, shards.map((count) => [`${name} (--shards ${count})`, async () => {
    const broker = await Broker.start(args);
    const failures = [], all = [];
    try {
      for (const options of hubs)
        all.push(await Hub.start([...joining(broker, cluster), '--shards', String(count), ...options]));
      await Promise.all(all.map((hub) => linked(hub)));
      await run(...all, broker);
    } catch (error) {
      failures.push(error);
    }
    for (const hub of all) if (!hub.over) await hub.stop().catch((error) => failures.push(error));
    await broker.kill();
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map((one) => one.stack).join('\n'));
  }]));
}
