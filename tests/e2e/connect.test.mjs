// `patchbay connect`: whoever can start a program is a client of the hub's. Its standard streams are compared with a
// direct connection, in both framings, against hubs of both. Then each end is played: the input's, the reader's, the
// hub's, a signal.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { scenario } from './hub.mjs';
import { assertError, LINES, Peer, within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const EVERYWHERE = { transports: ['tcp', 'unix', 'tcp-lines', 'unix-lines'] };
const ON_TCP = { transports: ['tcp'] };
const FRAMINGS = [undefined, 'content-length', 'lines'];

const running = new Set();
after(() => running.forEach((one) => one.kill('SIGKILL')));

// A peer whose wire is the program's standard streams.
class Joined extends Peer {
  stderr = '';

  constructor(uri, args = [], wire) {
    const child = spawn(program, ['--hub', uri, 'connect', ...args], { stdio: 'pipe' });
    running.add(child);
    child.stdin.on('error', () => {});
    child.stdout.on('error', () => {});
    const lines = args.includes('lines') || (uri.includes('-lines:') && !args.includes('content-length'));
    super(Duplex.from({ writable: child.stdin, readable: child.stdout }), wire ?? (lines ? LINES : undefined));
    this.process = child;
    child.stderr.setEncoding('utf8').on('data', (text) => (this.stderr += text));
    this.exit = new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        running.delete(child);
        resolve({ code, signal });
      });
    });
  }

  async ended(status) {
    const { code, signal } = await within(this.exit, 'patchbay connect to end');
    assert.deepEqual({ code, signal }, { code: status, signal: null }, `it said: ${this.stderr}`);
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error|Assertion/);
    if (status === 0) assert.equal(this.stderr, '');
    else assert.match(this.stderr, /^patchbay: [^\n]+\n$/);
    return this;
  }

  drop() {
    this.process.kill('SIGKILL');
    super.drop();
  }
}

function join(hub, args, uri = hub.uri()) {
  const joined = new Joined(uri, args);
  hub.peers.push(joined);
  return joined;
}

const framingArgs = (framing) => (framing ? ['--framing', framing] : []);

scenario('what is joined is a peer like any other, in either framing', EVERYWHERE, async (hub) => {
  const direct = await hub.agent('direct');
  for (const framing of FRAMINGS) {
    const joined = join(hub, framingArgs(framing));
    await joined.register('joined', { methods: ['work'] });
    direct.send({ jsonrpc: '2.0', id: 'd', method: 'work', params: { n: 1 } });
    const asked = await joined.next();
    assert.deepEqual(asked.json, { jsonrpc: '2.0', id: asked.json.id, method: 'work', params: { n: 1 } });
    joined.reply(asked.json.id, ['é', '\n', '\r\n']);
    assert.deepEqual((await direct.next()).json, { jsonrpc: '2.0', id: 'd', result: ['é', '\n', '\r\n'] });
    joined.send('{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"direct","x": 1.0}}');
    assert.equal((await direct.next()).text, '{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"direct","x": 1.0}}');
    joined.finish();
    await joined.ended(0);
  }
});

scenario('bodies of all sizes pass unchanged, many at a time, both ways', EVERYWHERE, async (hub) => {
  const direct = (await hub.agent('direct')).serve((request) => request.params.text);
  for (const framing of FRAMINGS) {
    const joined = join(hub, framingArgs(framing));
    const texts = [0, 1, 100, 4000, 65_400, 65_536, 70_000, 1_000_000].map((bytes) => 'é"\n'.repeat(bytes / 4));
    const answers = await Promise.all(texts.map((text) => joined.ask('echo', { targetAgent: 'direct', text })));
    answers.forEach(({ result }, at) => assert.equal(result, texts[at]));
    joined.finish();
    await joined.ended(0);
  }
});

scenario('header fields pass where both sides have them', { transports: ['tcp', 'unix'] }, async (hub) => {
  const direct = await hub.agent('direct');
  const joined = join(hub);
  joined.notify('n', { targetAgent: 'direct' }, 'X-Trace: 1');
  assert.deepEqual((await direct.next()).fields.slice(1), [['X-Trace', '1']]);
  const lines = join(hub, ['--framing', 'lines']);
  direct.notify('agent/request', { targetAgent: 'nobody' }, 'X-Trace: 2');
  await lines.register('lines');
  direct.notify('n', { targetAgent: 'lines', breaks: 1 }, 'X-Trace: 3');
  assert.deepEqual((await lines.next()).json.params, { targetAgent: 'lines', breaks: 1 });
  direct.send('{"jsonrpc":"2.0",\r\n"method":"n",\n"params":{"targetAgent":"lines"}}');
  assert.equal((await lines.next()).text, '{"jsonrpc":"2.0",  "method":"n", "params":{"targetAgent":"lines"}}');
});

