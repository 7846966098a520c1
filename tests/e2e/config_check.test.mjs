// --check: every fault of the configuration, and of what it names, has its place; and nothing is bound, written or told to anybody.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { listen } from './listeners.mjs';

const ANY = ['--listen', 'tcp://127.0.0.1:0'];
const EPERM = '1';
const SYS_BIND = '49';
const SYS_CONNECT = '42';

function inFolder(run) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'patchbay-check-'));
    try {
      await run(folder, (name, text) => {
        writeFileSync(join(folder, name), text);
        return join(folder, name);
      });
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20 }); // a child that ends may still write
    }
  };
}

const check = (...options) => spawnSync(process.env.PATCHBAYD, [...options, '--check', '--sandbox', 'off'], { encoding: 'utf8' });
const linesOf = (text, folder) => text.trimEnd().split('\n').map((line) => line.replaceAll(`${folder}/`, ''));

test('all faults are named, in all files and on the command line, each with its place', inFolder((folder, write) => {
  const token = createHash('sha256').update('t').digest('hex');
  const config = write('hub.ini', [
    'max-frame = 99G', 'max-qeue = 1M', 'a line', 'gate = sometimes', 'max-batch = 1', 'max-batch = 2', 'nats = nats://u:s3cret@h:x',
    '[child a]', 'set TOKEN = s3cret', 'restart-limit = many', 'comand = x', '[hubs]', 'max-batch = x', '[child b]', '',
  ].join('\n'));
  const users = write('users', `[user u]\ntoken = sha256:${token}\nrate = 5\ncal = x\n[user u]\n`);
  const { status, stdout, stderr } = check('--config', config, '--users', users, '--shards', '100', '--bogus', '--tls-certificate', join(folder, 'none.pem'));
  assert.equal(status, 2);
  assert.equal(stdout, '');
  assert.deepEqual(linesOf(stderr, folder), [
    "hub.ini:1: max-frame: expected a size such as 64K, 16M or 1G, from 1 to 1G, not '99G'",
    'hub.ini:2: max-qeue: expected a key that there is; patchbayd --help lists them',
    'hub.ini:3: expected KEY = VALUE',
    "hub.ini:4: gate: expected off, human-in-the-loop or manual, not 'sometimes'",
    'hub.ini:6: max-batch: expected a key that is given once: line 5 gives it, too',
    "hub.ini:7: nats: expected a server's HOST:PORT: a name or a numeric address, and a port from 1 to 65535",
    "hub.ini:10: restart-limit: expected a number from 0 to 1000000, not 'many'",
    'hub.ini:11: comand: expected a key of children; patchbay.conf(5) lists them',
    'hub.ini:12: hubs: expected [child NAME]: there are no other sections',
    'hub.ini:14: b: expected a command',
    "--shards: expected a number, from 1 to 64, not '100'",
    '--bogus: expected an option; --help lists them',
    'users:3: rate: expected a number a second from 1/s to 1000000000/s, such as 1000/s',
    'users:4: cal: expected a key of users and roles; patchbay-users(5) lists them',
    'users:5: expected a name that no other section has',
    '--tls-certificate: TLS: none.pem: expected a regular file that can be read: No such file or directory',
  ]);
  assert.doesNotMatch(stderr, /s3cret/);
}));

test('an address of HTTP that cannot be read is a fault and nothing else', inFolder((folder, write) => {
  const refused = (place, text) => `${place}: expected HOST:PORT, https://HOST:PORT or off, with a port from 0 to 65535, not '${text}'`;
  for (const text of ['nothing', '127.0.0.1:99999', 'tcp-lines://127.0.0.1:0', 'unix:///x', 'http://']) {
    const file = check('--config', write('hub.ini', `http = ${text}\n`));
    assert.deepEqual([file.status, linesOf(file.stderr, folder)], [2, [refused('hub.ini:1: http', text)]]);
    const word = check(...ANY, '--http', text);
    assert.deepEqual([word.status, linesOf(word.stderr, folder)], [2, [refused('--http', text)]]);
  }
}));

test('a word of the command line that is no option is named by its place, as it may be a secret', () => {
  const { status, stderr } = check('nats://u:s3cret@h', '--nats-password', 's3cret', '--nats:nats://u:s3cret@h', '--tokn=s3cret', `--${'s3cret'.repeat(20)}`);
  assert.equal(status, 2);
  assert.deepEqual(linesOf(stderr), ['argument 1', '--nats-password', 'argument 3', 'argument 4', '--tokn', 'argument 6'].map((place) => `${place}: expected an option; --help lists them`));
});

