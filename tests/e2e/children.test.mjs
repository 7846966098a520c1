// Programs that the hub keeps: as seen from their side, and from the side of those who use them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dial, Hub, thoroughly } from './hub.mjs';
import { test } from './parallel.mjs';
import { assertError, within } from './peer.mjs';

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'child.py');
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)']).toString().trim();
const command = (what) => `${PYTHON} -S -E ${PROGRAM} ${what}`;

// Waits for the hub to say something, after what it has said before.
async function says(hub, pattern) {
  await within(new Promise((resolve) => {
    const look = () => {
      const found = pattern.exec(hub.stderr.slice(hub.read ?? 0));
      if (!found) return;
      hub.read = (hub.read ?? 0) + found.index + found[0].length;
      hub.process.stderr.off('data', look);
      resolve();
    };
    hub.process.stderr.on('data', look);
    look();
  }), `the hub to say ${pattern}; it said: ${hub.stderr.slice(-2000)}`);
}

// Waits until it has said something, whenever that was.
async function said(hub, pattern) {
  await within(new Promise((resolve) => {
    const look = () => {
      if (!pattern.test(hub.stderr)) return;
      hub.process.stderr.off('data', look);
      resolve();
    };
    hub.process.stderr.on('data', look);
    look();
  }), `the hub to have said ${pattern}; it said: ${hub.stderr.slice(-2000)}`);
}

const section = (name, keys) => `[child ${name}]\n${Object.entries(keys).map(([key, value]) => `${key} = ${value}\n`).join('')}\n`;

function kept(name, file, run, { shards = 2, status = 0, options = [], environment = {}, under = [] } = {}) {
  test(name, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'patchbay-children-'));
    const path = join(directory, 'hub.ini');
    const text = typeof file === 'function' ? file(directory) : file;
    writeFileSync(path, text);
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--shards', String(shards), '--config', path, ...options], { ...environment, XDG_DATA_HOME: join(directory, 'data') }, under);
    hub.directory = directory;
    hub.load = async (fresh) => {
      writeFileSync(path, fresh);
      hub.process.kill('SIGHUP');
      await says(hub, /was read again/);
    };
    hub.open = async () => {
      const peer = await dial(hub.uris[0]);
      hub.peers.push(peer);
      return peer;
    };
    let failure;
    try {
      await run(hub, await hub.open());
    } catch (error) {
      failure = error;
    }
    for (const peer of hub.peers) peer.drop();
    hub.process.kill('SIGTERM');
    const ended = await within(hub.exit, 'the hub to end').catch((error) => {
      hub.process.kill('SIGKILL');
      return error;
    });
    rmSync(directory, { recursive: true, force: true });
    if (failure) {
      failure.message += `\nthe hub said:\n${hub.stderr.slice(-3000)}`;
      throw failure;
    }
    assert.deepEqual(ended, { code: status, signal: null }, hub.stderr.slice(-3000));
    assert.doesNotMatch(hub.stderr, /Sanitizer|runtime error|Assertion/, hub.stderr);
  });
}

async function child(peer, name) {
  const { result } = await peer.ask('hub/children', {});
  return result.children.find((one) => one.name === name);
}