scenario('in lines a CR before the line feed, blank lines and a last line without its end are as ever', ON_TCP, async (hub) => {
  const joined = join(hub, ['--framing', 'lines']);
  joined.write('\n  \r\n{"jsonrpc":"2.0","id":1,"method":"hub/ping"}\r\n{"jsonrpc":"2.0",');
  assert.equal((await joined.next()).text, '{"jsonrpc":"2.0","id":1,"result":null}');
  joined.write('"id":2,"method":"hub/ping"}');
  joined.finish();
  assert.equal((await joined.next()).text, '{"jsonrpc":"2.0","id":2,"result":null}');
  await joined.ended(0);
});

scenario('what comes in pieces is put together', { transports: ['tcp', 'tcp-lines'] }, async (hub) => {
  for (const framing of FRAMINGS) {
    const joined = join(hub, framingArgs(framing));
    for (const params of ['a', 'b'.repeat(300)]) {
      const bytes = joined.wire.write({ jsonrpc: '2.0', id: 1, method: 'hub/ping', params });
      for (const byte of bytes) await joined.write(Buffer.of(byte));
      assert.deepEqual((await joined.next()).json, { jsonrpc: '2.0', id: 1, result: params });
    }
    joined.finish();
    await joined.ended(0);
  }
});

scenario('--agent: what names no target goes to that agent', EVERYWHERE, async (hub) => {
  const server = await hub.agent('server');
  await hub.agent('other', { methods: ['initialize2', 'tools/list'] });
  for (const framing of FRAMINGS) {
    const joined = join(hub, ['--agent', 'server', ...framingArgs(framing)]);
    joined.send('{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"progressToken":0}}}');
    const asked = (await server.next()).json;
    assert.equal(asked.method, 'tools/list');
    server.notify('notifications/progress', { progressToken: asked.params._meta.progressToken, progress: 1 });
    assert.deepEqual((await joined.next()).json.params, { progressToken: 0, progress: 1 });
    joined.notify('notifications/cancelled', { requestId: 0 });
    assert.equal((await server.next()).json.params.requestId, asked.id);
    server.reply(asked.id, {});
    assert.deepEqual((await joined.next()).json, { jsonrpc: '2.0', id: 0, result: {} });
    assert.equal((await joined.ask('hub/ping', 1)).result, 1);
    joined.finish();
    await joined.ended(0);
  }
});

scenario('--agent: an agent that there is not is status 3 and one line', EVERYWHERE, async (hub) => {
  for (const [name, code] of [['nobody', -32010], ['no body', -32602]]) {
    const refused = join(hub, ['--agent', name]);
    await refused.ended(3);
    assert.ok(refused.stderr.includes(`'${name}'`) && refused.stderr.includes(String(code)), refused.stderr);
    assert.equal(refused.frames.length, 0);
  }
});

scenario('--agent: a session is opened where the hub wants one', { ...ON_TCP, options: ['--require-initialize', '--validate', 'strict'] }, async (hub) => {
  const server = await hub.peer();
  await server.ask('initialize', { processId: null, agentId: 'server', capabilities: {}, governanceLevel: 'manual' });
  await server.register('server', {}, { governanceLevel: 'manual' });
  const joined = join(hub, ['--agent', 'server']);
  joined.notify('n');
  assert.equal((await server.next()).json.method, 'n');
});

scenario("at the input's end what is still owed comes, and then the end", EVERYWHERE, async (hub) => {
  const server = await hub.agent('server');
  for (const framing of FRAMINGS) {
    const joined = join(hub, ['--agent', 'server', ...framingArgs(framing)]);
    const answers = [joined.find((one) => one.json.id === 'a'), joined.find((one) => one.json.id === 'b')];
    joined.send({ jsonrpc: '2.0', id: 'a', method: 'work' });
    joined.send({ jsonrpc: '2.0', id: 'b', method: 'work' });
    joined.finish();
    const asked = [(await server.next()).json.id, (await server.next()).json.id];
    server.reply(asked[0], 'first');
    assert.equal((await answers[0]).json.result, 'first');
    server.reply(asked[1], 'x'.repeat(500_000));
    assert.equal((await answers[1]).json.result.length, 500_000);
    await joined.ended(0);
  }
});

