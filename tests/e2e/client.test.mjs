// The client `patchbay` (its path is in the environment, PATCHBAY) against a real hub: what it prints, and its exit
// status. Status 0: done; 1: an error answer; 2: bad usage; 3: no hub.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { scenario } from './hub.mjs';
import { listen } from './listeners.mjs';
import { frame, within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const FRAMED = { shards: [1, 2] };
const EVERYWHERE = { ...FRAMED, transports: ['tcp', 'unix', 'tcp-lines', 'unix-lines', 'ws'], options: ['--http', '127.0.0.1:0'] };
const ON_TCP = { transports: ['tcp'] };

const running = new Set();
after(() => running.forEach((one) => one.kill('SIGKILL')));

// A client that runs. `stdin` is what it can read there.
class Client {
  stdout = '';
  stderr = '';
  #watchers = [];

  constructor(uri, args, stdin = '') {
    this.args = args;
    this.process = spawn(program, ['--hub', uri, ...args], { stdio: 'pipe' });
    running.add(this.process);
    for (const name of ['stdout', 'stderr']) {
      this.process[name].setEncoding('utf8').on('data', (text) => {
        this[name] += text;
        this.#watchers.forEach((look) => look());
      });
    }
    this.process.stdin.on('error', () => {}); // it may end without reading
    this.process.stdin.end(stdin);
    this.exit = new Promise((resolve, reject) => {
      this.process.on('error', reject);
      this.process.on('close', (code, signal) => {
        running.delete(this.process);
        resolve({ code, signal });
      });
    });
  }

  // Waits until it has printed what matches.
  async printed(pattern, name = 'stdout') {
    const seen = new Promise((resolve) => {
      const look = () => pattern.test(this[name]) && resolve();
      this.#watchers.push(look);
      look();
    });
    await within(Promise.race([seen, this.exit]), `${this.args.join(' ')} to print ${pattern}`);
    assert.match(this[name], pattern, `stderr: ${this.stderr}`);
  }

  // Waits for its end; asserts the status and gives what it printed.
  async ended(status) {
    const { code, signal } = await within(this.exit, `${this.args.join(' ')} to end`);
    assert.deepEqual({ code, signal }, { code: status, signal: null }, `${this.args.join(' ')} said: ${this.stderr}`);
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error|Assertion/);
    return this;
  }
}

const start = (hub, args, stdin) => new Client(hub.uri(), args, stdin);
const run = (hub, args, status, stdin) => start(hub, args, stdin).ended(status);

