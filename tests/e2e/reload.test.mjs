// SIGHUP: the configuration is read again, and no connection notices but by what has changed.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dial, Hub } from './hub.mjs';
import { assertError, requestText, within } from './peer.mjs';

// Waits for the hub to say something that matches, once more than before.
async function says(hub, pattern, count) {
  const enough = () => (hub.stderr.match(pattern) ?? []).length >= count;
  await within(new Promise((resolve) => {
    const look = () => enough() && resolve();
    hub.process.stderr.on('data', look);
    look();
  }), `${pattern}, ${count} times`);
}

// `shards` of the command line; null: those of the file.
async function configured(shards, first, run, under = []) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-reload-'));
  const file = join(directory, 'hub.ini');
  writeFileSync(file, first);
  const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', ...(shards ? ['--shards', String(shards)] : []), '--config', file], {}, under);
  let loads = 0;
  let failures = 0;
  const load = async (text) => {
    writeFileSync(file, text);
    hub.process.kill('SIGHUP');
    await says(hub, /was read again/g, ++loads);
  };
  const loadBad = async (text) => { // null: a directory in the file's place
    rmSync(file);
    if (text === null) mkdirSync(file);
    else writeFileSync(file, text);
    hub.process.kill('SIGHUP');
    await says(hub, /goes on as before/g, ++failures);
  };
  try {
    await run(hub, load, loadBad);
    await hub.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// Each shard takes new settings up at its next turn: a peer's first message after the reload begins one.
async function peers(hub, count) {
  const all = [];
  for (let number = 0; number < count; number++) all.push(await dial(hub.uris[0]));
  hub.peers.push(...all);
  return all;
}

for (const shards of [1, 2]) {
  test(`limits and flags that were changed hold for connections that were there before (--shards ${shards})`, () => configured(shards, 'max-frame = 64K\n', async (hub, load) => {
    const [holder, other, third, fourth] = await peers(hub, 4);
    await holder.register('agent');
    assertError(await other.ask('agent/register', { agentId: 'agent', capabilities: {} }), -32053);
    await load('max-frame = 1K\ntakeover = true\nmax-batch = 2\n');
    await other.register('agent');
    assert.equal((await holder.next()).json.method, 'hub/replaced');
    assert.equal((await third.ask('initialize', {})).result.capabilities.maxFrame, 1024);
    third.send('[1,2,3]');
    assert.equal((await third.next()).json.error.data.limit, 2);
    fourth.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'hub/ping', params: 'x'.repeat(2000) }));
    assert.equal((await fourth.next()).json.error.code, -32055);
    await load('max-frame = 64K\nrequire-initialize = yes\nvalidate = strict\n');
    const [late] = await peers(hub, 1);
    assertError(await late.ask('initialize', {}), -32602);
    assertError(await late.ask('hub/ping'), -32054);
    assert.equal((await third.ask('hub/ping', 'x'.repeat(2000))).result.length, 2000); // it has initialized
  }));

  test(`a configuration that can't be used changes nothing (--shards ${shards})`, () => configured(shards, 'max-frame = 2K\n', async (hub, load, loadBad) => {
    const [peer] = await peers(hub, 1);
    const long = `max-batch = ${'0'.repeat(9000)}5\n`;
    for (const bad of ['max-frame = many\n', 'no-such = 1\n', 'max-frame\n', 'max-frame = 0\n', 'max-batch = 5\0\n', long]) {
      await loadBad(bad);
      assert.equal((await peer.ask('initialize', {})).result.capabilities.maxFrame, 2048);
    }
    assert.equal((await peer.ask('hub/stats')).result.reloads_failed, 6);
    await load(`# ${'x'.repeat(500)} = 1\n  max-frame = 3K\n\tshards = 5\n`);
    assert.match(hub.stderr, /--shards takes effect at the next start/);
    assert.equal((await peer.ask('initialize', {})).result.capabilities.maxFrame, 3072);
    assert.equal((await peer.ask('hub/stats')).result.shards, shards);
  }));
}