scenario('who is killed has left, before the input has ended and behind that', EVERYWHERE, async (hub) => {
  const server = await hub.agent('server');
  for (const [ended, framing] of [[false], [true], [true, 'lines']]) {
    const joined = join(hub, ['--agent', 'server', ...framingArgs(framing)]);
    joined.send({ jsonrpc: '2.0', id: 1, method: 'work' });
    const { id } = (await server.next()).json;
    if (ended) await joined.finish();
    if (ended) await new Promise((resolve) => setTimeout(resolve, 50)); // as it has been told by then, likely
    joined.drop();
    const told = (await server.next()).json;
    assert.deepEqual([told.method, told.params.id], ['$/cancelRequest', id]);
  }
});

scenario('an input that ends within a message ends it', ON_TCP, async (hub) => {
  await hub.agent('server');
  const joined = join(hub, ['--agent', 'server']);
  joined.write('Content-Length: 30\r\n\r\n{"jsonrpc":');
  joined.finish();
  await joined.ended(0);
});

scenario('a last line without its end is answered', { transports: ['tcp-lines'] }, async (hub) => {
  (await hub.agent('server')).serve(({ method }) => method);
  const joined = join(hub, ['--agent', 'server']);
  joined.write('{"jsonrpc":"2.0","id":1,"method":"work"}');
  joined.finish();
  assert.equal((await joined.next()).json.result, 'work');
  await joined.ended(0);
});

scenario('when nobody reads the output it ends at once, and what it asked is cancelled', { transports: ['tcp', 'unix'] }, async (hub) => {
  const server = await hub.agent('server');
  for (const ended of [false, true]) {
    const joined = join(hub, ['--agent', 'server']);
    joined.send({ jsonrpc: '2.0', id: 1, method: 'work' });
    const { id } = (await server.next()).json;
    if (ended) await joined.finish();
    joined.process.stdout.destroy();
    await joined.ended(0);
    const told = (await server.next()).json;
    assert.deepEqual([told.method, told.params.id], ['$/cancelRequest', id]);
  }
});

scenario('when the hub goes it ends: status 3 and one line, or none if that was what it asked for', { transports: ['tcp', 'unix'] }, async (hub) => {
  const asked = join(hub);
  await asked.ask('shutdown');
  asked.notify('exit');
  await asked.ended(0);
  const escaped = join(hub);
  await escaped.ask('hub/ping');
  escaped.send('{"jsonrpc":"2.0","method":"\\u0065xi\\u0074"}');
  await escaped.ended(0);
  const left = join(hub);
  await left.ask('hub/ping');
  hub.process.kill('SIGTERM');
  await left.ended(3);
  assert.match(left.stderr, /closed the connection/);
});

scenario('a signal ends it quietly', ON_TCP, async (hub) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const joined = join(hub);
    await joined.ask('hub/ping');
    joined.process.kill(signal);
    await joined.ended(0);
  }
});

scenario('what breaks its framing is told: by the hub, or here where it becomes another one', { transports: ['tcp-lines'] }, async (hub) => {
  const framed = join(hub, [], hub.uri('tcp'));
  framed.write('Content-Length: +2\r\n\r\n{}');
  assertError((await framed.next()).json, -32700);
  const become = join(hub, ['--framing', 'content-length']);
  become.write('Content-Length: +2\r\n\r\n{}');
  assert.match((await become.ended(3)).stderr, /standard input: Content-Length must be/);
  for (const cut of ['Content-Length: 9\r\n\r\n{}', 'Content-Length: 9\r\n']) {
    const short = join(hub, ['--framing', 'content-length']);
    short.write(cut);
    short.finish();
    assert.match((await short.ended(3)).stderr, /standard input: it ends in the middle of a frame/);
  }
});

