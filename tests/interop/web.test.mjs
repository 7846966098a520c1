// Clients of HTTP, WebSocket and SSE that we did not write: ws, undici (the fetch and WebSocket of Node itself),
// eventsource, Python's http.client, curl.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { web } from '../e2e/web.mjs';
import { within } from '../e2e/peer.mjs';

const missing = (error) => {
  throw new Error(`tools/setup test installs what is missing here: ${error.message}`);
};
const { WebSocket: Ws } = await import('ws').catch(missing);
const undici = await import('undici').catch(missing);
const { EventSource } = await import('eventsource').catch(missing);

const EVERYWHERE = { shards: [1, 2] };
const WEB = { 'Content-Type': 'application/json' };
const call = (id, method, params) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
const origin = (hub) => hub.uri('http').replace(/\/$/, '');

// A program's exit status and output, given what it reads.
async function run(program, args, input = '') {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const [out, err] = [[], []];
  child.stdout.on('data', (part) => out.push(part));
  child.stderr.on('data', (part) => err.push(part));
  child.stdin.on('error', () => {}).end(input);
  const [status] = await within(once(child, 'close'), `${program} ${args.join(' ')} to end`);
  return { status, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

async function curl(...args) {
  const { status, out, err } = await run('curl', ['--silent', '--show-error', '--max-time', '20', ...args]);
  assert.equal(status, 0, err);
  return out;
}

// --- WebSocket

// The kinds of clients, each behind the few functions that the tests call.
const clients = {
  ws: (url, protocols) => {
    const socket = new Ws(url, protocols);
    return { socket, ready: once(socket, 'open'), onMessage: (take) => socket.on('message', (data) => take(data.toString())), closed: once(socket, 'close').then(([code]) => code) };
  },
  undici: (url, protocols) => {
    const socket = new undici.WebSocket(url, protocols ?? []);
    return { socket, ready: new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; }),
      onMessage: (take) => { socket.onmessage = ({ data }) => take(data); }, closed: new Promise((resolve) => { socket.onclose = ({ code }) => resolve(code); }) };
  },
};

async function connect(kind, hub, protocols) {
  const peer = clients[kind](origin(hub).replace('http', 'ws') + '/ws', protocols);
  await within(peer.ready, `${kind} to open`);
  const waiting = new Map();
  let count = 0;
  peer.ask = (method, params) => {
    const id = `${kind}-${++count}`;
    peer.socket.send(call(id, method, params));
    return within(new Promise((resolve) => waiting.set(id, resolve)), `the answer to ${method}`);
  };
  peer.onMessage((text) => {
    const message = JSON.parse(text);
    if (message.method && 'id' in message) peer.socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: peer.serve(message.params) }));
    else if (waiting.has(message.id)) waiting.get(message.id)(message);
    else peer.heard?.(message, text);
  });
  hub.peers.push({ drop: () => (peer.socket.terminate ? peer.socket.terminate() : peer.socket.close()) });
  return peer;
}

for (const kind of Object.keys(clients)) {
  web(`${kind}: an agent, a source, events, large messages, the close`, EVERYWHERE, async (hub) => {
    const agent = await connect(kind, hub);
    agent.serve = ({ text }) => text;
    assert.deepEqual((await agent.ask('agent/register', { agentId: 'a', capabilities: { methods: ['echo'] } })).result, { agentId: 'a', registered: true });
    const source = await connect(kind, hub, ['hugai.v2']);
    assert.equal(source.socket.protocol, 'hugai.v2');
    for (const size of [1, 126, 65_536, 3_000_000]) {
      const text = 'é'.repeat(size);
      assert.equal((await source.ask('echo', { text })).result, text);
    }
    await source.ask('hub/subscribe', { events: ['*'] });
    const heard = new Promise((resolve) => { source.heard = resolve; });
    assert.deepEqual((await agent.ask('event', { event: 'e', n: 1 })).result, { delivered: 1 });
    assert.deepEqual((await within(heard, 'the event')).params, { event: 'e', n: 1 });
    source.socket.close(1000, 'bye');
    assert.equal(await within(source.closed, 'the close'), 1000);
    hub.process.kill('SIGTERM');
    assert.equal(await within(agent.closed, 'the end of the hub'), 1001);
  });
}