// Asks again as long as it isn't so.
async function becomes(peer, name, state) {
  const end = Date.now() + 20_000;
  for (;;) {
    const now = await child(peer, name);
    if (now?.state === state) return now;
    assert.ok(Date.now() < end, `${name} is ${JSON.stringify(now)}, not ${state}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// Requests for a removed child end while the removal goes round; then nobody has the name.
async function forgotten(peer, name) {
  const end = Date.now() + 20_000;
  for (let answer; (answer = await peer.ask('work', { targetAgent: name })).error?.code !== -32010;) {
    assertError(answer, -32050);
    assert.ok(Date.now() < end);
  }
}

const target = (name, more = {}) => ({ targetAgent: name, ...more });

function alive(process) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${process}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function gone(processes, ms = 2000) {
  const end = Date.now() + ms;
  while (processes.some(alive)) {
    assert.ok(Date.now() < end, `${processes.filter(alive)} still there after ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// --- Plain ones

for (const framing of ['content-length', 'lines']) {
  kept(`a plain child is an agent under its name (${framing})`, section('plain', { command: command(`serve ${framing}`), framing, methods: 'one, two', tools: 'lint' }), async (hub, peer) => {
    assert.deepEqual((await peer.ask('work', target('plain', { n: 1 }))).result, { method: 'work', params: { targetAgent: 'plain', n: 1 } });
    assert.equal((await peer.ask('two', {})).result.method, 'two');
    assert.equal((await peer.ask('tool/integration', { tool: 'lint', action: 'run' })).result.params.tool, 'lint');
    assertError(await peer.ask('agent/register', { agentId: 'plain', capabilities: {} }), -32053);
    const { result } = await peer.ask('hub/agents', {});
    const [agent] = result.agents;
    assert.deepEqual(agent.capabilities, { methods: ['one', 'two'], tools: ['lint'] });
    assert.equal(agent.child.state, 'running');
    assert.equal(agent.child.protocol, 'plain');
    assert.ok(alive(agent.child.pid));
    // The child's own requests are routed like anybody's.
    const other = await hub.open();
    await other.register('editor', { methods: ['editor/getMessage'] });
    other.serve((message) => ({ was: message.params }));
    assert.deepEqual((await peer.ask('ask', target('plain', { method: 'editor/getMessage', params: { a: 1 } }))).result, { jsonrpc: '2.0', id: 1, result: { was: { a: 1 } } });
  });
}

kept('what a child is started with', (directory) => {
  writeFileSync(join(directory, 'secret'), 'a secret\n');
  return section('one', {
    command: `sh -c 'exec ${PYTHON} -S -E ${PROGRAM} "$@"' sh serve ; "a b"`, directory, pass: 'PATH, OTHER NEVER', 'set GREETING': 'a ; b = c', 'secret TOKEN': join(directory, 'secret'), 'set OTHER': 'mine',
  });
}, async (hub, peer) => {
  const { result: environment } = await peer.ask('environment', target('one'));
  for (const own of ['PWD', 'SHLVL', '_', 'LC_CTYPE', 'OLDPWD']) delete environment[own]; // the shell's, and Python's
  assert.deepEqual(environment, { PATH: process.env.PATH, GREETING: 'a ; b = c', TOKEN: 'a secret', OTHER: 'mine' });
  assert.equal((await peer.ask('where', target('one'))).result, hub.directory);
  const { result: descriptors } = await peer.ask('descriptors', target('one'));
  assert.deepEqual(descriptors.filter((one) => one <= 2), [0, 1, 2]);
  assert.ok(descriptors.every((one) => one <= 3), `only the listing's own besides: ${descriptors}`);
  const { result: group } = await peer.ask('process', target('one'));
  assert.equal(group.process, group.group);
  const { result: signals } = await peer.ask('signals', target('one'));
  assert.equal(BigInt(`0x${signals.SigBlk}`), 0n);
  assert.equal(BigInt(`0x${signals.SigIgn}`) & ~0x1001000n, 0n); // Python's own
  assert.doesNotMatch(hub.stderr, /a secret/);
}, { environment: { OTHER: 'the hub\'s', HIDDEN: 'x' } });

kept('what is set counts before what is passed', (directory) => {
  writeFileSync(join(directory, 'secret'), 'a secret\n');
  const own = { 'set LANG': 'mine', 'secret HOME': join(directory, 'secret') };
  return section('usual', { command: command('serve'), ...own }) + section('first', { command: command('serve'), ...own, pass: 'HOME LANG' })
    + section('nowhere', { command: 'cat', 'set PATH': '/nowhere', 'restart-limit': '0' });
}, async (hub, peer) => {
  for (const name of ['usual', 'first']) {
    const { result: { LANG, HOME } } = await peer.ask('environment', target(name));
    assert.deepEqual([name, LANG, HOME], [name, 'mine', 'a secret']);
  }
  await becomes(peer, 'nowhere', 'down');
  await said(hub, /^nowhere: can't run cat: No such file or directory$/m);
}, { environment: { LANG: 'the hub\'s', HOME: '/the/hub' } });

kept('a secret that can\'t be read whole is a failure', (directory) => {
  writeFileSync(join(directory, 'zero'), 'a\0b\n');
  execFileSync('mkfifo', [join(directory, 'fifo')]);
  return ['zero', 'fifo'].map((name) => section(name, { command: command('serve'), 'secret A': join(directory, name), 'restart-limit': '0' })).join('');
}, async (hub, peer) => {
  for (const name of ['zero', 'fifo']) {
    await becomes(peer, name, 'down');
    await said(hub, new RegExp(`^${name}: can't use the secret.*/${name}: `, 'm'));
  }
});

kept('what waits while a child starts again is for the next one; what it had ends once', section('plain', { command: command('serve'), 'restart-delay': '300ms' }), async (hub, peer) => {
  const asked = [];
  for (let number = 0; number < 1000; number++) asked.push(peer.ask('hang', target('plain')));
  const { result } = await peer.ask('process', target('plain'));
  process.kill(result.process, 'SIGKILL');
  for (const answer of await Promise.all(asked)) assertError(answer, -32050);
  const fresh = await peer.ask('process', target('plain'));
  assert.notEqual(fresh.result.process, result.process);
  await peer.silent('1,000 requests that ended');
  const now = await child(peer, 'plain');
  assert.equal(now.restarts, 1);
  assert.equal(now.lastFault, 'it was ended by signal 9');
});

kept('a child that can\'t be started stays down after so many failures, and says so', section('none', { command: '/nothing/there', 'restart-delay': '1ms', 'restart-limit': '3' }), async (hub, peer) => {
  const asked = await peer.ask('work', target('none'));
  assert.ok([-32050, -32010].includes(asked.error.code));
  const now = await becomes(peer, 'none', 'down');
  assert.equal(now.lastFault, 'it ended with status 127');
  assertError(await peer.ask('work', target('none')), -32010);
  assertError(await peer.ask('agent/register', { agentId: 'none', capabilities: {} }), -32053);
  await said(hub, /^none: can't run \/nothing\/there: No such file or directory$/m);
  await said(hub, /child none: it has failed 4 times in a row and stays down until patchbay child restart none, or SIGHUP/);
  assert.equal((await peer.ask('hub/agents', {})).result.agents[0].child.state, 'down');
  const { result: stats } = await peer.ask('hub/stats', {});
  assert.deepEqual([stats.children_running, stats.children_down, stats.children_other], [0, 1, 0]);
  assert.equal(stats.children_failed, 4);
  await hub.load(section('none', { command: command('serve') }));
  await becomes(peer, 'none', 'running');
  assert.equal((await peer.ask('work', target('none'))).result.method, 'work');
});

kept('whatever comes while a child goes down is answered', section('once', { command: command('once 1'), start: 'on-demand', 'restart-limit': '0' }), async (hub, peer) => {
  const asked = [];
  const other = await hub.open(); // on the other shard
  const end = becomes(other, 'once', 'down');
  let down = false;
  end.then(() => { down = true; }, () => { down = true; });
  while (!down) {
    asked.push(peer.ask('work', target('once')), other.ask('work', target('once')));
    await peer.ask('hub/ping', {});
  }
  await end;
  for (const answer of await Promise.all(asked)) assert.ok([-32050, -32010].includes(answer.error?.code), JSON.stringify(answer));
  await hub.load(section('once', { command: command('serve'), start: 'on-demand' }));
  await becomes(peer, 'once', 'idle');
  assert.equal((await peer.ask('work', target('once'))).result.method, 'work');
});

kept('status 0 while owing nothing is no failure', section('once', { command: command('once 0'), 'restart-delay': '1ms', 'restart-delay-max': '1ms', 'restart-limit': '1' }), async (hub, peer) => {
  const end = Date.now() + 20_000;
  for (let now; (now = await child(peer, 'once')).restarts < 5;) assert.ok(Date.now() < end, JSON.stringify(now));
  assert.equal((await child(peer, 'once')).failures, 0);
});

kept('a child on demand starts when something comes, and ends when it is idle', section('lazy', { command: command('serve'), start: 'on-demand', idle: '200ms' }), async (hub, peer) => {
  assert.equal((await becomes(peer, 'lazy', 'idle')).pid, null);
  const { result } = await peer.ask('process', target('lazy'));
  await becomes(peer, 'lazy', 'idle');
  await gone([result.process]);
  assert.equal((await peer.ask('again', target('lazy'))).result.method, 'again');
  assert.equal((await child(peer, 'lazy')).failures, 0);
});

kept('a child that closes its output is ended, though it lives', section('half', { command: command('half stubborn'), 'restart-delay': '10s', 'end-timeout': '200ms' }), async (hub, peer) => {
  const now = await becomes(peer, 'half', 'waiting');
  assert.equal(now.pid, null);
  await says(hub, /^half: half$/m);
});

kept('what can\'t be read on standard output: a frame ends the child', section('garbage', { command: command('garbage'), 'restart-limit': '2', 'restart-delay': '1ms' }), async (hub, peer) => {
  const now = await becomes(peer, 'garbage', 'down');
  assert.equal(now.lastFault, 'its standard output could not be read');
  await said(hub, /child garbage: its standard output can't be read with framing = content-length: this is no frame \\x1b\[31m\\x0d\\x0a/);
  assert.equal(hub.stderr.match(/can't be read/g).length, 1, 'once a second');
  assert.equal((await peer.ask('hub/stats', {})).result.children_output_unreadable, 3);
});

kept('what can\'t be read on standard output: a line is passed over', section('garbage', { command: command('garbage lines'), framing: 'lines' }), async (hub, peer) => {
  assert.equal((await peer.ask('work', target('garbage'))).result.method, 'work');
  assert.equal((await child(peer, 'garbage')).restarts, 0);
  assert.equal((await peer.ask('hub/stats', {})).result.children_output_unreadable, 3);
});

kept('who floods standard error costs a bounded log, and nobody waits for it', section('floods', { command: command('floods') }) + section('plain', { command: command('serve') }), async (hub, peer) => {
  const begin = Date.now();
  await says(hub, /bytes more weren't logged/);
  assert.equal((await peer.ask('work', target('plain'))).result.method, 'work');
  const { length } = hub.stderr;
  assert.ok(length < (2 + (Date.now() - begin) / 1000) * 80_000, `${length} bytes`);
});

kept('a line of the log is one line, whatever a child says', section('plain', { command: command('serve') }), async (hub, peer) => {
  await peer.ask('say', target('plain', { text: 'a\u001b[2Jb\rpatchbayd: c\u009b é' }));
  await says(hub, /^plain: a\\x1b\[2Jb\\x0dpatchbayd: c\\xc2\\x9b é$/m);
  const { result } = await peer.ask('hub/childLog', { name: 'plain' });
  assert.ok(result.lines.includes('a\\x1b[2Jb\\x0dpatchbayd: c\\xc2\\x9b é'), JSON.stringify(result));
});

kept('a pool: what comes goes to the instance that owes least, events to all', section('pool', { command: command('serve'), instances: 3, methods: 'hang, process', 'restart-delay': '10s' }), async (hub, peer) => {
  const names = ['pool', 'pool#1', 'pool#2'];
  const processes = [];
  for (const name of names) processes.push((await becomes(peer, name, 'running')).pid);
  const seen = new Set();
  for (const ask of [() => peer.ask('process', target('pool')), () => peer.ask('process', {})]) {
    for (let number = 0; number < 6; number++) seen.add((await ask()).result.process);
  }
  assert.deepEqual([...seen].sort(), processes.sort());
  assert.deepEqual((await peer.ask('hub/agents', {})).result.agents.map((one) => one.agentId), ['pool']);
  assertError(await peer.ask('agent/register', { agentId: 'pool', capabilities: {} }), -32053);
  // A member that has gone is left out, and its requests end.
  const hangs = [0, 1, 2].map(() => peer.ask('hang', {}));
  await peer.ask('hub/ping', {});
  const { pid } = await child(peer, 'pool#1');
  process.kill(pid, 'SIGKILL');
  assertError(await Promise.race(hangs), -32050);
  for (let number = 0; number < 6; number++) assert.notEqual((await peer.ask('process', target('pool'))).result.process, pid);
  await hub.load(section('pool', { command: command('serve') }));
  await gone(processes);
  for (const hang of hangs) assertError(await hang, -32050);
  await becomes(peer, 'pool', 'running');
  assert.equal((await peer.ask('work', target('pool'))).result.method, 'work');
  assert.deepEqual((await peer.ask('hub/children', {})).result.children.map((one) => one.name), ['pool']);
});

// --- Hermes

const hermes = (more = {}, what = 'serve') => section('ext', { command: command(what), protocol: 'hermes', ...more });

kept('a hermes child is greeted, offers what it answers, and is told why it ends', hermes(), async (hub, peer) => {
  await becomes(peer, 'ext', 'running');
  await said(hub, /^ext: initialize .*$/m);
  const greeting = JSON.parse(/^ext: initialize (.*)$/m.exec(hub.stderr)[1]);
  assert.equal(greeting.dataDirectory, join(hub.directory, 'data/patchbay/ext'));
  assert.ok(existsSync(greeting.dataDirectory));
  const { result: environment } = await peer.ask('environment', target('ext'));
  assert.equal(environment.HERMES_DATA_DIR, greeting.dataDirectory);
  assert.equal(environment.HERMES_VERSION, greeting.hermesVersion);
  assert.equal(environment.HERMES_API_VERSION, greeting.apiVersion);
  const [agent] = (await peer.ask('hub/agents', {})).result.agents;
  assert.deepEqual(agent.capabilities.commands, ['greet']);
  assert.equal(agent.initialize.name, 'serve');
  assert.equal((await peer.ask('polite', {})).result.method, 'polite');
  for (const press of ['greet', 'press']) {
    assert.equal((await peer.ask('command/execute', { command: press })).result, null);
    await says(hub, new RegExp(`^ext: told .*"command": "${press}"`, 'm'));
  }
  assert.equal((await peer.ask('command/execute', target('ext', { command: 'any' }))).result, null);
  peer.notify('window/closed', { window: 7 });
  await says(hub, /^ext: told .*window\/closed.*7/m);
  peer.notify('message/changed', { n: 8 });
  await says(hub, /^ext: told .*message\/changed.*8/m);
  assert.deepEqual((await peer.ask('event', { event: 'build-done' })).result, { delivered: 1 });
  for (const one of hub.peers) one.drop();
  hub.process.kill('SIGTERM');
  await says(hub, /^ext: shutdown \{"reason": "closing"\}$/m);
  await says(hub, /^ext: end of input$/m);
});

const elsewhere = (directory) => hermes({ directory, data: relative(process.cwd(), join(directory, 'its/own')) });

kept("a relative directory for its data is the hub's, wherever it runs itself", elsewhere, async (hub, peer) => {
  await becomes(peer, 'ext', 'running');
  const { result } = await peer.ask('environment', target('ext'));
  assert.equal(normalize(result.HERMES_DATA_DIR), join(hub.directory, 'its/own'));
  assert.ok(isAbsolute(result.HERMES_DATA_DIR) && existsSync(result.HERMES_DATA_DIR));
});

kept('a file is no directory for its data', (directory) => hermes({ data: join(directory, 'hub.ini'), 'restart-limit': '0' }), async (hub, peer) => {
  assert.equal((await becomes(peer, 'ext', 'down')).lastFault, 'it ended with status 127');
  await said(hub, /^ext: can't use as a directory .*hub.ini: Not a directory$/m);
});

kept('without a home there is no directory for its data', hermes({ 'restart-limit': '0' }), async (hub, peer) => {
  assert.equal((await becomes(peer, 'ext', 'down')).lastFault, 'it could not be started: No such file or directory');
  await said(hub, /child ext: nothing says where its data are to be/);
}, { under: ['env', '-u', 'HOME', '-u', 'XDG_DATA_HOME'] });

kept('what a hermes child sends before it has answered is refused', hermes({}, 'early'), async (hub, peer) => {
  await becomes(peer, 'ext', 'running');
  assert.deepEqual((await peer.ask('hub/agents', {})).result.agents[0].capabilities, { early: -32054 });
});

for (const [field, capabilities] of Object.entries({
  methods: { methods: ['fine', '$/x'] }, 'methods of an object': { methods: { initialize: {} } }, tools: { tools: [''] }, events: { events: ['a*b'] },
})) {
  kept(`a hermes child that offers what can't be offered has failed (${field})`, hermes({ 'restart-limit': '0' }, `offers '${JSON.stringify(capabilities)}'`), async (hub, peer) => {
    assert.equal((await becomes(peer, 'ext', 'down')).lastFault, 'it offers what can\'t be offered');
    await said(hub, new RegExp(`child ext: its answer to initialize can't be used: capabilities.${field.split(' ')[0]} isn't `));
    assertError(await peer.ask('agent/register', { agentId: 'other', capabilities }), -32602);
  });
}

kept('a hermes child that never answers is killed', hermes({ 'start-timeout': '200ms', 'restart-limit': '0' }, 'deaf'), async (hub, peer) => {
  assertError(await peer.ask('work', target('ext')), -32050);
  const now = await becomes(peer, 'ext', 'down');
  assert.equal(now.lastFault, 'it did not answer initialize in time');
});

kept('a hermes child that ignores shutdown and SIGTERM is killed', hermes({ 'stop-timeout': '200ms' }, 'serve stubborn'), async (hub, peer) => {
  const { pid } = await becomes(peer, 'ext', 'running');
  await hub.load('');
  await says(hub, /^ext: shutdown \{"reason": "disabled"\}$/m);
  await gone([pid]);
  await forgotten(peer, 'ext');
  await peer.register('ext');
});

// --- The configuration

kept('SIGHUP starts, ends and restarts those that changed, and no others', section('a', { command: command('serve') }) + hermes(), async (hub, peer) => {
  const before = [(await becomes(peer, 'a', 'running')).pid, (await becomes(peer, 'ext', 'running')).pid];
  await hub.load(section('a', { command: command('serve') }) + hermes({ 'set X': 'y' }) + section('b', { command: command('serve lines'), framing: 'lines' }));
  await becomes(peer, 'b', 'running');
  assert.equal((await peer.ask('work', target('b'))).result.method, 'work');
  assert.equal((await peer.ask('environment', target('ext'))).result.X, 'y');
  await said(hub, /^ext: shutdown \{"reason": "reload"\}$/m);
  assert.equal((await child(peer, 'a')).pid, before[0]);
  assert.notEqual((await child(peer, 'ext')).pid, before[1]);
  const { pid } = await child(peer, 'b');
  await hub.load(section('b', { command: command('serve') })); // it speaks otherwise: what waits ends
  for (let now = pid; now === pid || !now; now = (await child(peer, 'b'))?.pid);
  assert.equal((await peer.ask('work', target('b'))).result.method, 'work');
  await gone(before);
  await forgotten(peer, 'a');
});

kept('a line of 8 KiB is read, whatever ends it, and a longer one is refused', section('a', { command: command('serve') }), async (hub, peer) => {
  const long = (bytes, end) => `[child long]${end}${`command = ${command('serve')} `.padEnd(bytes, 'x')}${end}start = on-demand${end}`;
  for (const end of ['\n', '\r\n']) {
    await hub.load(long(8192, end));
    await becomes(peer, 'long', 'idle');
    writeFileSync(join(hub.directory, 'hub.ini'), long(8193, end));
    hub.process.kill('SIGHUP');
    await says(hub, /hub\.ini:2: expected a line of up to 8K/);
    await hub.load('');
    await forgotten(peer, 'long');
  }
});

kept('names that are gone leave their places to others', section('own0', { command: command('serve') }), async (hub, peer) => {
  const many = (round) => Array.from({ length: 40 }, (_, index) => section(`c${round}-${index}`, { command: command('serve'), start: 'on-demand' })).join('');
  await peer.ask('say', target('own0', { text: 'before' }));
  for (let round = 1; round <= 10; round++) {
    await hub.load(section(`own${round}`, { command: command('serve') }) + many(round));
    await becomes(peer, `own${round}`, 'running');
    for (let at = 0; at < 40; at++) await becomes(peer, `c${round}-${at}`, 'idle');
  }
  assert.equal((await peer.ask('work', target('c10-39'))).result.method, 'work');
  assert.deepEqual((await peer.ask('hub/childLog', { name: 'c10-38' })).result.lines, []);
  assertError(await peer.ask('work', target('c9-1')), -32010);
}, { shards: 3 });

kept('a configuration that can\'t be used changes nothing', section('a', { command: command('serve') }), async (hub, peer) => {
  const { pid } = await becomes(peer, 'a', 'running');
  for (const bad of ['[child a]\ncommand = "x\n', '[child a]\nnothing = x\ncommand = y\n', '[child a]\n', '[child .]\ncommand = x\n', '[child a]\ncommand = x\n[child a]\ncommand = x\n', `[child a]\ncommand = ${'x'.repeat(9000)}\n`,
    ...['hub/foo', '$/x', 'rpc.x', 'initialize', 'agent/register'].map((method) => `[child a]\nmethods = ok, ${method}\ncommand = x\n`)]) {
    writeFileSync(join(hub.directory, 'hub.ini'), bad);
    hub.process.kill('SIGHUP');
    await says(hub, bad.includes('methods') ? /hub.ini:2: methods: expected methods that are not the hub's own(.|\n)*goes on as before/ : /goes on as before/);
  }
  assert.equal((await child(peer, 'a')).pid, pid);
});

kept('children are stopped and restarted by hand', section('a', { command: command('serve') }), async (hub, peer) => {
  const { pid } = await becomes(peer, 'a', 'running');
  assert.deepEqual((await peer.ask('hub/childStop', { name: 'a' })).result, { name: 'a' });
  await becomes(peer, 'a', 'stopped');
  await gone([pid]);
  assertError(await peer.ask('work', target('a')), -32010);
  await peer.ask('hub/childRestart', { name: 'a' });
  await becomes(peer, 'a', 'running');
  assert.equal((await peer.ask('work', target('a'))).result.method, 'work');
  assertError(await peer.ask('hub/childStop', { name: 'b' }), -32010);
  assertError(await peer.ask('hub/childLog', {}), -32602);
});

for (const more of [{}, { 'set A': 'b' }]) {
  for (const state of ['stopping', 'ending']) {
    const keys = { command: command('deaf stubborn'), 'end-timeout': '500ms' };
    kept(`a child that is ${state} as it was told to runs again after SIGHUP (${Object.keys(more).length ? 'changed' : 'unchanged'})`, section('a', keys), async (hub, peer) => {
      const { pid } = await becomes(peer, 'a', 'running');
      await says(hub, /^a: deaf$/m);
      await peer.ask('hub/childStop', { name: 'a' });
      await becomes(peer, 'a', state);
      await hub.load(section('a', { ...keys, ...more }));
      await gone([pid]);
      assert.notEqual((await becomes(peer, 'a', 'running')).pid, pid);
      await says(hub, /^a: deaf$/m); // from here on the program survives SIGTERM
      await peer.ask('hub/childStop', { name: 'a' });
      await becomes(peer, 'a', state);
      await peer.ask('hub/childRestart', { name: 'a' });
      await becomes(peer, 'a', 'running');
    });
  }
}

kept('patchbay child lists, restarts, stops and shows the log', section('a', { command: command('serve') }), async (hub, peer) => {
  const { pid } = await becomes(peer, 'a', 'running');
  const patchbay = (...words) => spawnSync(process.env.PATCHBAY, ['--hub', hub.uris[0], 'child', ...words], { encoding: 'utf8' });
  const [head, row] = patchbay('list').stdout.split('\n');
  assert.match(head, /^CHILD +STATE +PROTOCOL +PID/);
  assert.match(row, new RegExp(`^a +running +plain +${pid} +0 +0 `));
  assert.equal(JSON.parse(patchbay('list', '--json').stdout).children[0].pid, pid);
  await peer.ask('say', target('a', { text: 'one \u0007' }));
  await says(hub, /^a: one/m);
  assert.match(patchbay('log', 'a').stdout, /^one \\x07$/m);
  assert.equal(patchbay('stop', 'a').status, 0);
  await becomes(peer, 'a', 'stopped');
  assert.equal(patchbay('restart', 'a').status, 0);
  await becomes(peer, 'a', 'running');
  const unknown = patchbay('stop', 'b');
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /-32010/);
  for (const words of [[], ['list', 'a'], ['stop'], ['start', 'a']]) assert.equal(patchbay(...words).status, 2);
});

// --- Ends

kept('a grandchild goes with its group', section('a', { command: command('serve'), 'end-timeout': '200ms' }), async (hub, peer) => {
  const { result: grandchild } = await peer.ask('fork', target('a'));
  const { pid } = await child(peer, 'a');
  process.kill(pid, 'SIGKILL');
  await gone([pid, grandchild]);
  assert.equal((await peer.ask('work', target('a'))).result.method, 'work');
});

kept('a child has ended with its leader, though others of its group hold its output', section('a', { command: command('serve'), 'end-timeout': '60s', 'restart-delay': '1ms' }), async (hub, peer) => {
  const { result: grandchild } = await peer.ask('fork', target('a'));
  const owed = peer.ask('hang', target('a'));
  const { pid } = await child(peer, 'a');
  process.kill(pid, 'SIGKILL');
  assertError(await owed, -32050);
  assert.equal((await child(peer, 'a')).state, 'ending');
  const fresh = peer.ask('process', target('a'));
  await peer.ask('hub/ping', {});
  process.kill(grandchild, 'SIGKILL');
  assert.notEqual((await fresh).result.process, pid);
  assert.equal((await child(peer, 'a')).lastFault, 'it was ended by signal 9');
});

for (const whom of ['the hub', 'the hub and its keeper']) {
  test(`kill -9 of ${whom} leaves none of 20 children and their grandchildren`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'patchbay-children-'));
    const names = [...Array(20).keys()].map((number) => `c${number}`);
    writeFileSync(join(directory, 'hub.ini'), names.map((name) => section(name, { command: command(`serve ${name === 'c3' ? 'stubborn' : ''}`) })).join(''));
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--shards', '2', '--config', join(directory, 'hub.ini')]);
    const peer = await dial(hub.uris[0]);
    const processes = [];
    for (const name of names) {
      processes.push((await peer.ask('fork', target(name))).result);
      processes.push((await peer.ask('process', target(name))).result.process);
    }
    assert.ok(processes.every(alive));
    const keeper = Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(processes.at(-1))]).toString());
    hub.process.kill('SIGKILL');
    if (whom !== 'the hub') process.kill(keeper, 'SIGKILL');
    await gone(processes);
    await hub.exit; // and the keeper has let go of the log
    peer.drop();
    rmSync(directory, { recursive: true, force: true });
  });
}

// The hub's own child processes aren't taken for a hub: neither by `pidof` and `ps`, which know a process by its first
// argument, nor by `pgrep -x`, which knows it by its name.
kept('the processes that keep children have names of their own', section('a', { command: command('serve') }), async (hub, peer) => {
  const { result } = await peer.ask('process', target('a'));
  const keeper = Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(result.process)]).toString());
  const below = execFileSync('ps', ['-o', 'pid=', '--ppid', String(keeper)]).toString().trim().split(/\s+/).map(Number);
  const watcher = below.find((pid) => pid !== result.process);
  const called = (pid) => [readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0+$/, '')];
  assert.deepEqual(called(keeper), ['patchbay-keeper', 'patchbay-keeper']);
  assert.deepEqual(called(watcher), ['patchbay-watche', 'patchbay-watcher']);
  assert.equal(called(hub.process.pid)[0], 'patchbayd');
  assert.match(called(hub.process.pid)[1], /patchbayd\0--/);
});

kept('without its keeper the hub ends, and its children with it', section('a', { command: command('serve') }), async (hub, peer) => {
  const { pid } = await becomes(peer, 'a', 'running');
  const keeper = Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)]).toString());
  assert.notEqual(keeper, hub.process.pid);
  process.kill(keeper, 'SIGKILL');
  await says(hub, /the keeper of its children has ended/);
  await gone([pid]);
  await hub.exit;
}, { status: 1 });