async function inDirectory(use) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-client-'));
  try {
    await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// Wants the client to find the fault by itself: it writes no output and makes no connection.
async function refusesArguments(args, pattern, stdin) {
  const nowhere = new Client('unix:///nonexistent/hub.sock', args, stdin);
  await nowhere.ended(2);
  assert.equal(nowhere.stdout, '', args.join(' '));
  assert.match(nowhere.stderr, pattern, args.join(' '));
}

scenario('send: the result is one line, as it came', EVERYWHERE, async (hub) => {
  const target = await (await hub.peer(hub.transport === 'ws' ? 'tcp' : hub.transport.replace('-lines', ''))).register('target');
  const client = start(hub, ['send', 'target', 'a "task"', '--context', '{"n": [1,2] }', '--source', 'me', '--priority', 'high']);
  const seen = await target.next();
  assert.deepEqual({ ...seen.json, id: 0 }, {
    jsonrpc: '2.0', id: 0, method: 'agent/request',
    params: { targetAgent: 'target', sourceAgent: 'me', task: 'a "task"', priority: 'high', context: { n: [1, 2] } },
  });
  assert.ok(seen.text.includes('{"n": [1,2] }'), seen.text);
  assert.equal(seen.fields.length, 1);
  target.send(`{"jsonrpc":"2.0","id":${seen.json.id},"result":{"a":\n"b" ,\t"c":1.50}}`);
  const { stdout, stderr } = await client.ended(0);
  assert.equal(stdout, '{"a": "b" , "c":1.50}\n');
  assert.equal(stderr, '');
});

scenario('send: without options the params hold what was given and no more', ON_TCP, async (hub) => {
  const target = (await hub.agent('target')).serve((request) => request.params);
  assert.equal((await run(hub, ['send', 'target', 'hello'], 0)).stdout, '{"targetAgent":"target","task":"hello"}\n');
  target.drop();
});

scenario('send: an error answer goes to standard error with its code, message and data; status 1', EVERYWHERE, async (hub) => {
  const unknown = await run(hub, ['send', 'nobody', 'hello'], 1);
  assert.equal(unknown.stdout, '');
  assert.deepEqual(JSON.parse(unknown.stderr), { code: -32010, message: 'agent not found', data: { agent: 'nobody' } });
  const target = await hub.agent('target');
  const client = start(hub, ['send', 'target', 'hello']);
  const { id } = (await target.next()).json;
  target.send(`{"jsonrpc":"2.0","id":${id},"error":{"code":7,"message":"no","data":["why"]}}`);
  assert.equal((await client.ended(1)).stderr, '{"code":7,"message":"no","data":["why"]}\n');
});

scenario('send: header fields and the timeout reach the target, --method is the method', FRAMED, async (hub) => {
  const target = await hub.agent('target', {}, { governanceLevel: 'manual' });
  const client = start(hub, ['send', 'target', 'x', '--header', 'Custom-Trace:  a b', '--header', 'governance-level: supervised',
    '--timeout', '2m', '--method', 'tests/run']);
  const seen = await target.next();
  assert.deepEqual(seen.fields.slice(1), [['Custom-Trace', 'a b'], ['governance-level', 'supervised'], ['Custom-Timeout-Ms', '120000']]);
  assert.equal(seen.json.method, 'tests/run');
  target.reply(seen.json.id);
  assert.equal((await client.ended(0)).stdout, 'null\n');
  const refused = await run(hub, ['send', 'target', 'x', '--header', 'HugAI-Version: 3'], 1);
  assert.equal(JSON.parse(refused.stderr).code, -32056);
});

scenario('send: a request that times out is told by the hub', FRAMED, async (hub) => {
  await hub.agent('target');
  const client = await run(hub, ['send', 'target', 'x', '--timeout', '50ms'], 1);
  assert.equal(JSON.parse(client.stderr).code, -32051);
});

test('send: a hub that never answers is given up, soon after the timeout', async () => {
  const silent = net.createServer((socket) => socket.resume());
  await listen(silent);
  const client = new Client(`tcp://127.0.0.1:${silent.address().port}`, ['send', 'target', 'x', '--timeout', '50ms']);
  assert.match((await client.ended(3)).stderr, /does not answer/);
  silent.close();
});

scenario('send: the context from a file and from standard input', ON_TCP, async (hub) => inDirectory(async (directory) => {
  (await hub.agent('target')).serve((request) => request.params.context);
  const file = join(directory, 'context.json');
  const large = { text: 'é'.repeat(200_000) };
  writeFileSync(file, `\n${JSON.stringify(large, null, 1)}\n`);
  const fromFile = await run(hub, ['send', 'target', 'x', '--context', `@${file}`], 0);
  assert.deepEqual(JSON.parse(fromFile.stdout), large);
  const fromInput = await run(hub, ['send', 'target', 'x', '--context', '-'], 0, '[1,\r\n2]');
  assert.equal(fromInput.stdout, '[1,2]\n');
}));

scenario('send: what is too large for the hub is told by the hub', { ...ON_TCP, options: ['--max-frame', '64K'] }, async (hub) => {
  for (const count of [70_000, 20_000_000]) {
    const refused = await run(hub, ['send', 'target', 'x', '--context', '-'], 1, JSON.stringify('x'.repeat(count)));
    assert.equal(JSON.parse(refused.stderr).code, -32055);
  }
});

test('send: a hub that closes while it is being sent to may have said why', () => inDirectory(async (directory) => {
  const refusal = frame('{"jsonrpc":"2.0","id":null,"error":{"code":-32055,"message":"frame too large"}}');
  const other = net.createServer((socket) => socket.pause().on('error', () => {}).write(refusal, () => socket.destroy()));
  await listen(other, join(directory, 'hub.sock'));
  const text = JSON.stringify('x'.repeat(20_000_000));
  const client = new Client(`unix://${directory}/hub.sock`, ['send', 'a', 'b', '--context', '-'], text);
  assert.equal(JSON.parse((await client.ended(1)).stderr).code, -32055);
  other.close();
}));

test('send: what is no JSON is not sent; status 2', () => inDirectory(async (directory) => {
  const file = join(directory, 'bad.json');
  writeFileSync(file, '{"a":1,}');
  const json = /must be valid JSON/;
  for (const text of ['{', 'hello', '', '{"a":1} 2', '[01]', '"\\x"', "{'a':1}"]) {
    await refusesArguments(['send', 'target', 'x', '--context', text], json);
  }
  await refusesArguments(['send', 'target', 'x', '--context', `@${file}`], json);
  await refusesArguments(['send', 'target', 'x', '--context', '-'], json, '{"a":tru}');
  await refusesArguments(['send', 'target', 'x', '--context', '-'], json, Buffer.from([0x22, 0xff, 0x22]));
  await refusesArguments(['send', 'target', 'x', '--context', `@${file}.none`], /No such file/);
  await refusesArguments(['send', 'target', 'x', '--context', `@${directory}`], /directory/);
}));

test('send: header fields that the hub would refuse are not sent; status 2', async () => {
  const field = (...lines) => ['send', 'target', 'x', ...lines.flatMap((line) => ['--header', line])];
  for (const line of ['no colon', ': no name', 'A B: c', 'A : b', 'A: \x01', 'Ä: b']) {
    await refusesArguments(field(line), /--header '/);
  }
  await refusesArguments(field('content-length: 5'), /may occur once/);
  await refusesArguments(field('HugAI-Version: 2.0.0', 'hugai-version: 2.0.0'), /may occur once/);
  await refusesArguments([...field('Custom-Timeout-Ms: 5'), '--timeout', '5ms'], /may occur once/);
  await refusesArguments(field('Content-Type: text/plain; charset=latin1'), /charset/);
  for (const line of ['', 'A: b\r\nC: d', 'A: b\n', 'A: b\r\n\r\n{}']) await refusesArguments(field(line), /one line/);
});

test('arguments that mean nothing: status 2 and how it is used', async () => {
  for (const args of [[], ['unknown'], ['send'], ['send', 'target'], ['send', 'a', 'b', 'c'], ['send', 'a', 'b', '--unknown'],
    ['send', 'a', 'b', '--context'], ['events', '--count', '0'], ['events', '--count', 'x'], ['events', '--none'], ['publish'],
    ['publish', 'a', '1', '2'], ['echo'], ['echo', 'a', 'b'], ['agents', 'x'], ['stats', '--yaml']]) {
    await refusesArguments(args, /^usage: patchbay/m);
  }
  for (const time of ['5', '0ms', '2h', '-1s', 'x']) await refusesArguments(['send', 'a', 'b', '--timeout', time], /from 1ms to 1h/);
  await refusesArguments(['send', 'a', 'b', '--priority', 'urgent'], /low, medium, high or critical/);
  for (const uri of ['', 'http://127.0.0.1:1', 'tcp://127.0.0.1', 'tcp://127.0.0.1:99999', 'unix://relative']) {
    assert.match((await new Client(uri, ['agents']).ended(2)).stderr, /no address of a hub/, uri);
  }
});

scenario('--framing lines: as the hub\'s URI may say itself', { transports: ['tcp-lines', 'unix-lines'] }, async (hub) => {
  const uri = hub.uri();
  for (const given of [uri, uri.replace('-lines', '')]) {
    const echo = new Client(given, ['--framing', 'lines', 'echo', 'parrot']);
    await echo.printed(/registered at (tcp|unix)-lines:/, 'stderr');
    const sent = await new Client(given, ['--framing', 'lines', 'send', 'parrot', 'x', '--context', '[1,\r\n2]']).ended(0);
    assert.equal(sent.stdout, '{"echo":{"targetAgent":"parrot","task":"x","context":[1,  2]}}\n');
    echo.process.kill('SIGINT');
    await echo.ended(0);
  }
  const framed = hub.uri(hub.transport.replace('-lines', ''));
  for (const args of [['stats'], ['--framing', 'content-length', 'stats']]) await new Client(framed, args).ended(0);
});

test('--framing: what contradicts the URI, or can\'t go with a line, is not sent; status 2', async () => {
  const lines = 'tcp-lines://127.0.0.1:1';
  for (const [uri, args, pattern] of [
    [lines, ['--framing', 'content-length', 'stats'], /--framing content-length: tcp-lines:.* says otherwise/],
    ['tcp-other://127.0.0.1:1', ['--framing', 'lines', 'stats'], /--framing lines: tcp-other:.* says otherwise/],
    ['tcp-other://127.0.0.1:1', ['stats'], /no address of a hub/],
    [lines, ['--framing', 'line', 'stats'], /must be lines or content-length/],
    [lines, ['send', 'a', 'b', '--header', 'A: b'], /no header fields/],
    [lines, ['send', 'a', 'b', '--timeout', '5s'], /no timeout/],
    [lines, ['publish', 'e', '--header', 'A: b'], /no header fields/],
    ['nothing', ['--framing', 'lines', 'stats'], /no address of a hub/],
  ]) {
    assert.match((await new Client(uri, args).ended(2)).stderr, pattern, args.join(' '));
  }
});

test('a hub that sends blank lines, and one that ends in a line', async () => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"n":1}}';
  for (const [bytes, status] of [[`\n \t\r\n${answer}\r\n`, 0], [answer, 3], ['\n', 3]]) {
    const other = net.createServer((socket) => socket.once('data', () => socket.end(bytes)).on('error', () => {}));
    await listen(other);
    const client = await new Client(`tcp-lines://127.0.0.1:${other.address().port}`, ['stats']).ended(status);
    assert.equal(client.stdout, status === 0 ? 'n 1\n' : '');
    other.close();
  }
});

