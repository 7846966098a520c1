// Starting: the hub's addresses, its lines, and its refusals. A hub that can't do what it was told says so in a clear
// line, and its status isn't 0.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dial, Hub } from './hub.mjs';
import { within } from './peer.mjs';

const ANY = 'tcp://127.0.0.1:0';

async function inDirectory(run) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-options-'));
  try {
    await run(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// Starts a hub that must not start; returns what it said.
async function refuses(args, pattern = /./) {
  const hub = await Hub.launch(args);
  if (hub.uris?.length > 0) hub.process.kill('SIGKILL');
  const { code, signal } = await within(hub.exit, `patchbayd ${args.join(' ')} to refuse`);
  assert.ok(!(hub.uris?.length > 0), `patchbayd ${args.join(' ')} started`);
  assert.equal(signal, null, hub.stderr);
  assert.notEqual(code, 0, `patchbayd ${args.join(' ')}`);
  assert.match(hub.stderr, pattern, `patchbayd ${args.join(' ')}`);
  assert.ok(hub.stderr.trim().split('\n').length <= 4, `more than a clear line: ${hub.stderr}`);
  assert.doesNotMatch(hub.stderr, /Sanitizer|runtime error|Assertion/);
}

async function pings(uri) {
  const peer = await dial(uri);
  assert.equal((await peer.ask('hub/ping', uri)).result, uri);
  peer.drop();
}

test('every --listen is served and named, in order, port 0 with the port that was picked', () => inDirectory(async (directory) => {
  const hub = await Hub.launch(['--listen', ANY, '--listen', `unix://${directory}/a.sock`, '--listen', ANY]);
  assert.match(hub.uris[0], /^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.equal(hub.uris[1], `unix://${directory}/a.sock`);
  assert.match(hub.uris[2], /^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.notEqual(hub.uris[0], hub.uris[2]);
  for (const uri of hub.uris) await pings(uri);
  await hub.stop();
  assert.equal(hub.stderr.match(/^listening /gm).length, 3);
}));

test('lines have listeners of their own, named as they were given, beside the others', () => inDirectory(async (directory) => {
  const uris = [ANY, 'tcp-lines://127.0.0.1:0', `unix-lines://${directory}/l.sock`, `unix://${directory}/a.sock`, 'tcp-lines://[::1]:0'];
  const hub = await Hub.launch(uris.flatMap((uri) => ['--listen', uri]));
  assert.match(hub.uris[1], /^tcp-lines:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.equal(hub.uris[2], `unix-lines://${directory}/l.sock`);
  assert.match(hub.uris[4], /^tcp-lines:\/\/\[::1\]:[1-9]\d*$/);
  for (const uri of hub.uris) await pings(uri);
  await hub.stop();
  assert.ok(!existsSync(join(directory, 'l.sock')), 'the socket file is still there');
}));

test('an address that can\'t be served is told with what is expected instead', () => inDirectory(async (directory) => {
  const hub = await Hub.launch(['--listen', ANY]);
  await refuses(['--listen', hub.uris[0]], /can't listen on tcp:\S+: expected a free port: another process uses this port: Address already in use\n/);
  await refuses(['--listen', 'tcp://192.0.2.1:7411', '--insecure'], /can't listen on tcp:\S+: expected an address of this machine: Cannot assign requested address\n/);
  await refuses(['--listen', `unix://${directory}/none/s`], /--listen: unix:\S+: expected a folder that can be written, in which the socket is made: No such file or directory\n/);
  await hub.stop();
}));

// Each source names a socket of its own; which of them are served is in the order of their names.
test('of the command line and the files it names, the last that names listeners names all of them', () => inDirectory(async (directory) => {
  const uri = (name) => `unix://${directory}/${name}`;
  const file = (name, ...lines) => {
    writeFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(''));
    return ['--config', join(directory, name)];
  };
  const two = file('two.ini', `listen = ${uri('c1')}`, 'max-frame = 1M', `listen = ${uri('c2')}`);
  const other = file('other.ini', `listen = ${uri('d')}`, `listen = ${uri('e')}`);
  const none = file('none.ini', 'max-frame = 1M');
  for (const [args, served] of [
    [[...two, '--listen', uri('a')], ['a']],
    [[...two, '--listen', uri('a'), '--listen', uri('b')], ['a', 'b']],
    [['--listen', uri('a'), ...two], ['c1', 'c2']],
    [[...two, ...other], ['d', 'e']],
    [['--listen', uri('a'), ...none, '--listen', uri('b')], ['a', 'b']],
  ]) {
    const hub = await Hub.launch(args);
    await hub.stop();
    assert.deepEqual(hub.stderr.match(/(?<=^listening ).*/gm), served.map(uri), args.join(' '));
  }
}));

// With few descriptors (a hard limit) connections past what they are enough for are refused, none is left waiting for ever.
test('where descriptors are few the hub says so, refuses what it has none for, and goes on', async () => {
  const under = ['prlimit', '--nofile=100'];
  const hub = await Hub.launch(['--listen', ANY, '--http', '127.0.0.1:0', '--shards', '2'], {}, under);
  const [, most] = /^patchbayd: 100 file descriptors \(ulimit -n\) are enough for (\d+) connections, and --max-connections is 65536: raise ulimit -n, or lower --max-connections$/m.exec(hub.stderr);
  const ready = () => fetch(`${hub.uris[1]}/readyz`).then((answer) => answer.status);
  const peers = [];
  for (let number = 0; number < 130; number++) {
    const peer = await dial(hub.uris[0]);
    if (await peer.ask('hub/ping', number).catch(() => null)) peers.push(peer); // else it was closed
  }
  assert.ok(peers.length >= Number(most) - 2 && peers.length <= Number(most), `${peers.length} of ${most} are served`);
  for (const peer of peers.splice(0, 4)) peer.drop();
  for (let tries = 0; await ready().catch(() => 0) !== 200; tries++) assert.ok(tries < 100, 'it is ready again');
  const figures = (await peers[0].ask('hub/stats')).result;
  assert.equal(figures.connections_max, Number(most));
  assert.equal(figures.accepts_failed ?? 0, 0);
  for (const peer of peers) peer.drop();
  await hub.stop();
  const checked = spawnSync('prlimit', ['--nofile=100', process.env.PATCHBAYD, '--listen', ANY, '--check'], { encoding: 'utf8' });
  assert.match(checked.stderr, /100 file descriptors/);
});

test('peers over different transports meet', () => inDirectory(async (directory) => {
  const hub = await Hub.launch(['--listen', ANY, '--listen', `unix://${directory}/a.sock`, '--shards', '2']);
  const target = await dial(hub.uris[0]);
  (await target.register('target')).serve(() => 'over tcp');
  const source = await dial(hub.uris[1]);
  assert.equal((await source.ask('m', { targetAgent: 'target' })).result, 'over tcp');
  target.drop();
  source.drop();
  await hub.stop();
}));

test('the Unix socket is for its owner alone, and its file goes with the hub', () => inDirectory(async (directory) => {
  const path = join(directory, 'a.sock');
  const hub = await Hub.launch(['--listen', `unix://${path}`]);
  assert.equal(lstatSync(path).mode & 0o777, 0o600);
  await hub.stop();
  assert.ok(!existsSync(path), 'the socket file is still there');
}));

test('a socket file that nobody listens on is replaced', () => inDirectory(async (directory) => {
  const path = join(directory, 'a.sock');
  const first = await Hub.launch(['--listen', `unix://${path}`]);
  first.process.kill('SIGKILL');
  await within(first.exit, 'the kill');
  assert.ok(existsSync(path), 'a killed hub leaves its file');
  const second = await Hub.launch(['--listen', `unix://${path}`]);
  assert.deepEqual(second.uris, [`unix://${path}`], second.stderr);
  await pings(second.uris[0]);
  await second.stop();
}));

test('a Unix socket in use, and a file that is no socket, are left alone', () => inDirectory(async (directory) => {
  const path = join(directory, 'a.sock');
  const hub = await Hub.launch(['--listen', `unix://${path}`]);
  await refuses(['--listen', `unix://${path}`], /a\.sock/);
  await pings(hub.uris[0]);
  await hub.stop();
  const file = join(directory, 'notes.txt');
  writeFileSync(file, 'precious');
  await refuses(['--listen', `unix://${file}`], /notes\.txt/);
  assert.ok(lstatSync(file).isFile());
}));

test('two hubs on one port: the second says so and ends, the first goes on', async () => {
  for (const shards of ['1', '2']) {
    const hub = await Hub.launch(['--listen', ANY, '--shards', shards]);
    const port = new URL(hub.uris[0]).port;
    await refuses(['--listen', hub.uris[0], '--shards', shards], new RegExp(port));
    await pings(hub.uris[0]);
    await hub.stop();
  }
});

test('one listener that fails stops them all', () => inDirectory(async (directory) => {
  const path = join(directory, 'a.sock');
  await refuses(['--listen', `unix://${path}`, '--listen', `unix://${directory}/no/such/b.sock`], /b\.sock/);
  assert.ok(!existsSync(path), 'the socket file of a hub that did not start is still there');
}));

test('a TCP address that is not loopback needs --insecure', async () => {
  for (const host of ['0.0.0.0', '[::]', '192.0.2.1']) {
    await refuses(['--listen', `tcp://${host}:0`], /insecure|loopback|authentication/i);
    await refuses(['--listen', `tcp-lines://${host}:0`], /insecure|loopback|authentication/i);
  }
  const hub = await Hub.launch(['--insecure', '--listen', 'tcp://0.0.0.0:0']);
  assert.equal(hub.uris?.length, 1, hub.stderr);
  await pings(`tcp://127.0.0.1:${/:(\d+)$/.exec(hub.uris[0])[1]}`);
  await hub.stop();
});

const BAD = [
  ['--no-such-option'], ['stray'], ['--listen'], ['--listen', ''], ['--listen', 'ftp://127.0.0.1:1'],
  ['--listen', 'tcp://127.0.0.1'], ['--listen', 'tcp://127.0.0.1:65536'], ['--listen', 'tcp://127.0.0.1:x'],
  ['--listen', 'tcp://:7411'], ['--listen', 'tcp://127.0.0.1:-1'], ['--listen', '127.0.0.1:0'], ['--listen', 'unix://'],
  ['--listen', 'tcp-line://127.0.0.1:0'], ['--listen', 'tcp-://127.0.0.1:0'], ['--listen', 'tcp-framed://127.0.0.1:0'],
  ['--listen', 'unix-lines://'], ['--listen', 'lines:///tmp/x'], ['--listen', 'tcp-LINES://127.0.0.1:0'],
  ['--listen', `unix:///tmp/${'x'.repeat(200)}`], ['--shards', '0'], ['--shards', '-1'], ['--shards', 'many'],
  ['--shards', '1000000'], ['--shards'], ['--max-frame', 'big'], ['--max-frame', '0'], ['--max-frame', '16X'],
  ['--max-frame', '-1K'], ['--max-frame', '99999999999999999999G'], ['--max-queue', ''], ['--request-timeout', '5'],
  ['--request-timeout', '5 s'], ['--request-timeout', 'soon'], ['--request-timeout', '-5s'], ['--request-timeout', '1500us'], ['--spin', '1s'], ['--spin', 'on'], ['--coalesce', '2ms'], ['--coalesce', 'on'], ['--drain-timeout', '1d2h'],
  ['--validate', 'sometimes'], ['--half-close', 'stay'], ['--max-pending', '1.5'], ['--max-connections', 'x'],
];

for (const args of BAD) {
  test(`refused at start: ${args.join(' ').slice(0, 60)}`, async () => {
    const listen = args[0] === '--listen' ? [] : ['--listen', ANY];
    await refuses([...listen, ...args], args[0].startsWith('--') ? new RegExp(args[0].slice(2)) : /argument 3: expected an option/);
  });
}

test('sizes and times have their units', async () => {
  const good = [['--max-frame', '64K'], ['--max-frame', '1M'], ['--max-queue', '1G'], ['--request-timeout', '250ms'],
    ['--request-timeout', '5s'], ['--request-timeout', '10m'], ['--spin', '50us'], ['--spin', 'off'], ['--coalesce', '50us'], ['--coalesce', 'off'], ['--validate', 'lazy'], ['--validate', 'strict'],
    ['--half-close', 'answer'], ['--half-close', 'leave'], ['--max-pending', '10']];
  for (const args of good) {
    const hub = await Hub.launch(['--listen', ANY, ...args]);
    assert.equal(hub.uris?.length, 1, `${args.join(' ')}: ${hub.stderr}`);
    await hub.stop();
  }
});

test('--takeover: the new holder gets the agentId, the old one is told', async () => {
  for (const shards of ['1', '2']) {
    const hub = await Hub.launch(['--listen', ANY, '--takeover', '--shards', shards]);
    const [first, second, source] = [await dial(hub.uris[0]), await dial(hub.uris[0]), await dial(hub.uris[0])];
    await first.register('name');
    await second.register('name');
    second.serve(() => 'second');
    const told = (await first.find((one) => one.json.method === 'hub/replaced', 'hub/replaced')).json;
    assert.match(JSON.stringify(told.params), /name/);
    assert.ok(!('id' in told));
    assert.equal((await source.ask('m', { targetAgent: 'name' })).result, 'second');
    assert.equal((await first.ask('agent/unregister', { agentId: 'name' })).error.code, -32010);
    for (const peer of [first, second, source]) peer.drop();
    await hub.stop();
  }
});

test('--coalesce: how many waits were held is told, and none is while the hub rests', async () => {
  for (const args of [[], ['--coalesce', 'off'], ['--coalesce', '1ms', '--spin', '50us'], ['--io', 'epoll']]) {
    const hub = await Hub.launch(['--listen', ANY, ...args]);
    const peer = await dial(hub.uris[0]);
    assert.equal((await peer.ask('hub/stats')).result.waits_held, 0, args.join(' '));
    peer.drop();
    await hub.stop();
  }
});

test('--require-initialize: any other request gets -32054 before it', async () => {
  const hub = await Hub.launch(['--listen', ANY, '--require-initialize']);
  const peer = await dial(hub.uris[0]);
  for (const method of ['agent/register', 'm', 'agent/request', 'hub/agents']) {
    assert.equal((await peer.ask(method, { agentId: 'a', capabilities: {} })).error?.code, -32054, method);
  }
  const params = { processId: 1, agentId: 'a', capabilities: {}, governanceLevel: 'autonomous' };
  assert.equal((await peer.ask('initialize', params)).result.serverInfo.name, 'patchbay');
  await peer.register('a');
  peer.drop();
  await hub.stop();
});

test('--max-memory must suffice for what the shards lend to the kernel', async () => {
  await refuses(['--listen', ANY, '--max-memory', '16M', '--shards', '6'], /--max-memory: expected 18M or more for 6 shards/);
  const hub = await Hub.launch(['--listen', ANY, '--max-memory', '16M', '--shards', '5']);
  await pings(hub.uris[0]);
  await hub.stop();
});