web('ws: fragments with pings between them, and a ping', EVERYWHERE, async (hub) => {
  const peer = await connect('ws', hub);
  const pong = once(peer.socket, 'pong');
  peer.socket.ping('payload');
  assert.equal(String((await within(pong, 'a pong'))[0]), 'payload');
  const body = call('parts', 'hub/ping', 'é'.repeat(1000));
  const answer = new Promise((resolve) => { peer.heard = resolve; });
  for (let at = 0; at < body.length; at += 100) {
    peer.socket.send(body.slice(at, at + 100), { fin: at + 100 >= body.length });
    if (at % 300 === 0) peer.socket.ping(`p${at}`);
  }
  assert.equal((await within(answer, 'the answer')).result, 'é'.repeat(1000));
  peer.socket.send(Buffer.from('x'), { binary: true });
  assert.equal(await within(peer.closed, 'the close'), 1003);
});

// --- HTTP

web('undici: fetch, pipelined requests, and one that is aborted', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const url = `${origin(hub)}/rpc`;
  const answer = await undici.fetch(url, { method: 'POST', headers: WEB, body: call(1, 'hub/ping', [1]) });
  assert.deepEqual(await answer.json(), { jsonrpc: '2.0', id: 1, result: [1] });
  // From a stream: chunked.
  const streamed = await undici.fetch(url, { method: 'POST', headers: WEB, duplex: 'half', body: new Blob([call(2, 'hub/ping', 'x'.repeat(200_000))]).stream() });
  assert.equal((await streamed.json()).result.length, 200_000);
  const client = new undici.Client(origin(hub), { pipelining: 20 });
  target.serve(({ params }) => params.n);
  const answers = await within(Promise.all(Array.from({ length: 100 }, async (_, n) => {
    const { body } = await client.request({ path: '/rpc', method: 'POST', headers: WEB, idempotent: true, blocking: false, body: call(n, 'm', { targetAgent: 'target', n }) });
    return (await body.json()).result;
  })), '100 answers');
  assert.deepEqual(answers, Array.from({ length: 100 }, (_, n) => n));
  target.answers = null;
  const abort = new AbortController();
  const aborted = undici.fetch(url, { method: 'POST', headers: WEB, body: call(3, 'm', { targetAgent: 'target' }), signal: abort.signal }).catch((error) => error.name);
  const { id } = (await target.next()).json;
  abort.abort();
  assert.equal(await aborted, 'AbortError');
  assert.deepEqual((await target.next('the cancel')).json.params, { id });
  await client.destroy();
  await undici.getGlobalDispatcher().destroy();
  undici.setGlobalDispatcher(new undici.Agent());
});

web('curl: /rpc, statuses, chunks, Expect, keep-alive, HTTP/1.0', EVERYWHERE, async (hub) => {
  const target = (await hub.agent('target')).serve(({ params }) => params.text?.length ?? params);
  const url = `${origin(hub)}/rpc`;
  const json = ['--header', 'Content-Type: application/json', '--write-out', '\n%{http_code} %{http_version} %{num_connects}'];
  const body = call(1, 'm', { targetAgent: 'target' });
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"targetAgent":"target"}}';
  assert.equal(await curl(url, ...json, '--data', body), `${answer}\n200 1.1 1`);
  assert.equal(await curl(url, ...json, '--http1.0', '--data', body), `${answer}\n200 1.1 1`);
  assert.equal(await curl(url, ...json, '--header', 'Transfer-Encoding: chunked', '--data', body), `${answer}\n200 1.1 1`);
  assert.equal(await curl(url, ...json, '--header', 'Connection: close', '--data', body), `${answer}\n200 1.1 1`);
  assert.equal(await curl(...json, '--data', body, url, url), `${answer}\n200 1.1 1${answer}\n200 1.1 0`);
  assert.equal(await curl(url, ...json, '--data', '{"jsonrpc":"2.0","method":"n"}'), '\n202 1.1 1');
  assert.match(await curl(url, ...json, '--data', '{'), /"code":-32700.*\n400 1\.1 1$/s);
  assert.match(await curl(url, ...json.slice(2), '--data', body), /\n415 1\.1 1$/);
  const large = call(2, 'm', { targetAgent: 'target', text: 'x'.repeat(2_000_000) });
  const { status, out } = await run('curl', ['--silent', '--max-time', '20', ...json, '--header', 'Expect: 100-continue', '--expect100-timeout', '15', '--data-binary', '@-', url], large);
  assert.deepEqual([status, out], [0, '{"jsonrpc":"2.0","id":2,"result":2000000}\n200 1.1 1']);
  assert.match(await curl('--include', '--head', `${origin(hub)}/healthz`), /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(await curl('--no-buffer', `${origin(hub)}/events`, '--include'), /^HTTP\/1\.1 400 /);
  await target.silent('curl');
});