test('a hub whose answer has no counters, or no agents', async () => {
  for (const result of ['1', '[]', '"text"', 'null']) {
    const bytes = frame(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
    const other = net.createServer((socket) => socket.once('data', () => socket.end(bytes)).on('error', () => {}));
    await listen(other);
    const address = `tcp://127.0.0.1:${other.address().port}`;
    assert.equal((await new Client(address, ['stats']).ended(0)).stdout, '', result);
    assert.match((await new Client(address, ['agents']).ended(0)).stdout, /^AGENT .*\n$/, result);
    other.close();
  }
});

test('every command has a help text', async () => {
  const all = await new Client('-', ['--help']).ended(0);
  const names = [...all.stdout.matchAll(/^  ([a-z]+) {2,}/gm)].map((line) => line[1]);
  for (const name of ['send', 'echo', 'events', 'publish', 'agents', 'stats', 'bench']) assert.ok(names.includes(name), all.stdout);
  for (const name of names) {
    const one = await new Client('-', [name, '--help']).ended(0);
    assert.match(one.stdout, new RegExp(`^usage: patchbay .* ${name}`));
    assert.match(one.stdout, /exit status: 0/);
    assert.equal(one.stderr, '');
  }
});

test('an unknown option is refused beside --help and --version, too', async () => {
  for (const args of [['--version', '--nosuch'], ['--nosuch', '--version'], ['--help', '--nosuch']]) {
    const { stdout, stderr } = await new Client('-', args).ended(2);
    assert.equal(stdout, '', args.join(' '));
    assert.match(stderr, /nosuch/);
  }
  assert.match((await new Client('-', ['--version']).ended(0)).stdout, /^patchbay \d/);
});

scenario('an unreachable hub, and one that goes away: status 3', {}, async (hub) => {
  for (const args of [['send', 'a', 'b'], ['echo', 'a'], ['events'], ['publish', 'e'], ['publish', 'e', '--notify'], ['agents'],
    ['stats']]) {
    const lost = await new Client('unix:///nonexistent/hub.sock', args).ended(3);
    assert.match(lost.stderr, /^patchbay: unix:\/\/\/nonexistent\/hub\.sock: No such file or directory: does a hub listen there\?/);
  }
  const served = start(hub, ['echo', 'served']);
  await served.printed(/registered/, 'stderr');
  const events = start(hub, ['events']);
  await events.printed(/subscribed/, 'stderr');
  hub.process.kill('SIGTERM');
  await served.ended(3);
  await events.ended(3);
});

test('a hub that closes without an answer, or speaks another protocol: status 3', async () => {
  const answers = [[Buffer.alloc(0), /closed the connection/], [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /no message frame/],
    [frame('{}').subarray(0, 10), /no message frame/]];
  for (const [bytes, pattern] of answers) {
    const other = net.createServer((socket) => socket.once('data', () => socket.end(bytes)).on('error', () => {}));
    await listen(other);
    const client = new Client(`tcp://127.0.0.1:${other.address().port}`, ['send', 'a', 'b']);
    assert.match((await client.ended(3)).stderr, pattern);
    other.close();
  }
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  scenario(`send: ${signal} cancels, and the answer is still waited for`, EVERYWHERE, async (hub) => {
    const target = await hub.agent('target');
    for (const [answer, status] of [['"result":"all the same"', 0], ['"error":{"code":-32800,"message":"given up"}', 1]]) {
      const client = start(hub, ['send', 'target', 'x']);
      const { id } = (await target.next()).json;
      client.process.kill(signal);
      const cancel = (await target.next('the cancel')).json;
      assert.deepEqual(cancel, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
      target.send(`{"jsonrpc":"2.0","id":${id},${answer}}`);
      await client.ended(status);
      assert.match(client.stderr, /cancelled; waiting/);
      if (status === 0) assert.equal(client.stdout, '"all the same"\n');
      else assert.match(client.stderr, /"code":-32800/);
    }
  });
}

scenario('send: a second interrupt ends it as interrupts do', ON_TCP, async (hub) => {
  const target = await hub.agent('target');
  const client = start(hub, ['send', 'target', 'x']);
  await target.next();
  client.process.kill('SIGINT');
  await client.printed(/cancelled; waiting/, 'stderr');
  client.process.kill('SIGINT');
  assert.deepEqual(await within(client.exit, 'its end'), { code: null, signal: 'SIGINT' });
});

scenario('echo: an agent that answers what it is asked, until it is interrupted', EVERYWHERE, async (hub) => {
  const echo = start(hub, ['echo', 'parrot']);
  await echo.printed(/^echo: parrot is registered at /, 'stderr');
  const answer = await run(hub, ['send', 'parrot', 'hello', '--context', '{"n":1}'], 0);
  assert.equal(answer.stdout, '{"echo":{"targetAgent":"parrot","task":"hello","context":{"n":1}}}\n');
  const source = await hub.peer();
  source.send('{"jsonrpc":"2.0","id":"x","method":"m","params":{"targetAgent":"parrot"}}');
  assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 'x', result: { echo: { targetAgent: 'parrot' } } });
  assert.equal(JSON.parse((await run(hub, ['echo', 'parrot'], 1)).stderr.replace(/^echo: /, '')).code, -32053);
  echo.process.kill('SIGINT');
  await echo.ended(0);
});

scenario('events and publish: what is published is printed by all who want it, in order', EVERYWHERE, async (hub) => {
  const builds = start(hub, ['events', 'build-*', 'x', '--count', '3']);
  await builds.printed(/^events: subscribed at .*: \{"events":\["build-\*","x"\]\}$/m, 'stderr');
  const all = start(hub, ['events']);
  await all.printed(/\{"events":\["\*"\]\}$/m, 'stderr');
  assert.equal((await run(hub, ['publish', 'build-done', '{"ok": true}'], 0)).stdout, '2\n');
  assert.equal((await run(hub, ['publish', 'other', '[1,\n2]'], 0)).stdout, '1\n');
  const unanswered = await run(hub, ['publish', 'x', '--notify'], 0);
  assert.equal(unanswered.stdout + unanswered.stderr, '');
  assert.equal((await run(hub, ['publish', 'build-done', '-'], 0, '"from input"')).stdout, '2\n');
  assert.equal((await builds.ended(0)).stdout,
    '{"event":"build-done","data":{"ok": true}}\n{"event":"x"}\n{"event":"build-done","data":"from input"}\n');
  await all.printed(/(.*\n){4}/);
  assert.equal(all.stdout.split('\n')[1], '{"event":"other","data":[1, 2]}');
  all.process.kill('SIGINT');
  await all.ended(0);
  assert.equal((await run(hub, ['publish', 'nobody-listens'], 0)).stdout, '0\n');
});

scenario('events: what the hub dropped is told on standard error', ON_TCP, async (hub) => {
  const publisher = await hub.peer();
  const slow = start(hub, ['events']);
  await slow.printed(/subscribed/, 'stderr');
  slow.process.kill('SIGSTOP');
  // Until the hub has dropped one: the sockets and the queue are full then.
  const data = 'x'.repeat(500_000);
  while ((await publisher.ask('event', { event: 'large', data })).result.delivered > 0);
  slow.process.kill('SIGCONT');
  await slow.printed(/^events: the hub dropped as many for this reader: 1$/m, 'stderr');
  slow.process.kill('SIGTERM');
  await slow.ended(0);
});

scenario('events and publish: refused by the hub, status 1', ON_TCP, async (hub) => {
  assert.equal(JSON.parse((await run(hub, ['events', ''], 1)).stderr).code, -32602);
  const level = ['publish', 'e', '--header', 'Governance-Level: loose'];
  assert.equal(JSON.parse((await run(hub, level, 1)).stderr).code, -32602);
});

scenario('publish: a header field decides who may get it', ON_TCP, async (hub) => {
  const events = start(hub, ['events']);
  await events.printed(/subscribed/, 'stderr');
  assert.equal((await run(hub, ['publish', 'e', '--header', 'Governance-Level: manual'], 0)).stdout, '0\n');
  assert.equal((await run(hub, ['publish', 'e', '--header', 'Governance-Level: autonomous'], 0)).stdout, '1\n');
  events.process.kill('SIGTERM');
  await events.ended(0);
});

scenario('publish --notify: what the hub can not read is told', { ...ON_TCP, options: ['--max-frame', '1K'] }, async (hub) => {
  const refused = await run(hub, ['publish', 'e', '--notify', JSON.stringify('x'.repeat(2000))], 1);
  assert.equal(JSON.parse(refused.stderr).code, -32055);
});

test('publish: what is no JSON, and no header field, is not sent; status 2', async () => {
  await refusesArguments(['publish', 'e', '{'], /DATA '\{': it must be valid JSON/);
  await refusesArguments(['publish', 'e', '@/nonexistent'], /No such file/);
  await refusesArguments(['publish', 'e', '-'], /valid JSON/, '1 2');
  await refusesArguments(['publish', 'e', '--header', 'content-length: 1'], /may occur once/);
});

scenario('agents: a table, or the answer as it is', EVERYWHERE, async (hub) => {
  const agent = await hub.agent('worker-1', { tasks: ['review'] }, { governanceLevel: 'supervised' });
  const table = (await run(hub, ['agents'], 0)).stdout.trimEnd().split('\n');
  assert.match(table[0], /^AGENT +LEVEL +PENDING +CONNECTED SINCE +CHILD +CAPABILITIES$/);
  assert.match(table[1], /^worker-1 +supervised +0 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +- +\{"tasks":\["review"\]\}$/);
  assert.equal(table.length, 2);
  const raw = await run(hub, ['agents', '--json'], 0);
  assert.match(raw.stdout, /^[^\n]*\n$/);
  assert.deepEqual(JSON.parse(raw.stdout).agents.map((one) => one.agentId), ['worker-1']);
  agent.drop();
});

// U+007F to U+009F are controls as U+0000 to U+001F are. À has the byte of one, U+0080, in it.
// U+2028 to U+202E and U+2066 to U+2069 change the order in which a line is shown; what follows them here isn't shown at all.
const STEERING = '\u0080\u009b31mRED\u009d0;title\u009c\u007f\u0085À\u2028\u202a\u202e\u2066\u2069\u2027\u00ad\u061c\u200b\u200f\ufeff\u{e0041}';
const ESCAPED = '"\\u0080\\u009b31mRED\\u009d0;title\\u009c\\u007f\\u0085À\\u2028\\u202a\\u202e\\u2066\\u2069\u2027\\u00ad\\u061c\\u200b\\u200f\\ufeff\\udb40\\udc41"';

function harmless(client) {
  for (const text of [client.stdout, client.stderr]) assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e0fff}]/u);
}