test('what the end of a stream means is judged by what holds then', () => configured(2, '', async (hub, load) => {
  const [target, before, after, ...others] = await peers(hub, 8);
  await target.register('target');
  for (const source of [before, after]) source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const ids = [(await target.next()).json.id, (await target.next()).json.id];
  await before.finish();
  await target.silent('the end of one that is still answered');
  // Every shard has had a turn since, and so has seen it.
  for (const other of [...others, ...others]) assert.equal((await other.ask('hub/ping', 1)).result, 1);
  await load('half-close = leave\n');
  await target.silent('the reload'); // its shard, and by the next line the other one, have it
  assert.equal((await after.ask('hub/ping', 1)).result, 1);
  await after.finish();
  const { method, params } = (await target.next()).json;
  assert.equal(method, '$/cancelRequest');
  for (const id of ids) if (id !== params.id) target.reply(id, 'yes');
  assert.equal((await before.next()).json.result, 'yes');
}));

// At the start more is lent to the kernel than the new bound allows in all.
for (const io of ['auto', 'epoll']) {
  test(`the bound of memory can be lowered, and all shards go on serving (--io ${io})`, () => configured(8, `max-memory = 1G\nio = ${io}\n`, async (hub, load) => {
    const all = await peers(hub, 16);
    for (const size of ['24M', '1G', '24M']) {
      await load(`max-memory = ${size}\nio = ${io}\n`);
      for (const peer of [...Array(300).fill(all[0]), ...all]) assert.equal((await peer.ask('hub/ping', size)).result, size);
    }
  }));
}

test('the bound of memory must suffice for the shards that there are, not for those of the next start', () => configured(null, 'max-memory = 1G\nshards = 8\n', async (hub, load, loadBad) => {
  const [peer] = await peers(hub, 1);
  await loadBad('max-memory = 16M\nshards = 2\n');
  assert.match(hub.stderr, /hub\.ini:1: max-memory: expected 24M at least for the 8 shards of this hub/);
  assert.equal((await peer.ask('hub/stats')).result.reloads_failed, 1);
  await load('max-memory = 24M\nshards = 2\n');
}));

// An empty configuration would be none: the defaults for all that was set.
test('what can be opened but not read is no configuration', () => configured(1, 'max-frame = 2K\n', async (hub, load, loadBad) => {
  const [peer] = await peers(hub, 1);
  await loadBad(null);
  assert.match(hub.stderr, /--config: \S+: expected a regular file .*: Is a directory/);
  assert.equal((await peer.ask('initialize', {})).result.capabilities.maxFrame, 2048);
}));

// Tables and sockets are as large and as many as they were at the start.
test('what only the next start can change is said, and stays', () => configured(1, 'max-connections = 3\n', async (hub, load) => {
  const said = () => (hub.stderr.match(/^patchbayd: --[a-z-]+ takes effect at the next start$/gm) ?? []).map((text) => /--([a-z-]+)/.exec(text)[1]);
  const [peer, , third] = await peers(hub, 3);
  let count = 0;
  for (const line of ['max-connections = 9', 'listen = tcp://[::1]:0', 'shards = 2', 'io = epoll', 'spin = 50us', 'coalesce = 50us',
    'audit = journal', 'share-addresses = yes', 'nats = nats://127.0.0.1:4222\ncluster = c']) {
    const kept = line.startsWith('max-connections') ? '' : 'max-connections = 3\n';
    await load(`${kept}${line}\nmax-batch = 5\n`);
    const changed = line.split('\n').map((one) => one.split(' ')[0]);
    assert.deepEqual(said().slice(count).sort(), changed.sort(), line);
    count += changed.length;
  }
  await load('max-connections = 3\nmax-batch = 6\n');
  assert.equal(said().length, count);
  const now = (await peer.ask('hub/stats')).result;
  assert.equal(now.connections, 3);
  const fourth = await dial(hub.uris[0]);
  await fourth.gone('one connection too many to be closed');
  assert.equal((await third.ask('hub/stats')).result.connections_refused, 1);
}));

// A child takes descriptors, which bound the connections.
test('a child that comes is no change of the connections that only the next start makes', () => configured(1, 'max-batch = 4\n', async (hub, load) => {
  await load('max-batch = 5\n[child c]\ncommand = cat\nstart = on-demand\n');
  assert.doesNotMatch(hub.stderr, /takes effect at the next start/);
  await load('max-connections = 9\n');
  assert.match(hub.stderr, /--max-connections takes effect at the next start/);
}, ['prlimit', '--nofile=100']));

