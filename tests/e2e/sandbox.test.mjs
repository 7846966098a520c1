// The hub behind its walls. Planted code and the kernel's own account show what the hub can't do any more; other tests,
// what it still does. For each wall there is a test that fails without it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync,
  symlinkSync, writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { file, serving } from './certificates.mjs';
import { dial, Hub } from './hub.mjs';
import { within } from './peer.mjs';

const { PATCHBAYD, PLANTED, REFUSE } = process.env;
if (!PLANTED || !REFUSE) throw new Error('PLANTED and REFUSE must name what is planted and what refuses system calls');

const { EACCES, EPERM, ENOSYS } = constants.errno;
const WALLS = ['privileges', 'files', 'calls', 'ring'];
const IOS = ['uring', 'epoll'];
const ROOT = process.getuid() === 0;
const NOBODY = 65534;
const asRoot = { skip: ROOT ? false : 'takes root' };
// The same numbers on every architecture.
const LANDLOCK_CREATE_RULESET = 444;

const directories = [];
after(() => directories.forEach((one) => rmSync(one, { recursive: true, force: true })));

function makeDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-walls-'));
  directories.push(directory);
  return directory;
}

const secret = join(makeDirectory(), 'secret');
writeFileSync(secret, 'nobody else’s\n');

// A hub with something planted in it.
function launch(acts, options = [], { path = secret, under = [] } = {}) {
  return Hub.launch(['--listen', 'tcp://127.0.0.1:0', ...options], {
    LD_PRELOAD: PLANTED, PLANT: acts, PLANT_PATH: path,
  }, under);
}

// The result of each act, by name.
async function outcomes(hub) {
  const done = new Promise((resolve) => {
    hub.process.stderr.on('data', () => {
      if (hub.stderr.includes('planted all')) resolve();
    });
  });
  hub.process.kill('SIGUSR1');
  await within(Promise.race([done, hub.exit]), 'what is planted');
  return Object.fromEntries([...hub.stderr.matchAll(/^planted (\w+): (\d+)$/gm)].map((line) => [line[1], Number(line[2])]));
}

function status(pid, task = pid) {
  const text = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8');
  return Object.fromEntries(text.trimEnd().split('\n').map((line) => line.split(/:\s*/)));
}

const children = (pid) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter((one) => one).map(Number);

async function sandbox(hub) {
  const peer = await dial(hub.uris[0]);
  const { sandbox } = (await peer.ask('hub/stats')).result;
  peer.drop();
  return sandbox;
}

const check = (options, program = PATCHBAYD, environment = {}) => {
  const { status: code, stdout, stderr } = spawnSync(program, ['--check', ...options], {
    encoding: 'utf8', env: { ...process.env, ...environment },
  });
  return { code, stdout, stderr };
};

const lines = (text) => text.match(/^[^ ].*$/gm);

async function ends(hub) {
  hub.process.kill('SIGTERM');
  await hub.ended();
}

// --- Each wall by itself

const NO_CAPABILITIES = '0000000000000000';
const PROBES = {
  privileges(hub) {
    for (const task of readdirSync(`/proc/${hub.process.pid}/task`)) {
      const now = status(hub.process.pid, task);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb', ...(ROOT ? ['CapBnd'] : [])])
        assert.equal(now[set], NO_CAPABILITIES, set);
      assert.equal(now.NoNewPrivs, '1');
    }
  },
  async files(hub) {
    const { read, write } = await outcomes(hub);
    assert.deepEqual({ read, write }, { read: EACCES, write: EACCES });
  },
  async calls(hub) {
    const { socket, memory } = await outcomes(hub);
    assert.deepEqual({ socket, memory }, { socket: EPERM, memory: EPERM });
    for (const task of readdirSync(`/proc/${hub.process.pid}/task`)) assert.equal(status(hub.process.pid, task).Seccomp, '2');
  },
  ring(_, program) {
    assert.match(check([], program).stdout, /^ring: holds$/m);
  },
};