test('whoever asks for help or the version beside a fault learns the fault', () => {
  const run = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.env.PATCHBAYD, args, { encoding: 'utf8' });
    return [status, stdout.split('\n')[0], linesOf(stderr)];
  };
  const fault = '--nosuch: expected an option; --help lists them';
  for (const args of [['--version', '--nosuch'], ['--nosuch', '--version'], ['--help', '--nosuch'], ['--nosuch', '--help']]) assert.deepEqual(run(...args), [2, '', [fault]], args.join(' '));
  for (const [args, shown] of [[['--version'], /^patchbayd \d/], [['--version', '--help'], /^patchbayd \d/], [['--help', '--version'], /^patchbayd: /], [['--shards', '1', '--version'], /^patchbayd \d/]]) {
    const [status, first, faults] = run(...args);
    assert.deepEqual([status, faults], [0, ['']], args.join(' '));
    assert.match(first, shown);
  }
});

test('what a start would not find is named where the key stands', inFolder(async (folder, write) => {
  const taken = await listen(net.createServer());
  const { port } = taken.address();
  const config = write('hub.ini', [
    `audit = ${folder}/none/journal`, '[child a]', `command = ${folder}/program`, `directory = ${folder}/nowhere`, `secret TOKEN = ${folder}/secret`,
    '[child b]', 'command = sh', 'set PATH = /nowhere', '[child c]', 'command = sh', '',
  ].join('\n'));
  const faulty = check('--config', config, '--listen', `unix://${folder}/none/socket`, '--listen', 'tcp://192.0.2.1:0', '--insecure');
  assert.equal(faulty.status, 2);
  assert.deepEqual(linesOf(faulty.stderr, folder), [
    "--listen: unix://none/socket: expected a folder that can be written, in which the socket is made: No such file or directory",
    '--listen: tcp://192.0.2.1:0: expected an address of this machine: Cannot assign requested address',
    'hub.ini:1: audit: none/journal: expected a regular file that can be written, or be made: No such file or directory',
    'hub.ini:4: directory: child a: nowhere: expected a folder that can be entered: No such file or directory',
    'hub.ini:3: command: child a: program: expected a program that can be run: No such file or directory',
    'hub.ini:5: secret TOKEN: child a: secret: expected a regular file that can be read: No such file or directory',
    'hub.ini:7: command: child b: sh: expected a program that can be run: No such file or directory',
  ]);
  // An address in use is no fault of the configuration: a hub may run there.
  const used = check('--listen', `tcp://127.0.0.1:${port}`);
  assert.equal(used.status, 1);
  assert.match(used.stderr, new RegExp(`^--listen: tcp://127.0.0.1:${port}: expected a free port: another process uses this port`));
  assert.equal(check('--listen', `tcp://127.0.0.1:${port}`, '--share-addresses').status, 0);
  assert.equal(check('--listen', `tcp://[::1]:${port}`).status, 0);
  taken.close();
}));