kept('children are waited for also where whoever started the hub ignores theirs', section('a', { command: command('serve'), 'restart-delay': '1ms' }), async (hub, peer) => {
  const { pid } = await becomes(peer, 'a', 'running');
  process.kill(pid, 'SIGKILL');
  await gone([pid]);
  let next;
  do next = await becomes(peer, 'a', 'running'); // the hub may hear of the end a moment later
  while (next.pid === pid);
  const { result } = await peer.ask('process', target('a'));
  assert.equal(result.process, next.pid);
}, { under: [PYTHON, '-c', 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])'] });

const STARTS = thoroughly ? 200 : 60; // the release build's hub by its own ring plays all of them
kept(`${STARTS} starts and ends leave no process, no descriptor and no memory`, section('a', { command: command('serve'), 'restart-delay': '1ms', 'restart-delay-max': '1ms', 'restart-limit': '1000' }), async (hub, peer) => {
  const descriptors = () => execFileSync('ls', [`/proc/${hub.process.pid}/fd`]).toString().split('\n').length;
  const stats = async () => (await peer.ask('hub/stats', {})).result;
  const round = async () => {
    const { result } = await peer.ask('process', target('a'));
    const dies = peer.ask('die', target('a'));
    await gone([result.process]);
    assertError(await dies, -32050);
    return result.process;
  };
  const processes = [];
  for (let number = 0; number < 20; number++) await round();
  const before = { descriptors: descriptors(), kept: (await stats()).kept_bytes };
  for (let number = 0; number < STARTS - 20; number++) processes.push(await round());
  await becomes(peer, 'a', 'running');
  assert.ok(descriptors() <= before.descriptors + 2, `${descriptors()} descriptors, ${before.descriptors} before`);
  const after = (await stats()).kept_bytes;
  assert.ok(after <= before.kept + (64 << 10), `${after} bytes kept, ${before.kept} before`);
  assert.ok(processes.every((one) => !existsSync(`/proc/${one}`)), 'no zombie');
});