scenario('agents: what peers wrote does not steer the terminal', ON_TCP, async (hub) => {
  await hub.agent('worker', { note: 'a\u001b[2Jb', other: STEERING });
  const table = await run(hub, ['agents'], 0);
  harmless(table);
  assert.match(table.stdout, /31mRED.*À/);
  const raw = await run(hub, ['agents', '--json'], 0);
  harmless(raw);
  assert.ok(raw.stdout.includes(ESCAPED), raw.stdout);
  assert.equal(JSON.parse(raw.stdout).agents[0].capabilities.other, STEERING);
});

scenario('send, events: what others wrote does not steer the terminal', ON_TCP, async (hub) => {
  const target = await hub.agent('target');
  for (const [member, status, stream] of [['result', 0, 'stdout'], ['error', 1, 'stderr']]) {
    const client = start(hub, ['send', 'target', 'x']);
    const value = member === 'result' ? STEERING : { code: 1, message: STEERING, data: STEERING };
    target.send({ jsonrpc: '2.0', id: (await target.next()).json.id, [member]: value });
    await client.ended(status);
    harmless(client);
    assert.ok(client[stream].includes(ESCAPED), client[stream]);
    assert.deepEqual(JSON.parse(client[stream]), value);
  }
  const events = start(hub, ['events', '--count', '1']);
  await events.printed(/subscribed/, 'stderr');
  target.notify('event', { event: 'e', data: STEERING });
  await events.ended(0);
  harmless(events);
  assert.deepEqual(JSON.parse(events.stdout), { event: 'e', data: STEERING });
});