scenario('it holds no more than a pipe does', ON_TCP, async (hub) => {
  const resident = (joined) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${joined.process.pid}/status`, 'latin1'))[1]);
  const direct = (await hub.agent('direct')).serve((request) => request.params.text.length);
  for (const framing of ['content-length', 'lines']) {
    const joined = join(hub, ['--framing', framing]);
    await joined.ask('echo', { targetAgent: 'direct', text: 'x' });
    const before = resident(joined);
    joined.socket.pause();
    const received = async () => (await direct.ask('hub/stats')).result.requests_received;
    const first = await received();
    for (let n = 0; n < 120; n++) joined.send({ jsonrpc: '2.0', id: n, method: 'hub/ping', params: 'y'.repeat(50_000) });
    for (let asked = 1; (await received()) < first + 120 + asked; asked++);
    assert.ok(joined.frames.length < 60, `${joined.frames.length} have been read`);
    joined.socket.resume();
    for (let n = 0; n < 120; n++) assert.equal((await joined.find((one) => one.json.id === n, `pong ${n}`)).json.result.length, 50_000);
    const grown = resident(joined) - before; // of the 6 MB that wait
    assert.ok(grown < 2048, `${grown} KiB more than before (${framing})`);
    joined.finish();
    await joined.ended(0);
  }
});

// --- Without a hub

const nowhere = (args) => new Joined('unix:///nonexistent/hub.sock', args);

test('no hub: status 3 and one line', async () => {
  for (const args of [[], ['--agent', 'a'], ['--framing', 'lines']]) {
    assert.match((await nowhere(args).ended(3)).stderr, /\/nonexistent\/hub\.sock: No such file/);
  }
});

test('arguments that mean nothing: status 2', async () => {
  for (const args of [['--framing', 'morse'], ['--agent'], ['--agent', ''], ['--what'], ['more']]) {
    const { code } = await nowhere(args).exit;
    assert.equal(code, 2, args.join(' '));
  }
  assert.equal((await new Joined('http://localhost').exit).code, 2);
});

// --- Started by others, on pipes

const shell = (script, uri) => within(promisify(execFile)('sh', ['-euc', script, 'sh', program, uri]), script);
const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}';
const PONG = '{"jsonrpc":"2.0","id":1,"result":null}';

scenario('a shell speaks to the hub in lines', { transports: ['tcp', 'tcp-lines'] }, async (hub) => {
  const { stdout } = await shell(`printf '%s\\n' '${PING}' | "$1" --hub "$2" connect --framing lines | cat`, hub.uri());
  assert.equal(stdout, `${PONG}\n`);
});

scenario('streams that are closed, files and nothing at all', ON_TCP, async (hub) => {
  assert.equal((await shell('"$1" --hub "$2" connect </dev/null', hub.uri())).stdout, '');
  assert.equal((await shell('"$1" --hub "$2" connect <&-', hub.uri())).stdout, '');
  assert.equal((await shell('"$1" --hub "$2" connect </dev/null >&- 2>&-', hub.uri())).stdout, '');
  const script = `in=$(mktemp); printf '%s\\n' '${PING}' >"$in"; "$1" --hub "$2" connect --framing lines <"$in" >"$in.out"; cat "$in.out"; rm "$in" "$in.out"`;
  assert.equal((await shell(script, hub.uri())).stdout, `${PONG}\n`);
});

scenario('a pipe without a reader ends it though its input goes on', ON_TCP, async (hub) => {
  const script = 'd=$(mktemp -d); mkfifo "$d/in"; exec 3<>"$d/in"; "$1" --hub "$2" connect <"$d/in" | true; rm -r "$d"';
  await shell(script, hub.uri());
});

scenario('what was said before the reader went arrives', { transports: ['tcp', 'unix'] }, async (hub) => {
  const direct = await hub.agent('direct');
  const said = '{"jsonrpc":"2.0","method":"n","params":{"targetAgent":"direct"}}';
  for (let n = 0; n < 20; n++) {
    await shell(`in=$(mktemp); printf '%s\\n' '${said}' >"$in"; "$1" --hub "$2" connect --framing lines <"$in" | true; rm "$in"`, hub.uri());
    assert.equal((await direct.next()).text, said);
  }
});

scenario('Python starts it as it would a server', { transports: ['tcp', 'unix'] }, async (hub) => {
  const server = (await hub.agent('server')).serve((request) => [request.method, request.params]);
  const script = `
import json, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for n in range(200):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": "work", "params": {"n": n}}) + "\\n")
for n in range(200):
    answer = json.loads(server.stdout.readline())
    assert answer == {"jsonrpc": "2.0", "id": n, "result": ["work", {"n": n}]}, answer
server.stdin.close()
assert server.stdout.read() == ""
assert server.wait() == 0
`;
  await within(promisify(execFile)('python3', ['-c', script, program, '--hub', hub.uri(), 'connect', '--agent', 'server', '--framing', 'lines']), 'Python');
});

scenario('an output that takes no more: status 3 and one line', { transports: ['tcp', 'tcp-lines'] }, async (hub) => {
  const script = `printf '%s\\n' '${PING}' | "$1" --hub "$2" connect --framing lines >/dev/full || exit $?`;
  await assert.rejects(shell(script, hub.uri()), ({ code, stderr }) => code === 3 && /^patchbay: connect: standard output: .*\n$/.test(stderr));
});