test('all walls stand by default, by io_uring and by epoll', async () => {
  for (const io of IOS) {
    const hub = await launch('read write socket memory', ['--io', io, '--shards', '2']);
    for (const probe of Object.values(PROBES)) await probe(hub, PATCHBAYD);
    assert.deepEqual(children(hub.process.pid), [], 'nobody who starts programs');
    assert.deepEqual(await sandbox(hub), {
      mode: 'on', privileges: 'up', files: 'up', calls: 'up', ring: io === 'uring' ? 'up' : 'unused',
    });
    await ends(hub);
    assert.doesNotMatch(hub.stderr, /patchbayd:/);
  }
});

for (const missing of WALLS) {
  test(`a hub without the wall around ${missing} fails this wall's test, and no other's`, async () => {
    const program = process.env[`PATCHBAYD_WITHOUT_${missing}`];
    const hub = await launch('read write socket memory', ['--shards', '2'], {
      under: ['sh', '-c', 'shift; exec "$0" "$@"', program], // in the place of the hub
    });
    try {
      for (const wall of WALLS) {
        const verdict = await Promise.resolve().then(() => PROBES[wall](hub, program)).then(() => 'holds', () => 'falls');
        assert.equal(verdict, wall === missing ? 'falls' : 'holds', `${wall}: ${hub.stderr}`);
      }
      const { stdout, code } = check([], program);
      const names = { calls: 'system calls' };
      assert.match(stdout, new RegExp(`^${names[missing] ?? missing}: DOES NOT HOLD$`, 'm'));
      assert.equal(code, 1);
    } finally {
      await ends(hub);
    }
  });
}

for (const act of ['exec', 'process', 'connect', 'ring', 'trace']) {
  test(`what no hub has business with ends it: ${act}`, async () => {
    const hub = await launch(act);
    hub.process.kill('SIGUSR1');
    assert.equal((await within(hub.exit, 'the end')).signal, 'SIGSYS');
  });
}

test('--sandbox off leaves all as it was', async () => {
  const hub = await launch('read socket memory', ['--sandbox', 'off']);
  assert.deepEqual(await outcomes(hub), { read: 0, socket: 0, memory: 0 });
  const { Seccomp, NoNewPrivs } = status(hub.process.pid);
  assert.deepEqual({ Seccomp, NoNewPrivs }, { Seccomp: '0', NoNewPrivs: '0' });
  assert.deepEqual(await sandbox(hub), { mode: 'off', privileges: 'off', files: 'off', calls: 'off', ring: 'off' });
  await ends(hub);
});

test('a hub that keeps secrets leaves no core dump, with walls and without', async () => {
  const users = join(makeDirectory(), 'users');
  writeFileSync(users, '[user me]\nuid = 1\n');
  for (const [options, dump] of [[[], 0], [[...serving, '--listen', 'tls://127.0.0.1:0'], EPERM], [['--users', users], EPERM]]) {
    for (const mode of ['off', 'on']) {
      const hub = await launch('dump', [...options, '--sandbox', mode]);
      assert.deepEqual(await outcomes(hub), { dump }, mode);
      await ends(hub);
    }
  }
});