// Of what says who may do what silence would be dangerous.
test('users and a gate that come into the configuration are named', () => configured(1, 'max-batch = 4\n', async (hub, load) => {
  const users = join(hub.directory ?? tmpdir(), `patchbay-reload-${process.pid}.users`);
  writeFileSync(users, '[user u]\nuid = 1\nadmin = yes\n');
  await load(`users = ${users}\nmax-batch = 5\n`);
  await load(`gate = manual\nmax-batch = 6\n`);
  rmSync(users);
  assert.deepEqual(hub.stderr.match(/(?<=^patchbayd: ).* takes effect at the next start$/gm), ['--users takes effect at the next start', '--gate takes effect at the next start']);
}));

test('users and a gate that leave the configuration are named, and stay', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-reload-'));
  const users = join(directory, 'users');
  writeFileSync(users, '[user u]\nuid = 1\nadmin = yes\n');
  try {
    await configured(1, `users = ${users}\ngate = manual\n`, async (hub, load) => {
      await load('max-batch = 5\n');
      assert.deepEqual(hub.stderr.match(/(?<=^patchbayd: ).* takes effect at the next start$/gm).sort(), ['--gate takes effect at the next start', '--users takes effect at the next start']);
      const [peer] = await peers(hub, 1);
      assertError(await peer.ask('agent/register', { agentId: 'a', capabilities: {} }), -32054);
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

// A hub without a gate lets pass what a gate would hold.
test('a hold is judged by the gate that the hub has, whatever the file says since', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-reload-'));
  const users = join(directory, 'users');
  const plain = '[user u]\nuid = 1\ncall = *\n', held = `${plain}hold = *\n`;
  const write = (text) => writeFileSync(users, text);
  try {
    write(plain);
    await configured(1, `users = ${users}\n`, async (hub, load, loadBad) => {
      write(held);
      await loadBad(`users = ${users}\ngate = manual\n`);
      assert.match(hub.stderr, /users:4: hold: expected --gate beside it, which takes effect at the next start/);
      assert.doesNotMatch(hub.stderr, /expected a user with admin = yes/);
      write(plain);
      await load(`users = ${users}\ngate = manual\n`);
      assert.doesNotMatch(hub.stderr, /expected a user with admin = yes/);
    });
    write(held);
    await configured(1, `users = ${users}\ngate = manual\n`, async (hub, load) => {
      await load(`users = ${users}\n`);
      assert.match(hub.stderr, /--gate takes effect at the next start/);
      assert.equal(hub.stderr.match(/expected a user with admin = yes/g).length, 2);
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

// The same place, spoken otherwise, is another listener.
test('a listener that is to speak lines does so at the next start', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-reload-'));
  try {
    const file = join(directory, 'hub.ini');
    const listen = (scheme) => `listen = ${scheme}://${directory}/hub.sock\nlisten = tcp-lines://127.0.0.1:0\n`;
    writeFileSync(file, listen('unix'));
    const hub = await Hub.launch(['--config', file]);
    for (const [scheme, count] of [['unix', 0], ['unix-lines', 1], ['unix', 1]]) {
      writeFileSync(file, listen(scheme));
      hub.process.kill('SIGHUP');
      await says(hub, /was read again/g, (hub.stderr.match(/was read again/g) ?? []).length + 1);
      assert.equal((hub.stderr.match(/takes effect at the next start/g) ?? []).length, count);
      const peer = await dial(hub.uris[0]);
      assert.equal((await peer.ask('hub/ping', 1)).result, 1);
      peer.drop();
    }
    await hub.stop();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('reading it again under load loses nothing', () => configured(2, '', async (hub, load) => {
  const [target, ...sources] = await peers(hub, 5);
  (await target.register('target')).serve(({ params }) => params.n);
  let going = true;
  const work = sources.map(async (source) => {
    let n = 0;
    for (; going; n++) assert.equal((await source.ask('m', { targetAgent: 'target', n })).result, n);
    return n;
  });
  for (let round = 0; round < 20; round++) await load(`max-queue = ${1 + (round % 3)}M\n`);
  going = false;
  for (const count of await Promise.all(work)) assert.ok(count > 0);
}));