test('a start, and SIGHUP, name what --check names: the journal as a fault, programs as warnings', inFolder(async (folder, write) => {
  const child = ['[child a]', 'command = no-such-program', `directory = ${folder}/nowhere`, 'secret KEY = /no-such-secret', '[child b]', 'command = /etc/passwd', ''];
  const start = (...options) => spawn(process.env.PATCHBAYD, [...ANY, '--http', 'off', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  const told = (line) => [`hub.ini:${line + 2}: directory: child a: nowhere: expected a folder that can be entered: No such file or directory`, `hub.ini:${line + 1}: command: child a: no-such-program: expected a program that can be run: No such file or directory`,
    `hub.ini:${line + 3}: secret KEY: child a: /no-such-secret: expected a regular file that can be read: No such file or directory`, `hub.ini:${line + 5}: command: child b: /etc/passwd: expected a program that can be run: Permission denied`];
  const faulty = write('hub.ini', [`audit = ${folder}/none/journal`, 'users = /no-such-users', 'tls-certificate = /no-such-certificate', 'tls-key = /no-such-key', ...child].join('\n'));
  const ended = spawnSync(process.env.PATCHBAYD, [...ANY, '--config', faulty], { encoding: 'utf8' });
  assert.equal(ended.status, 2);
  const expected = ['hub.ini:1: audit: none/journal: expected a regular file that can be written, or be made: No such file or directory', 'hub.ini:2: users: /no-such-users: expected a regular file of up to 16M that can be read: No such file or directory',
    'hub.ini:3: tls-certificate: TLS: /no-such-certificate: expected a regular file that can be read: No such file or directory', 'hub.ini:4: tls-key: TLS: /no-such-key: expected a regular file that can be read: No such file or directory'];
  assert.deepEqual(linesOf(ended.stderr, folder).map((line) => line.replace(/^patchbayd: /, '')).sort(), [...expected, ...told(5)].sort());
  assert.deepEqual(linesOf(check('--config', faulty).stderr, folder).sort(), [...expected, ...told(5)].sort());
  const hub = start('--config', write('hub.ini', '# no child yet\n'));
  try {
    let said = '';
    hub.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
    const says = async (what) => {
      for (let tries = 0; tries < 400 && !what.test(said); tries++) await new Promise((done) => { setTimeout(done, 25); });
      assert.match(said, what);
    };
    await says(/listening/);
    write('hub.ini', child.join('\n'));
    said = '';
    hub.kill('SIGHUP');
    await says(/was read again/);
    for (const line of told(1)) assert.ok(said.replaceAll(`${folder}/`, '').includes(line), said);
  } finally {
    hub.kill('SIGKILL');
  }
}));

// Whoever starts the hub may use them, the user that the hub becomes may not.
test('programs, folders and secrets of children are tried as the user that the hub becomes', { skip: process.getuid() ? 'only root can become another user' : false }, inFolder((folder, write) => {
  chmodSync(folder, 0o711);
  const only = (name, mode) => { chmodSync(write(name, '#!/bin/sh\n'), mode); return join(folder, name); };
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const child = ['user = nobody', '[child a]', `command = ${only('program', 0o700)}`, `directory = ${closed}`, `secret KEY = ${only('secret', 0o600)}`,
    '[child b]', `command = ${only('all', 0o755)}`, `directory = ${folder}`, `secret KEY = ${only('read', 0o644)}`, ''];
  const { status, stderr } = check(...ANY, '--config', write('hub.ini', child.join('\n')));
  assert.deepEqual([status, linesOf(stderr, folder)], [2, ['hub.ini:4: directory: child a: closed: expected a folder that can be entered: Permission denied', 'hub.ini:3: command: child a: program: expected a program that can be run: Permission denied',
    'hub.ini:5: secret KEY: child a: secret: expected a regular file that can be read: Permission denied']]);
  for (const user of ['', 'user = root']) assert.equal(check(...ANY, '--config', write('hub.ini', [user, ...child.slice(1)].join('\n'))).status, 0);
  const plain = write('hub.ini', `user = root\n[child a]\ncommand = ${join(folder, 'read')}\n`);
  assert.deepEqual(linesOf(check(...ANY, '--config', plain).stderr, folder), ['hub.ini:3: command: child a: read: expected a program that can be run: Permission denied']);
}));

test('a users file that cannot be read is named once, and the status is 2', inFolder((folder, write) => {
  const places = [[['--users', folder], '--users', 'Is a directory'], [['--users', join(folder, 'none')], '--users', 'No such file or directory'],
    [['--config', write('hub.ini', `users = ${folder}/none\n`)], 'hub.ini:1: users', 'No such file or directory']];
  for (const [options, place, why] of places) {
    for (const more of [['--sandbox', 'on'], ['--sandbox', 'off'], ['--check'], ...process.getuid() ? [] : [['--user', 'nobody']]]) {
      const { status, stderr } = spawnSync(process.env.PATCHBAYD, [...ANY, '--http', 'off', ...options, ...more], { encoding: 'utf8' });
      const file = why.startsWith('Is') ? folder : 'none';
      assert.deepEqual([status, linesOf(stderr, folder)], [2, [`${place}: ${file}: expected a regular file of up to 16M that can be read: ${why}`]], more.join(' '));
    }
  }
}));

test('a program that is a whole command in quotes shows no secret of the command', inFolder(async (folder, write) => {
  const file = write('hub.ini', 'extension = token=KEY-OF-EXTENSION\n[child a]\ncommand = "/bin/none --token KEY-OF-NONE"\nrestart-limit = 0\n');
  const { status, stderr } = check(...ANY, '--config', file);
  assert.deepEqual([status, linesOf(stderr, folder)], [2, ['hub.ini:1: extension: child token: ***: expected a program that can be run: No such file or directory', 'hub.ini:3: command: child a: /bin/none --token ***: expected a program that can be run: No such file or directory']]);
  const hub = spawn(process.env.PATCHBAYD, [...ANY, '--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  for await (const part of hub.stderr.setEncoding('utf8')) {
    said += part;
    if (said.includes("a: can't run /bin/none --token ***:") && said.includes("token: can't run ***:")) hub.kill();
  }
  assert.doesNotMatch(said, /KEY/);
}));

test("an extension's folder for data that can be neither made nor written to is named, and a start goes on", inFolder(async (folder, write) => {
  const file = write('file', ''), own = join(folder, 'own');
  mkdirSync(own, { mode: 0o700 });
  symlinkSync(join(folder, 'none'), join(folder, 'link'));
  const section = (name, data) => [`[child ${name}]`, 'command = cat', 'protocol = hermes', `data = ${data}`];
  const good = [...section('new', `${folder}/a/b/c`), ...section('old', folder), ...section('ends', `${folder}/d/`), '[child plain]', 'command = cat', `data = ${file}`];
  assert.equal(check(...ANY, '--config', write('hub.ini', good.join('\n'))).status, 0);
  const faulty = write('hub.ini', [...section('a', file), ...section('b', `${file}/data`), ...section('c', `${folder}/link`), ''].join('\n'));
  const told = ['hub.ini:4: data: child a: file: expected a folder that can be written, or be made: Not a directory', 'hub.ini:8: data: child b: file/data: expected a folder that can be written, or be made: Not a directory', 'hub.ini:12: data: child c: link: expected a folder that can be written, or be made: No such file or directory'];
  const { status, stderr } = check(...ANY, '--config', faulty);
  assert.deepEqual([status, linesOf(stderr, folder)], [2, told]);
  const homeless = spawnSync(process.env.PATCHBAYD, [...ANY, '--extension', 'e=cat', '--check', '--sandbox', 'off'], { encoding: 'utf8', env: { PATH: process.env.PATH } });
  assert.equal(homeless.status, 2);
  assert.match(homeless.stderr, /child e: no folder: expected the key data, or XDG_DATA_HOME or HOME in the hub's environment: No such file or directory/);
  if (!process.getuid()) {
    const as = check(...ANY, '--config', write('as.ini', ['user = nobody', ...section('a', `${own}/data`), ''].join('\n')));
    assert.deepEqual([as.status, linesOf(as.stderr, folder)], [2, ['as.ini:5: data: child a: own/data: expected a folder that can be written, or be made: Permission denied']]);
  }
  assert.deepEqual(readdirSync(folder).sort(), [...process.getuid() ? [] : ['as.ini'], 'file', 'hub.ini', 'link', 'own']);
  const hub = spawn(process.env.PATCHBAYD, [...ANY, '--http', 'off', '--config', faulty], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let said = '';
    for await (const text of hub.stderr.setEncoding('utf8')) {
      said += text;
      if (/^listening/m.test(said)) break;
    }
    for (const line of told) assert.ok(said.replaceAll(`${folder}/`, '').includes(line), said);
  } finally {
    hub.kill('SIGKILL');
  }
}));

test('a users file is blamed at the key that is at fault', inFolder((folder, write) => {
  const token = `token = sha256:${createHash('sha256').update('t').digest('hex')}`;
  const users = (text) => linesOf(check(...ANY, '--users', write('users', text)).stderr, folder);
  assert.deepEqual(users(`[user a]\n${token}\nuid = 7\n[user b]\n${token}\nuid = 7\n`), ['users:5: token: expected a credential that no other user has', 'users:6: uid: expected a credential that no other user has']);
  assert.deepEqual(users(''), ['users: expected at least one user']);
}));

test('nothing is bound, connected to or written', inFolder((folder) => {
  for (const call of [SYS_BIND, SYS_CONNECT]) {
    const options = ['--listen', `unix://${folder}/socket`, '--http', '127.0.0.1:0', '--audit', join(folder, 'journal'), '--check', '--sandbox', 'off'];
    const { status, stderr } = spawnSync(process.env.REFUSE, [EPERM, call, process.env.PATCHBAYD, ...options], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
  }
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(!existsSync(join(folder, 'journal')));
}));

test('values that steer a terminal are escaped', inFolder((folder, write) => {
  const { stderr } = check(...ANY, '--config', write('hub.ini', 'max-queue = a\u001b[2Jb\nmax-batch = \u0007\n'));
  assert.match(stderr, /^\S+:1: max-queue: .*, not 'a\\x1b\[2Jb'\n\S+:2: max-batch: .*, not '\\x07'\n$/);
}));

// --- --print-config

const print = (...options) => spawnSync(process.env.PATCHBAYD, [...options, '--print-config'], { encoding: 'utf8' });
const settingsOf = (text) => text.split('\n').filter((line) => !/^\s*;/.test(line)).map((line) => line.replace(/ ; [^;]*$/, ''));

test('what is printed has every key, says where it is from, and can be read again to the same effect', inFolder((folder, write) => {
  const config = write('hub.ini', [
    'max-frame = 2M ; of a body', 'allow-host = a', 'allow-host = b', 'takeover = on', '[child a]', 'command = sh -c "echo ; cat"', 'secret S = /x', '',
  ].join('\n'));
  const first = print('--config', config, '--audit', '/x ;y', '--extension', 'e=sh -c "a ; b"', '--listen', 'tcp://127.0.0.1:0', '--max-batch=7');
  assert.deepEqual([first.status, first.stderr], [0, '']);
  const lines = first.stdout.split('\n');
  for (const line of [
    `max-frame = 2M ; ${config}:1`, `allow-host = a ; ${config}:2`, `allow-host = b ; ${config}:3`, `takeover = on ; ${config}:4`, 'audit = "/x ;y" ; command line',
    'max-batch = 7 ; command line', 'max-queue = 4M ; default', '; users = ; default', 'http = off ; default', 'listen = tcp://127.0.0.1:0 ; command line', `; ${config}:6`,
  ]) assert.ok(lines.includes(line), `${line} in\n${first.stdout}`);
  const help = spawnSync(process.env.PATCHBAYD, ['--help'], { encoding: 'utf8' }).stdout;
  const keys = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name).filter((name) => !['config', 'check', 'print-config', 'help', 'version'].includes(name));
  const printed = new Set([...first.stdout.matchAll(/^(?:; )?([a-z-]+) =/gm)].map(([, name]) => name));
  assert.deepEqual(keys.filter((key) => !printed.has(key)), []);
  const again = print('--config', write('again.ini', first.stdout));
  assert.deepEqual([again.status, again.stderr], [0, '']);
  assert.deepEqual(settingsOf(again.stdout), settingsOf(first.stdout));
}));

test('blanks at the ends of a value are printed, and read again', inFolder((folder, write) => {
  for (const value of [' x', 'x ', ' ', ' "x"']) {
    const first = print('--audit', value);
    assert.ok(first.stdout.includes(`\naudit = "${value}" ; command line\n`), value);
    assert.deepEqual(settingsOf(print('--config', write('again.ini', first.stdout)).stdout), settingsOf(first.stdout), value);
  }
}));

test('secrets are not printed, and their place is refused', inFolder((folder, write) => {
  const config = write('hub.ini', 'nats = nats://u:s3cret@127.0.0.1:1,s3cret@127.0.0.1:2\ncluster = c\notlp = http://127.0.0.1:1/v1?api_key=s3cret\n[child a]\ncommand = cat\nset TOKEN = s3cret\n');
  const { status, stdout } = print('--config', config);
  assert.equal(status, 0);
  assert.doesNotMatch(stdout, /s3cret/);
  assert.match(stdout, /^nats = nats:\/\/\*\*\*@127\.0\.0\.1:1,\*\*\*@127\.0\.0\.1:2 ; /m);
  assert.match(stdout, /^otlp = http:\/\/127\.0\.0\.1:1\/v1\?api_key=\*\*\* ; /m);
  assert.match(stdout, /^set TOKEN = \*\*\*$/m);
  assert.match(check('--listen', 'tls://127.0.0.1:0?token=s3cret').stderr, /, not 'tls:\/\/127\.0\.0\.1:0\?token=\*\*\*'$/m);
  const again = check('--config', write('again.ini', stdout));
  assert.equal(again.status, 2);
  assert.match(again.stderr, /^\S+:\d+: nats: expected a value: \*\*\*/m);
  assert.match(again.stderr, /^\S+:\d+: set TOKEN: expected a value: \*\*\*/m);
}));

test('what the hub would find out only at its start, or later, is named with its place', inFolder((folder, write) => {
  const fifo = join(folder, 'fifo'), twice = 'tcp://127.0.0.1:7999';
  spawnSync('mkfifo', [fifo]);
  const users = write('users', '[role r]\ncall = a\n[user a]\nroles = nobody\n');
  const cases = [
    [`listen = ${twice}\nlisten = ${twice}`, `hub.ini:3: listen: ${twice}: expected an address that is given once`],
    [`listen = unix://${folder}/s?group=no-such-group`, 'hub.ini:2: listen: unix://s: expected a group of this machine behind group='],
    [`audit = ${fifo}`, 'hub.ini:2: audit: fifo: expected a regular file that can be written, or be made: it is no regular file'],
    ['user = nobody-at-all', 'hub.ini:2: user: nobody-at-all: expected a user of this machine: there is no such user'],
    [`users = ${folder}/none`, 'hub.ini:2: users: none: expected a regular file of up to 16M that can be read: No such file or directory'],
    [`users = ${users}`, 'users:4: roles: expected roles that are there'],
    ['allow-host =', "hub.ini:2: allow-host: expected a host such as hub.example, 192.0.2.1 or [2001:db8::1], not ''"],
    ['extension = b=/no-such-program\nextension = a=/no-such-program', 'hub.ini:2: extension: child b: /no-such-program: expected a program that can be run: No such file or directory', 'hub.ini:3: extension: child a: /no-such-program: expected a program that can be run: No such file or directory'],
    ['extension = a b=cat', "hub.ini:2: extension: expected the name of an agent as the child's: 1 to 255 letters, digits and - _ . : /"],
    ...process.getuid() ? [] : [[`user = nobody\naudit = ${folder}/journal`, 'hub.ini:3: audit: journal: expected a regular file that can be written by the user nobody, or be made: Permission denied']],
  ];
  for (const [text, ...faults] of cases) {
    const options = text.startsWith('listen') ? [] : ANY;
    const { status, stderr } = check(...options, '--config', write('hub.ini', `max-batch = 5\n${text}\n`));
    assert.deepEqual(linesOf(stderr, folder), faults);
    assert.equal(status, 2);
  }
  assert.deepEqual(linesOf(check(...ANY, '--extension', 'a=/no-such-program').stderr), ['--extension: child a: /no-such-program: expected a program that can be run: No such file or directory']);
  assert.equal(check('--listen', 'tcp://127.0.0.1:0', '--listen', 'tcp://127.0.0.1:0').status, 0);
}));

// --- What a fault shows, and where

test('a credential is not shown where no server is expected, nor in the command of a child', inFolder((folder, write) => {
  for (const [option, value] of [['--http', 'u:s3cret@h:1'], ['--max-batch', 'https://u:s3cret@h'], ['--gate', 's3cret@h']]) {
    const { status, stderr } = check(...ANY, `${option}=${value}`);
    assert.equal(status, 2);
    assert.doesNotMatch(stderr, /s3cret/, option);
  }
  const commands = ['cat https://u:s3cret@h/x', "cat --header 'Authorization: Bearer s3cret-s3cret'", 'cat --token=s3cret', 'cat --api-key s3cret', 'env PASSWORD="s3cret s3cret" cat',
    'cat --token=ab"s3cret"', 'cat --token\t x\\ s3cret', 'cat -H "X-Api-Key: s3cret"', "cat --b'earer' -s3cret", 'cat --pwd="\\"s3cret"', 'cat "https://u:s3cret s3cret@h/x"'];
  const config = write('hub.ini', commands.map((command, at) => `[child c${at}]\ncommand = ${command}\n`).join(''));
  const first = print('--config', config, '--extension', 'e=cat postgres://u:s3cret@h/db', '--extension', 'f=cat --token s3cret');
  assert.equal(first.status, 0);
  assert.doesNotMatch(first.stdout, /s3cret/);
  assert.match(first.stdout, /^command = cat https:\/\/\*\*\*@h\/x$/m);
  const again = check(...ANY, '--config', write('again.ini', first.stdout));
  assert.equal(again.status, 2);
  assert.equal(again.stderr.match(/: command: expected a value: \*\*\* stands for one that was not shown$/gm)?.length, commands.length, again.stderr);
  assert.match(again.stderr, /: extension: expected a command: \*\*\* stands for a credential that was not shown$/m);
  assert.match(first.stdout, /^command = cat --token=\*\*\*$/m);
  assert.match(first.stdout, /^command = cat --token\t \*\*\*$/m);
}));

test('a child that is named twice, a key that is given twice, and a value that cannot be are named with what there is', inFolder((folder, write) => {
  const config = write('hub.ini', ['[child a]', 'command = cat', 'idle = soon', '[child a]', 'command = cat', '[child b]', 'command = cat', 'level = high', 'level = low',
    'token = s3cret', 'set T =', 'set T = s3cret', ''].join('\n'));
  const { status, stderr } = check(...ANY, '--config', config, '--hub-name', 'caf\u00e9', '--user', 'nobody-at-all', '--idle-timeout', '1us');
  assert.deepEqual([status, linesOf(stderr, folder)], [2, [
    "hub.ini:3: idle: expected off, or a time such as 250ms, 5s or 10m, from 1ms to 24h, not 'soon'",
    'hub.ini:4: child a: expected a child that is named once: line 1 names it, too',
    "hub.ini:8: level: expected autonomous, supervised, human-in-the-loop or manual, not 'high'",
    'hub.ini:9: level: expected a key that is given once: line 8 gives it, too',
    'hub.ini:10: token: expected a key of children; patchbay.conf(5) lists them',
    'hub.ini:12: set T: expected a key that is given once: line 11 gives it, too',
    "--idle-timeout: expected off, or a time such as 250ms, 5s or 10m, from 1ms to 24h, not '1us'",
    '--hub-name: expected 1 to 64 printable ASCII characters without quotes and backslashes',
    '--user: nobody-at-all: expected a user of this machine: there is no such user',
  ]]);
}));

test('a key, or a section, that there is not is shown up to its first blank, and a credential in its place is not', inFolder((folder, write) => {
  const unknown = 'expected a key that there is; patchbayd --help lists them', child = 'expected a key of children; patchbay.conf(5) lists them';
  const section = 'expected [child NAME]: there are no other sections', name = 'expected the name of an agent as the child\'s: 1 to 255 letters, digits and - _ . : /';
  const lines = ['[child a]', 'command --token s3cret --x = 1', '--token s3cret = x', 'set TOKEN s3cret = x', 's3cret = x', 'set s3cret-x =', '[extension b=s3cret]', '[s3cret]', '[child b=s3cret]', '[childx s3cret]', ''];
  const { status, stderr } = check(...ANY, '--config', write('hub.ini', lines.join('\n')));
  assert.deepEqual([status, linesOf(stderr, folder)], [2, [`hub.ini:2: command: ${child}`, `hub.ini:3: --token: ${child}`, 'hub.ini:4: set: expected the name of a variable behind set or secret', `hub.ini:5: ${child}`,
    `hub.ini:7: extension: ${section}`, `hub.ini:8: ${section}`, `hub.ini:9: child: ${name}`, `hub.ini:10: childx: ${section}`]]);
  const option = check(...ANY, '--config', write('hub.ini', 'nats s3cret = x\ns3cret = x\nextension = --token=s3cret\n'));
  assert.deepEqual([option.status, linesOf(option.stderr, folder)], [2, [`hub.ini:1: nats: ${unknown}`, `hub.ini:2: ${unknown}`, 'hub.ini:3: extension: expected NAME=COMMAND']]);
  const users = check(...ANY, '--users', write('users', `[user a]\ntoken s3cret = x\ns3cret=x\ntoken = sha256:${'0'.repeat(64)}\n`));
  const expected = 'expected a key of users and roles; patchbay-users(5) lists them';
  assert.deepEqual([users.status, linesOf(users.stderr, folder)], [2, [`users:2: token: ${expected}`, `users:3: ${expected}`]]);
}));

test('a comment stands behind each value but a command and a variable, which may have a semicolon', inFolder((folder, write) => {
  const config = write('hub.ini', ['[child a] ; a section', "command = sh -c 'true ; cat' ; of the command", 'idle = 5s ; a comment', `directory = "${folder} ; x" ; a comment`,
    'set V = x ; y', ''].join('\n'));
  mkdirSync(`${folder} ; x`);
  const { status, stdout, stderr } = print('--config', config);
  rmSync(`${folder} ; x`, { recursive: true });
  assert.deepEqual([status, stderr], [0, '']);
  const lines = stdout.split('\n');
  for (const line of ["command = sh -c 'true ; cat' ; of the command", 'idle = 5s', `directory = "${folder} ; x"`]) assert.ok(lines.includes(line), stdout);
}));

// The mode of the file alone would let the user in, and keep out a user whom a list of access names.
test('what a user may use is judged by the folders above and by lists of access, too', { skip: process.getuid() ? 'only root can become another user' : false }, inFolder((folder, write) => {
  chmodSync(folder, 0o711);
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  chmodSync(write('closed/inner', 'x'), 0o644);
  chmodSync(write('listed', 'x'), 0o600);
  const acl = `import os, pwd, struct, sys
entry = lambda tag, mode, number: struct.pack('<HHI', tag, mode, number)
os.setxattr(sys.argv[1], 'system.posix_acl_access', struct.pack('<I', 2) + entry(1, 6, 0xffffffff) + entry(2, 4, pwd.getpwnam('nobody').pw_uid) +
            entry(4, 0, 0xffffffff) + entry(16, 4, 0xffffffff) + entry(32, 0, 0xffffffff))`;
  const hasLists = spawnSync('python3', ['-c', acl, join(folder, 'listed')]).status === 0; // not each file system has
  const config = write('hub.ini', ['user = nobody', '[child a]', 'command = cat', `secret INNER = ${closed}/inner`, ...hasLists ? [`secret LISTED = ${folder}/listed`] : [], ''].join('\n'));
  const { status, stderr } = check(...ANY, '--config', config);
  assert.deepEqual([status, linesOf(stderr, folder)], [2, ['hub.ini:4: secret INNER: child a: closed/inner: expected a regular file that can be read: Permission denied']]);
}));

// logrotate sends one whenever it runs, and a hub that has died of SIGHUP isn't started again by its unit.
test('a SIGHUP that comes while the configuration is read waits until the hub has started', inFolder(async (folder, write) => {
  const long = write('hub.ini', '; a comment\n'.repeat(340000));
  const hub = spawn(process.env.PATCHBAYD, [...ANY, '--http', 'off', ...Array(16).fill(['--config', long]).flat()], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  hub.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
  const bytesRead = () => Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${hub.pid}/io`, 'utf8'))[1]);
  while (bytesRead() < 12e6);
  hub.kill('SIGHUP');
  for (let tries = 0; tries < 1000 && hub.exitCode === null && hub.signalCode === null && !said.includes('was read again'); tries++)
    await new Promise((done) => { setTimeout(done, 25); });
  assert.match(said, /^listening .*\n(.*\n)*patchbayd: the configuration was read again$/m);
  hub.kill('SIGTERM');
}));

const ALLOWED = {
  'allow-host': {
    expected: 'expected a host such as hub.example, 192.0.2.1 or [2001:db8::1]',
    good: ['localhost', 'Hub.Example', 'a', 'hub_1.example', 'hub.example.', '192.0.2.1', '[2001:db8::1]', 'hub.example:8080', '[::1]:443'],
    bad: ['*', '*.example', 'https://hub.example', 'hub.example/', 'a b', 'a,b', '::1', '[::1', '[12]', '[1:2]', 'a:', 'a:0', 'a:65536', 'a:http', '.a', 'a..b', 'b\u00fccher', 'x'.repeat(256)],
  },
  'allow-origin': {
    expected: 'expected SCHEME://HOST[:PORT] such as https://app.example',
    good: ['https://app.example', 'http://localhost:3000', 'HTTPS://App.Example', 'http://[::1]:1', 'app://.', 'chrome-extension://abcdef', 'vscode-webview://0a1b-2c'],
    bad: ['', '*', 'null', 'app.example', '//app.example', '://a', '1http://a', 'https:app.example', 'https://', 'file://', 'https://app.example/', 'https://app.example/path', 'https://*.example',
      'https://a?b', 'https://a#b', 'https://a:', 'https://a:0', 'https://a:99999', 'https://a b', 'https://a,https://b', 'ht_tp://a', `https://${'x'.repeat(255)}`],
  },
};

for (const [name, { expected, good, bad }] of Object.entries(ALLOWED)) {
  test(`a value of ${name} that no request could match is a fault`, inFolder((folder, write) => {
    const at = (line, value) => `${line}: ${expected}${value.length < 128 ? `, not '${value}'` : ''}`;
    for (const value of good) {
      const { status, stderr } = check(...ANY, `--${name}`, value);
      assert.deepEqual([status, stderr], [0, ''], value);
    }
    for (const value of bad) {
      const { status, stderr } = check(...ANY, `--${name}=${value}`);
      assert.deepEqual([status, linesOf(stderr)], [2, [at(`--${name}`, value)]], value);
    }
    const { status, stderr } = check(...ANY, '--config', write('hub.ini', bad.map((value) => `${name} = "${value}"\n`).join('')));
    assert.deepEqual([status, linesOf(stderr, folder)], [2, bad.map((value, index) => at(`hub.ini:${index + 1}: ${name}`, value))]);
    const credential = check(...ANY, `--${name}=https://u:s3cret@app.example`);
    assert.deepEqual([credential.status, linesOf(credential.stderr)], [2, [`--${name}: ${expected}`]]);
  }));
}

test('too few descriptors for the hub itself are told, and it does not start', () => {
  for (const more of [['--check'], []]) {
    const { status, stderr } = spawnSync('prlimit', ['--nofile=24', process.env.PATCHBAYD, ...ANY, ...more], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /^patchbayd: 24 file descriptors \(ulimit -n\) aren't enough: expected \d+ or more$/m);
  }
});