web("Python's http.client, on one connection", EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve(({ params }) => params.n);
  const script = `
import http.client, json, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
def rpc(body, **more):
    c.request("POST", "/rpc", body, {"Content-Type": "application/json", "Request-Id": "r"}, **more)
    r = c.getresponse()
    return r.status, r.read()
for n in range(20):
    status, body = rpc(json.dumps({"jsonrpc": "2.0", "id": n, "method": "m", "params": {"targetAgent": "target", "n": n}}))
    assert status == 200 and json.loads(body) == {"jsonrpc": "2.0", "id": n, "result": n}, (status, body)
s = c.sock
status, body = rpc(iter([b'{"jsonrpc":"2.0","id":1,', b'"method":"hub/ping"}']), encode_chunked=True)
assert (status, json.loads(body)["result"]) == (200, None)
assert rpc('{"jsonrpc":"2.0","method":"n"}') == (202, b"")
assert rpc('[{"jsonrpc":"2.0","method":"n"}]') == (202, b"")
assert rpc("{")[0] == 400
c.request("HEAD", "/"); r = c.getresponse(); assert (r.status, r.read()) == (200, b"")
c.request("GET", "/nothing"); r = c.getresponse(); assert r.status == 404; r.read()
assert c.sock is s
print("good")
`;
  const { out, err } = await run('python3', ['-c', script, new URL(origin(hub)).port]);
  assert.equal(out, 'good\n', err);
});

// --- SSE

web('eventsource: events of a pattern, line breaks, and a hub that ends', EVERYWHERE, async (hub) => {
  const stream = new EventSource(`${origin(hub)}/events?pattern=build-*&pattern=x`, { fetch: undici.fetch });
  hub.peers.push({ drop: () => stream.close() });
  const heard = [];
  let wake;
  stream.onmessage = ({ data }) => {
    heard.push(data);
    wake?.();
  };
  await within(new Promise((resolve) => { stream.onopen = resolve; }), 'the stream to open');
  const source = await hub.peer();
  const bodies = ['{"jsonrpc":"2.0",\n"method":"event","params":{"event":"build-1"}}', '{"jsonrpc":"2.0",\r\n\r"method":"event","params":{"event":"x"}}',
    `{"jsonrpc":"2.0","method":"event","params":{"event":"build-2","text":"${'é☃'.repeat(50_000)}"}}`];
  source.notify('event', { event: 'other' });
  for (const body of bodies) source.send(body);
  while (heard.length < bodies.length) await within(new Promise((resolve) => { wake = resolve; }), 'events');
  assert.deepEqual(heard, bodies.map((body) => body.replace(/\r\n|\r/g, '\n')));
  stream.close();
});

// --- All of them

web('an agent in frames answers curl, a WebSocket, lines and a Unix socket: the same bytes',
  { ...EVERYWHERE, options: ['--listen', 'tcp-lines://127.0.0.1:0'] }, async (hub) => {
    const agent = await hub.agent('agent', { methods: ['work'] });
    const body = '{"jsonrpc":"2.0","id":"é1","method":"work","params":{"n":1.50,"list":[ 1,\\t2 ]}}'.replace('\\t', '\t');
    const answerTo = (id) => `{"jsonrpc":"2.0", "result":{"x":[1e2,"\\u00e9é☃"],"y" : 0.10},"id":${id}}`;
    const expected = answerTo('"é1"');
    const asked = [];
    const asks = async (ask) => {
      const answer = ask();
      const one = await agent.next('what is asked');
      asked.push(one.text.replace(`"id":${one.json.id},`, '"id":ID,'));
      agent.send(answerTo(one.json.id));
      return answer;
    };
    assert.equal(await asks(() => curl(`${origin(hub)}/rpc`, '--header', 'Content-Type: application/json', '--data-binary', body)), expected);
    for (const transport of ['websocket', 'tcp-lines', 'unix', 'tcp']) {
      const peer = await hub.peer(transport);
      assert.equal(await asks(async () => {
        peer.send(body);
        return (await peer.next()).text;
      }), expected, transport);
    }
    const ws = await connect('ws', hub);
    assert.equal(await asks(() => new Promise((resolve) => {
      ws.heard = (_, text) => resolve(text);
      ws.socket.send(body);
    })), expected);
    assert.deepEqual(asked, asked.map(() => body.replace('"é1"', 'ID')));
  });
