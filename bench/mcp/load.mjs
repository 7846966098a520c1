// Clients of one MCP server that call a tool, over HTTP with a session each, or in frames. Every answer must have the
// id and the text of its call. A client calls again once it is answered. With --rate all clients together begin so many
// calls a second, some each millisecond. A client that isn't answered yet leaves its turn out.
//
// usage: load.mjs URL CLIENTS SECONDS --warmup SECONDS --hub-pid PID [--arguments BYTES] [--rate CALLS] --json
//
// URL is http://HOST:PORT/PATH, or tcp://HOST:PORT/AGENT for frames. Prints the figures as `patchbay bench --json`
// does: `cpuUs` is the processor time that process PID took for a call. `idleBytes` is the memory of PID for a client
// with a session.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const OPENING = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } };
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { warmup: { type: 'string' }, 'hub-pid': { type: 'string', multiple: true }, arguments: { type: 'string', default: '256' }, rate: { type: 'string' }, json: { type: 'boolean' } },
});
const url = new URL(positionals[0]), [count, seconds] = positionals.slice(1).map(Number);
const rate = Number(values.rate ?? 0);
const payload = 'x'.repeat(Number(values.arguments));

// Nanoseconds of processor time that the processes' threads took.
function cpuNs() {
  return values['hub-pid'].flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/schedstat`))
    .reduce((sum, path) => sum + Number(readFileSync(path, 'utf8').split(' ')[0]), 0);
}
function memory(key) {
  return values['hub-pid'].reduce((sum, pid) => sum + 1024 * Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]), 0);
}

// A client over HTTP: one connection, one session.
class WebClient {
  agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  session = undefined;
  async post(message) {
    const body = JSON.stringify(message);
    const headers = {
      'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Content-Length': Buffer.byteLength(body),
      ...this.session && { 'Mcp-Session-Id': this.session, 'MCP-Protocol-Version': OPENING.protocolVersion },
    };
    const request = http.request({ host: url.hostname, port: url.port, path: url.pathname, method: 'POST', agent: this.agent, headers });
    request.end(body);
    const [response] = await once(request, 'response');
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += part;
    if (response.statusCode >= 300) throw new Error(`${response.statusCode}: ${text}`);
    this.session ??= response.headers['mcp-session-id'];
    if (!/^text\/event-stream/.test(response.headers['content-type'] ?? '')) return text && JSON.parse(text);
    const events = text.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
    return events.find(({ id }) => id === message.id);
  }
  async open() {
    const { result } = await this.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: OPENING });
    if (!result) throw new Error('no session');
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }
  ask(message) {
    return this.post(message);
  }
  close() {
    this.agent.destroy();
  }
}

// A client in frames, which is attached to the agent of the URL's path.
class FramedClient {
  got = Buffer.alloc(0);
  waiting = new Map();
  async open() {
    this.socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    await once(this.socket, 'connect');
    this.socket.on('data', (bytes) => this.take(bytes));
    await this.ask({ jsonrpc: '2.0', id: 'attach', method: 'hub/attach', params: { agent: url.pathname.slice(1) } });
    await this.ask({ jsonrpc: '2.0', id: 'open', method: 'initialize', params: OPENING });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }
  send(message) {
    const body = JSON.stringify(message);
    this.socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }
  ask(message) {
    this.send(message);
    return new Promise((resolve) => this.waiting.set(message.id, resolve));
  }
  take(bytes) {
    this.got = this.got.length ? Buffer.concat([this.got, bytes]) : bytes;
    for (;;) {
      const end = this.got.indexOf('\r\n\r\n');
      if (end < 0) return;
      const start = end + 4, length = Number(/Content-Length: (\d+)/.exec(this.got.toString('latin1', 0, end))[1]);
      if (this.got.length < start + length) return;
      const message = JSON.parse(this.got.toString('utf8', start, start + length));
      this.got = this.got.subarray(start + length);
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    }
  }
  close() {
    this.socket.destroy();
  }
}

let measuring = false, stopping = false;
const latencies = [];

// The turns of all clients, one after the other: resolves the client whose turn it is.
const turns = clientsTurns();
function clientsTurns() {
  const waiting = Array(count).fill(null), begin = performance.now();
  let turn = 0;
  const timer = rate && setInterval(() => {
    for (const due = (performance.now() - begin) * rate / 1000; turn < due; turn++) {
      waiting[turn % count]?.();
      waiting[turn % count] = null;
    }
  }, 1);
  return {
    wait: (n) => rate ? new Promise((resolve) => (waiting[n] = resolve)) : undefined,
    end() {
      clearInterval(timer);
      for (const resolve of waiting) resolve?.();
    },
  };
}

async function loop(client, n) {
  for (let call = 0; !stopping; call++) { // a call that is answered after the last turn must not wait for one
    await turns.wait(n);
    if (stopping) return;
    const id = `${n}-${call}`, text = `${id} ${payload}`, before = process.hrtime.bigint();
    const { result, error } = await client.ask({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text } } });
    if (error || result?.content?.[0]?.text !== text) throw new Error(`wrong: call ${id} got ${JSON.stringify(error ?? result)}`);
    if (measuring) latencies.push(Number(process.hrtime.bigint() - before) / 1000);
  }
}

const before = memory('RssAnon');
const clients = Array.from({ length: count }, () => url.protocol === 'http:' ? new WebClient() : new FramedClient());
for (const client of clients) await client.open();
const loops = Promise.all(clients.map(loop));
await Promise.race([loops, pause(Number(values.warmup) * 1000)]);
measuring = true;
const [cpu, own, since] = [cpuNs(), process.cpuUsage(), performance.now()];
await Promise.race([loops, pause(seconds * 1000)]);
const [spent, ms, loadUs] = [cpuNs() - cpu, performance.now() - since, process.cpuUsage(own)];
const calls = latencies.length;
stopping = true;
turns.end();
await loops;
const sorted = latencies.slice(0, calls).sort((a, b) => a - b), at = (part) => sorted[Math.min(calls - 1, Math.floor(part * calls))];
process.stdout.write(`${JSON.stringify({
  messagesPerSecond: Math.round(calls / ms * 1000), cpuUs: spent / 1000 / calls, residentBytes: memory('VmRSS'),
  idleBytes: Math.max(0, memory('RssAnon') - before) / count,
  latencyUs: { p50: at(0.5), p90: at(0.9), p99: at(0.99), 'p99.9': at(0.999) }, generatorCpuPercent: (loadUs.user + loadUs.system) / ms / 10,
})}\n`);
for (const client of clients) client.close();