// As what is no hub may send it: with bytes that are no UTF-8, which `echo` alone takes for no message.
test('no error that a hub sends steers the terminal', async () => {
  const refusal = (...more) => frame(Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"${STEERING} `), Buffer.from(more), Buffer.from('"}}')]));
  const other = net.createServer((socket) => socket.once('data', (text) =>
    socket.end(text.includes('agent/register') ? refusal() : refusal(0x9b, 0xc2))).on('error', () => {}));
  await listen(other);
  try {
    for (const args of [['send', 'a', 'b'], ['echo', 'a'], ['events'], ['publish', 'e'], ['agents'], ['agents', '--json'], ['stats']]) {
      const client = await new Client(`tcp://127.0.0.1:${other.address().port}`, args).ended(1);
      harmless(client);
      assert.equal(JSON.parse(client.stderr.slice(client.stderr.indexOf('{'))).message,
        `${STEERING} ${args[0] === 'echo' ? '' : '\ufffd\ufffd'}`, args[0]);
    }
  } finally {
    other.close();
  }
});

scenario('stats: a counter a line, or the answer as it is', EVERYWHERE, async (hub) => {
  const lines = (await run(hub, ['stats'], 0)).stdout.trimEnd().split('\n');
  for (const line of lines) assert.match(line, /^[a-z0-9_.]+ \S+$/);
  assert.ok(lines.includes(`pid ${hub.process.pid}`));
  const raw = JSON.parse((await run(hub, ['stats', '--json'], 0)).stdout);
  assert.equal(raw.pid, hub.process.pid);
  const names = (value, name) => (typeof value === 'object' ? Object.entries(value).flatMap(([key, inner]) => names(inner, `${name}.${key}`)) : [name]);
  const steady = (all) => all.filter((name) => !/buckets|survey|slowest|deepest/.test(name));
  assert.deepEqual(steady(lines.map((line) => line.split(' ')[0])), steady(Object.entries(raw).flatMap(([name, value]) => names(value, name))));
  assert.ok(lines.includes('per_shard.0.pending 0'));
});

scenario('output that can not be written is no success', ON_TCP, async (hub) => {
  const client = spawn('/bin/sh', ['-c', '"$0" --hub "$1" stats >/dev/full', program, hub.uri()], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  client.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
  const code = await within(new Promise((resolve) => client.on('close', resolve)), 'its end');
  assert.equal(code, 1, stderr);
  assert.match(stderr, /standard output: No space left/);
});