test('with TLS the key’s folder can be read again, and --user must be able to', asRoot, async () => {
  const keys = makeOpenDirectory();
  for (const name of ['hub.pem', 'hub.key']) copyFileSync(file(name), join(keys, name));
  chmodSync(join(keys, 'hub.key'), 0o600);
  const options = ['--user', 'nobody', '--listen', 'tls://127.0.0.1:0',
    '--tls-certificate', join(keys, 'hub.pem'), '--tls-key', join(keys, 'hub.key')];
  const refused = await launch('', options);
  assert.equal((await within(refused.exit, 'the refusal')).code, 1);
  assert.match(refused.stderr, /hub\.key can't be read again at SIGHUP by nobody: Permission denied/);
  chownSync(join(keys, 'hub.key'), NOBODY, NOBODY);
  const hub = await launch('', options);
  hub.process.kill('SIGHUP');
  await says(hub, /the configuration was read again/, 'the reading');
  await ends(hub);
  writeFileSync(join(keys, 'hub.pem'), 'no certificate');
  assert.equal(check(options).code, 2);
});

// --- A kernel that lacks a wall

test('where the kernel has no Landlock', async () => {
  const under = [REFUSE, String(ENOSYS), String(LANDLOCK_CREATE_RULESET)];
  const hub = await launch('read socket', [], { under });
  assert.match(hub.stderr, /^patchbayd: --sandbox on: no wall around files: the kernel has no Landlock.*$/m);
  assert.equal(hub.stderr.match(/patchbayd:/g).length, 1);
  assert.deepEqual(await outcomes(hub), { read: 0, socket: EPERM });
  assert.equal((await sandbox(hub)).files, 'missing');
  await ends(hub);
  const strict = await launch('', ['--sandbox', 'required'], { under });
  assert.equal((await strict.exit).code, 1);
  assert.match(strict.stderr, /^patchbayd: --sandbox required: no wall around files: /m);
  assert.doesNotMatch(strict.stderr, /listening/);
});

test('where it has all, --sandbox required starts', async () => {
  for (const io of IOS) {
    const hub = await launch('', ['--sandbox', 'required', '--io', io]);
    assert.equal((await sandbox(hub)).mode, 'required');
    await ends(hub);
  }
});

// --- --check

test('--check says what holds, and what can be used', () => {
  const directory = makeDirectory();
  writeFileSync(join(directory, 'hub.ini'), 'max-pending = 7\n');
  const good = check(['--config', join(directory, 'hub.ini'), '--audit', join(directory, 'journal')]);
  assert.deepEqual({ code: good.code, stderr: good.stderr }, { code: 0, stderr: '' });
  assert.deepEqual(lines(good.stdout), [
    'configuration: can be used', 'user: whoever starts the hub', 'privileges: holds', 'files: holds', 'system calls: holds',
    'ring: holds',
  ]);
  assert.match(good.stdout, new RegExp(`^  reads below ${directory}$`, 'm'));
  assert.match(good.stdout, new RegExp(`^  writes below ${directory}$`, 'm'));
  assert.ok(!existsSync(join(directory, 'journal')), 'nothing is made');
  assert.match(check(['--io', 'epoll']).stdout, /^ring: unused$/m);
  assert.match(check(['--sandbox', 'off']).stdout, /^files: off$/m);
  writeFileSync(join(directory, 'hub.ini'), 'max-pending = many\n');
  const bad = check(['--config', join(directory, 'hub.ini')]);
  assert.equal(bad.code, 2);
  assert.match(bad.stderr, /max-pending/);
  writeFileSync(join(directory, 'users'), '[user me]\nnonsense = 1\n');
  const users = check(['--users', join(directory, 'users')]);
  assert.equal(users.code, 2);
  assert.match(users.stderr, /2/);
});

test('--check where a wall is missing', () => {
  const run = (mode) => spawnSync(REFUSE, [String(ENOSYS), String(LANDLOCK_CREATE_RULESET), PATCHBAYD, '--check', '--sandbox', mode],
    { encoding: 'utf8' });
  const on = run('on');
  assert.equal(on.status, 0);
  assert.match(on.stdout, /^files: missing$/m);
  assert.match(on.stdout, /^system calls: holds$/m);
  assert.equal(run('required').status, 1);
});

test('--sandbox takes three words', () => {
  const { code, stderr } = check(['--sandbox', 'strict']);
  assert.equal(code, 2);
  assert.match(stderr, /off, on or required/);
});

// --- What goes on behind the walls

function says(hub, pattern, what) {
  return within(new Promise((resolve) => {
    const look = () => pattern.test(hub.stderr) && resolve();
    hub.process.stderr.on('data', look);
    look();
  }), what);
}

for (const io of IOS) {
  test(`SIGHUP reads what was named, by what the names mean then, and the journal is rotated (${io})`, async () => {
    const directory = makeDirectory(), journals = makeDirectory(), elsewhere = makeDirectory();
    const config = join(directory, 'hub.ini'), journal = join(journals, 'journal');
    // As Kubernetes does: a link to a link whose folder is replaced.
    mkdirSync(join(directory, '1'));
    writeFileSync(join(directory, '1', 'hub.ini'), 'max-batch = 3\n');
    symlinkSync('1', join(directory, 'now'));
    symlinkSync('now/hub.ini', config);
    const hub = await launch('', ['--io', io, '--config', config, '--audit', journal]);
    const peer = await dial(hub.uris[0]);
    const log = (n) => peer.ask('audit/log', { action: `a${n}`, actor: 'me', timestamp: '2024-01-01T00:00:00Z' });
    assert.ok((await log(1)).result, hub.stderr);
    mkdirSync(join(directory, '2'));
    writeFileSync(join(directory, '2', 'hub.ini'), 'max-batch = 1\n');
    symlinkSync('2', join(directory, 'new'));
    renameSync(join(directory, 'new'), join(directory, 'now'));
    renameSync(journal, `${journal}.1`);
    hub.process.kill('SIGHUP');
    await says(hub, /the configuration was read again/, 'the reading');
    assert.ok((await log(2)).result);
    assert.match(readFileSync(`${journal}.1`, 'utf8'), /"a1"/);
    assert.doesNotMatch(readFileSync(`${journal}.1`, 'utf8'), /"a2"/);
    assert.match(readFileSync(journal, 'utf8'), /"a2"/);
    // A file that was never named stays out of reach, wherever a name leads now.
    writeFileSync(join(elsewhere, 'hub.ini'), 'max-batch = 2\n');
    rmSync(config);
    symlinkSync(join(elsewhere, 'hub.ini'), config);
    hub.process.kill('SIGHUP');
    await says(hub, /hub\.ini: expected a regular file .*: Permission denied/, 'the refusal');
    assert.ok((await log(3)).result);
    peer.drop();
    await ends(hub);
  });

  test(`children are outside, and the Unix socket's file goes at the end (${io})`, async () => {
    const directory = makeDirectory();
    const config = join(directory, 'hub.ini');
    const section = (name) => `[child ${name}]\ncommand = sh -c 'grep -E "^(Seccomp|NoNewPrivs):" /proc/self/status | tr "\\t" _ >&2; cat ${secret} >&2; exec cat >/dev/null'\n`;
    writeFileSync(config, section('first'));
    const socket = join(directory, 'hub.sock');
    const hub = await launch('', ['--io', io, '--config', config, '--listen', `unix://${socket}`]);
    for (const name of ['first', 'second']) {
      await says(hub, new RegExp(`^${name}: nobody else’s$`, 'm'), `${name} to read`);
      assert.match(hub.stderr, new RegExp(`^${name}: NoNewPrivs:_0$`, 'm'));
      assert.match(hub.stderr, new RegExp(`^${name}: Seccomp:_0$`, 'm'));
      writeFileSync(config, section('first') + section('second'));
      if (name === 'first') hub.process.kill('SIGHUP');
    }
    assert.ok(existsSync(socket));
    await ends(hub);
    assert.ok(!existsSync(socket));
  });
}

test('a service manager is told behind the walls, by a path and by an abstract name', async () => {
  for (const name of [join(makeDirectory(), 'notify'), `@patchbay-notify-${process.pid}`]) {
    const manager = spawn('python3', ['-c', `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
print(s.recv(100).decode(), flush=True)`, name], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    const told = (pattern) => new Promise((resolve) => {
      manager.stdout.on('data', (part) => { text += part; if (pattern.test(text)) resolve(); });
    });
    await within(told(/bound/), 'the manager');
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0'], { NOTIFY_SOCKET: name });
    await within(told(/READY=1/), 'the manager to be told').finally(() => manager.kill());
    await ends(hub);
  }
});

// --- --user

// A folder that another user can reach.
function makeOpenDirectory() {
  const directory = makeDirectory();
  chmodSync(directory, 0o755);
  return directory;
}

// Runs the hub as nobody, from where nobody can: what is tested may lie in a folder of root's own.
function asNobody() {
  const directory = makeOpenDirectory();
  for (const one of [PATCHBAYD, PLANTED]) copyFileSync(one, join(directory, basename(one)));
  chmodSync(join(directory, basename(PATCHBAYD)), 0o755);
  chmodSync(join(directory, basename(PLANTED)), 0o755);
  return ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', 'env', `LD_PRELOAD=${join(directory, basename(PLANTED))}`,
    'sh', '-c', 'shift; exec "$0" "$@"', join(directory, basename(PATCHBAYD))];
}

for (const io of IOS) {
  test(`--user: the hub, its keeper and its children become this user (${io})`, asRoot, async () => {
    const directory = makeOpenDirectory();
    const config = join(directory, 'hub.ini'), journals = join(directory, 'journals');
    const socket = join(directory, 'hub.sock');
    mkdirSync(journals);
    chownSync(journals, NOBODY, NOBODY);
    writeFileSync(config, "[child one]\ncommand = sh -c 'id -u >&2; echo $USER >&2; exec cat >/dev/null'\n");
    const hub = await launch('', ['--io', io, '--user', 'nobody', '--config', config, '--audit', join(journals, 'journal'),
      '--listen', `unix://${socket}`]);
    const { pid } = hub.process;
    for (const one of [pid, ...children(pid)]) {
      const now = status(one);
      assert.match(now.Uid, /^(65534\s*){4}$/);
      assert.match(now.Gid, /^(65534\s*){4}$/);
      assert.match(now.Groups.trim(), /^(65534)?$/);
      assert.equal(now.CapEff, NO_CAPABILITIES);
    }
    await says(hub, /^one: 65534$/m, 'the child’s user');
    await says(hub, /^one: nobody$/m, 'the child’s environment');
    assert.equal(statSync(socket).uid, NOBODY);
    assert.equal(statSync(join(journals, 'journal')).uid, NOBODY);
    hub.process.kill('SIGHUP');
    await says(hub, /the configuration was read again/, 'the reading');
    const peer = await dial(`unix://${socket}`);
    assert.equal((await peer.ask('hub/ping', [1])).result[0], 1);
    peer.drop();
    await ends(hub);
  });
}

test('--user: what SIGHUP reads again must be readable', asRoot, async () => {
  const config = join(makeOpenDirectory(), 'hub.ini');
  writeFileSync(config, '', { mode: 0o600 });
  const hub = await launch('', ['--user', 'nobody', '--config', config]);
  assert.equal((await within(hub.exit, 'the refusal')).code, 1);
  assert.match(hub.stderr, /hub\.ini can't be read again at SIGHUP by nobody: Permission denied/);
  assert.doesNotMatch(hub.stderr, /listening/);
  for (const mode of ['on', 'off']) {
    const checked = check(['--user', 'nobody', '--config', config, '--sandbox', mode]);
    assert.equal(checked.code, 1, mode);
    assert.match(checked.stderr, /hub\.ini can't be read again at SIGHUP by nobody: Permission denied/);
  }
});

test('--user: nobody of this name, and nobody but root', asRoot, async () => {
  const none = await launch('', ['--user', 'nobody-at-all']);
  assert.equal((await none.exit).code, 2);
  assert.match(none.stderr, /--user: nobody-at-all: expected a user of this machine: there is no such user/);
  const other = await launch('', ['--user', 'daemon'], { under: asNobody() });
  assert.equal((await other.exit).code, 2);
  assert.match(other.stderr, /--user: daemon: expected root, which alone can become another user/);
});

test('who isn’t root has the same walls', asRoot, async () => {
  const hub = await launch('read write socket memory', ['--sandbox', 'required'], {
    under: asNobody(),
  });
  assert.match(status(hub.process.pid).Uid, /^(65534\s*){4}$/);
  assert.equal(status(hub.process.pid).NoNewPrivs, '1');
  await PROBES.calls(hub);
  await PROBES.files(hub);
  await ends(hub);
});
