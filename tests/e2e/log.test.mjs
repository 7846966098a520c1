// The log: each event in each format, whatever peers, children and operators put into it, and no secret in any line.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, fstatSync, mkdtempSync, openSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dial } from './hub.mjs';

const folder = mkdtempSync(join(tmpdir(), 'patchbay-log-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const at = (name, text) => (text !== undefined && writeFileSync(join(folder, name), text), join(folder, name));

// The events, their fields and their levels, as they are promised.
const TABLE = Object.fromEntries(
  [...readFileSync(new URL('../../router/docs/operate.md', import.meta.url), 'utf8').matchAll(/^\| (`[a-z_`, ]+) \| ([a-z, ]+) \| ([^|]*)\| /gm)].flatMap(
    ([, names, levels, fields]) => [...names.matchAll(/`([a-z_]+)`/g)].map(([, name]) => [name, { levels: levels.split(', '), fields: [...fields.matchAll(/`([a-z_]+)`/g)].map((field) => field[1]) }]),
  ),
);

// A reader of logfmt that takes nothing else: KEY=VALUE with one blank between, VALUE plain or in quotes.
const readLogfmt = (line) => {
  const fields = {};
  const form = /([a-z_]+)=(?:"((?:[^"\\]|\\["\\])*)"|([^\s"=\\]+))( |$)/y;
  while (form.lastIndex < line.length) {
    const from = form.lastIndex, found = form.exec(line);
    assert.ok(found, `no logfmt from ${from} on: ${line}`);
    assert.ok(!(found[1] in fields), `${found[1]} twice: ${line}`);
    fields[found[1]] = found[2] === undefined ? found[3] : found[2].replace(/\\(.)/g, '$1');
    if (!found[4]) break;
  }
  return fields;
};

const READERS = { json: JSON.parse, logfmt: readLogfmt };

// Every line is one event of the table with its fields. Returns them.
const judge = (text, format) => {
  assert.ok(text === '' || text.endsWith('\n'), `half a line: ${text.slice(-100)}`);
  return text.split('\n').slice(0, -1).map((line) => {
    assert.ok(Buffer.byteLength(line) < 8192, `long: ${line.length}`);
    assert.doesNotMatch(line, /[\0-\x1f\x7f-\x9f]/u);
    const event = READERS[format](line);
    assert.match(event.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const row = TABLE[event.event];
    assert.ok(row, `${event.event} isn't in the table`);
    assert.ok(row.levels.includes(event.level), line);
    assert.equal(typeof event.message, 'string');
    for (const name of Object.keys(event))
      assert.ok(['time', 'level', 'event', 'message', 'suppressed', ...row.fields].includes(name), `${name} isn't a field of ${event.event}`);
    return event;
  });
};

// A hub, until `use` has done with it. Returns what it said.
const run = async (args, use, env = {}) => {
  const hub = spawn(process.env.PATCHBAYD, ['--listen', 'tcp://127.0.0.1:0', '--http', 'off', '--sandbox', 'off', '--shards', '2', ...args],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  const state = { said: '', hub };
  hub.stderr.setEncoding('utf8').on('data', (text) => (state.said += text));
  const ended = new Promise((resolve) => hub.on('close', (code) => resolve(code)));
  state.says = async (what) => {
    for (let tries = 0; tries < 200 && !what.test(state.said); tries++) await new Promise((done) => setTimeout(done, 25));
    assert.match(state.said, what);
  };
  try {
    await state.says(/tcp:\/\/127\.0\.0\.1:\d+/);
    state.uri = /tcp:\/\/127\.0\.0\.1:\d+/.exec(state.said)[0];
    await use(state);
    hub.kill('SIGTERM');
    state.code = await ended;
  } finally {
    hub.kill('SIGKILL');
    await ended;
  }
  return state;
};

const { connect } = await import('node:net');
const send = (uri, header, body) => new Promise((resolve) => {
  const text = JSON.stringify(body), socket = connect(Number(/\d+$/.exec(uri)[0]), '127.0.0.1');
  let said = '';
  socket.on('data', (data) => (said += data)).on('error', () => {}).on('close', () => resolve(said));
  socket.write(`Content-Length: ${Buffer.byteLength(text)}\r\n${header}\r\n${text}`);
});

const say = (token) => ({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { token } });

for (const format of ['json', 'logfmt'])
  test(`a life in ${format}`, async () => {
    const child = at('child.sh', '#!/bin/sh\necho "ready to serve" >&2\nexec cat\n');
    const conf = at(`life-${format}.conf`, `[child worker]\ncommand = sh ${child}\nmethods = work\nlines = yes\n`.replace('lines = yes\n', 'protocol = plain\n'));
    const { said, code } = await run(['--log', format, '--log-level', 'debug', '--config', conf], async ({ says, hub, uri }) => {
      await says(/child_said/);
      const socket = connect(Number(/\d+$/.exec(uri)[0]), '127.0.0.1');
      await says(/connection_opened/);
      socket.destroy();
      await says(/connection_closed/);
      hub.kill('SIGHUP');
      await says(/reloaded/);
      writeFileSync(conf, 'no-such = 1\nspin = x\n');
      hub.kill('SIGHUP');
      await says(/reload_failed/);
    });
    assert.equal(code, 0);
    const events = judge(said, format), named = (name) => events.filter(({ event }) => event === name);
    assert.deepEqual(['listening', 'ready', 'reloading', 'reloaded', 'reload_failed', 'draining', 'stopped', 'child_started', 'child_said', 'connection_opened',
      'connection_closed', 'child_ended'].filter((name) => named(name).length === 0), []);
    assert.deepEqual(named('child_said').map(({ child, line, level }) => [child, line, level]), [['worker', 'ready to serve', 'info']]);
    assert.deepEqual(named('config_fault').map(({ file, line, key, level }) => [file, Number(line), key, level]), [[conf, 1, 'no-such', 'error'], [conf, 2, 'spin', 'error']]);
    assert.match(named('listening')[0].uri, /^tcp:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(Number(named('child_ended')[0].status) >= 0, true);
    assert.equal(named('reloading').length, 2);
  });

test('text is as it was', async () => {
  const { said, code } = await run([], async () => {});
  assert.equal(code, 0);
  assert.match(said, /^listening tcp:\/\/127\.0\.0\.1:\d+\n$/);
});

test('the level bounds what is logged, and SIGHUP takes up both options', async () => {
  const conf = at('level.conf', 'log = json\nlog-level = info\n');
  const { said } = await run(['--config', conf], async ({ says, hub, uri }) => {
    const peer = await dial(uri);
    writeFileSync(conf, 'log = text\nlog-level = error\nshards = 1\nmax-queue = 300K\n');
    hub.kill('SIGHUP');
    while ((await peer.ask('hub/stats')).result.queue_bytes_max !== 300 << 10); // no line says so: error is the level
    writeFileSync(conf, 'log = logfmt\nlog-level = error\nbad = 1\n');
    hub.kill('SIGHUP');
    await says(/goes on as before\n/);
    peer.drop();
  });
  assert.equal(said.match(/"event":"reloaded"/g)?.length ?? 0, 0, 'error is the level by then');
  assert.match(said, /\n.*level\.conf:3: bad: .*\npatchbayd: the configuration can't be used; the hub goes on as before\n$/);
});

test('faults at start are in the format that is configured, and --check answers in text', () => {
  const conf = at('faults.conf', 'nonsense = 1\nlog = json\nspin = x\n');
  const start = spawnSync(process.env.PATCHBAYD, ['--config', conf], { encoding: 'utf8' });
  assert.equal(start.status, 2);
  assert.deepEqual(judge(start.stderr, 'json').map(({ event, line, key }) => [event, line, key]), [['config_fault', 1, 'nonsense'], ['config_fault', 3, 'spin']]);
  const check = spawnSync(process.env.PATCHBAYD, ['--config', conf, '--check'], { encoding: 'utf8' });
  assert.equal(check.status, 2);
  assert.match(check.stderr, new RegExp(`^${conf}:1: nonsense: .*\n${conf}:3: spin: .*\n$`));
});

test('start and SIGHUP name all faults, of files that the configuration names, too', async () => {
  const users = at('faulty-users', '[user a]\nbad = 1\ntokenn = 2\n'), missing = join(folder, 'missing.pem');
  const text = `spin = x\ntls-certificate = ${missing}\nusers = ${users}\nmax-memory = 16M\n[child x]\nno-key = 1\n`;
  const conf = at('all.conf', text);
  const faults = [[conf, 1], [conf, 6], [users, 2], [users, 3], [conf, 2]];
  const args = ['--config', conf, '--listen', 'tcp://127.0.0.1:0', '--http', 'off', '--shards', '2'];
  const named = (said) => [...said.matchAll(/^([^: ]+):(\d+): \S+: /gm)].map(([, file, line]) => `${file}:${line}`).sort();
  const expected = faults.map(([file, line]) => `${file}:${line}`).sort();
  const start = spawnSync(process.env.PATCHBAYD, args, { encoding: 'utf8' }), check = spawnSync(process.env.PATCHBAYD, [...args, '--check'], { encoding: 'utf8' });
  assert.equal(start.status, 2);
  assert.deepEqual(named(start.stderr), expected);
  assert.deepEqual(named(check.stderr), expected);
  const good = at('good-users', `[user a]\ntoken = sha256:${'0'.repeat(64)}\n`);
  writeFileSync(conf, `users = ${good}\n`);
  const { said } = await run(['--config', conf], async ({ says, hub }) => {
    writeFileSync(conf, text);
    hub.kill('SIGHUP');
    await says(/goes on as before/);
  });
  assert.deepEqual(named(said), expected);
});

test('the journal of systemd is told the level, where it is standard error', () => {
  const path = at('journal', ''), file = openSync(path, 'w');
  const { dev, ino } = fstatSync(file, { bigint: true });
  const say = (stream) => spawnSync(process.env.PATCHBAYD, ['--no-such'], { env: { ...process.env, JOURNAL_STREAM: stream }, stdio: ['ignore', 'ignore', file] });
  for (const stream of [`${dev}:${ino}`, `${dev}:${ino}1`, `${dev}`, `${dev}:${ino}x`, ':', '']) say(stream);
  assert.match(readFileSync(path, 'utf8'), /^<3>--no-such: .*\n(--no-such: .*\n){5}$/);
});

// --- Secrets

const TOKEN = `pb_${'Tok3n'.repeat(9)}`.slice(0, 46), PASSWORD = 'p4ssw0rd-of-a-server', SET = 'set-value-8d1f', FILE_SECRET = 'file-secret-77aa', HOSTILE = 'wr0ng-credential-55';
const SECRETS = [TOKEN, PASSWORD, SET, FILE_SECRET, HOSTILE, TOKEN.slice(0, 20), SET.slice(0, 9), FILE_SECRET.slice(0, 11)];

for (const format of ['text', 'json', 'logfmt'])
  test(`no secret is in any line of ${format}`, async () => {
    const secret = at('secret', `${FILE_SECRET}\n`);
    const talker = at('talker.py', `import os, sys
s, f = os.environ['S'], os.environ['F']
for text in (s, f, 'x' * 1020 + s, 'x' * 1017 + f, s * 300, '\\x1b[2J\\r"' + s + '\\\\"', 'nats://me:${PASSWORD}@host' + 'y' * 2000,
             'x' * 1015 + ' nats://me:${PASSWORD}@host', 'Authorization: Bearer ${TOKEN}', 'z' * 20000 + s, '\\xff\\xfe' + f):
    os.write(2, text.encode('latin-1') + b'\\n')
for part in (s[:5], s[5:], f[:3], f[3:]):
    os.write(2, part.encode())
os.write(2, b'\\nevent=ready level=error\\n{"event":"forged"}\\n')
os.write(1, (s + ' no JSON ' + s + '\\n').encode())
os.write(2, b'done\\n')
sys.stdin.read()
`);
    const users = at('users', `[user me]\ntoken = sha256:${createHash('sha256').update(TOKEN).digest('hex')}\nadmin = yes\n`);
    const conf = at(`secret-${format}.conf`, `[child talker]\ncommand = python3 ${talker}\nset S = ${SET}\nsecret F = ${secret}\nmethods = talk\nprotocol = plain\n`
      + `[child plain]\ncommand = python3 ${talker}\nset S = ${SET}\nset F = none\nmethods = say\nprotocol = plain\n`);
    const { said } = await run(['--log', format, '--log-level', 'debug', '--config', conf, '--users', users, '--nats', `nats://me:${PASSWORD}@127.0.0.1:9`, '--cluster', 'c'],
      async ({ says, uri, hub }) => {
        await says(/done/);
        await says(/can't be read/);
        for (const [token, header] of [[HOSTILE, ''], [`${HOSTILE}\n\x1b[31mevent=ready`, `Authorization: Bearer ${HOSTILE}\r\n`], [TOKEN, '']])
          await Promise.race([send(uri, header, say(token)), new Promise((done) => setTimeout(done, 700))]);
        writeFileSync(conf, `listen = nats://me:${PASSWORD}@host\nnats = nats://me:${PASSWORD}@\nset S = ${SET}\n[child x]\nset S ${SET}\nset = ${SET}\nset S = a\nset S = ${SET}\nset = S=${SET}\nsecret ${FILE_SECRET}\nsett S = ${SET}\n`);
        hub.kill('SIGHUP');
        await says(/goes on as before/);
      });
    for (const part of SECRETS) assert.ok(!said.includes(part), `${part} in ${said.split('\n').find((line) => line.includes(part))}`);
    assert.match(said, /\*\*\*/);
    if (format === 'text') {
      assert.doesNotMatch(said, /[\0-\x09\x0b-\x1f\x7f-\x9f]/u);
      return;
    }
    const events = judge(said, format);
    assert.ok(events.some(({ event, address }) => event === 'credential_refused' && address === '127.0.0.1'), 'credential_refused');
    assert.equal(events.filter(({ event }) => event === 'ready').length, 1);
    assert.ok(events.some(({ event, line }) => event === 'child_said' && line === 'event=ready level=error'));
    assert.ok(!events.some(({ event }) => event === 'forged'));
  });

test('the filters of the page on operating find what they say', { skip: spawnSync('jq', ['--version']).status !== 0 }, () => {
  const page = readFileSync(new URL('../../router/docs/operate.md', import.meta.url), 'utf8');
  const filters = [...page.matchAll(/ \| (jq -[cr] '[^']+'(?: \| sort \| uniq -c)?)$/gm)].map(([, filter]) => filter);
  const lines = [{ level: 'error', event: 'config_fault' }, { level: 'info', event: 'child_said', child: 'a', line: 'one' },
    { level: 'warning', event: 'credential_refused', address: '192.0.2.1' }, { level: 'warning', event: 'credential_refused', address: '192.0.2.1' }];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const found = filters.map((filter) => spawnSync('sh', ['-c', filter], { input, encoding: 'utf8' }).stdout.trim());
  assert.deepEqual(found, ['{"level":"error","event":"config_fault"}', 'a: one', '2 192.0.2.1']);
});

test('wrong credentials have ten lines a second, and then their number', async () => {
  const users = at('users', `[user me]\ntoken = sha256:${'0'.repeat(64)}\n`);
  const { said } = await run(['--log', 'json', '--users', users], async ({ uri, says }) => {
    for (let count = 0; count < 40; count++) send(uri, '', say(HOSTILE));
    await says(/"suppressed":/);
  });
  const refused = judge(said, 'json').filter(({ event }) => event === 'credential_refused');
  const seconds = {};
  for (const { time, suppressed } of refused) if (!suppressed) seconds[time.slice(0, 19)] = (seconds[time.slice(0, 19)] ?? 0) + 1;
  for (const [second, count] of Object.entries(seconds)) assert.ok(count <= 10, `${count} in ${second}`);
  assert.equal(refused.reduce((sum, { suppressed }) => sum + (suppressed ?? 1), 0), 40);
});

test('a log that nobody reads holds up nobody', async () => {
  const { said } = await run(['--log', 'json', '--log-level', 'debug'], async ({ uri, hub }) => {
    hub.stderr.pause();
    const answer = () => new Promise((resolve) => {
      const socket = connect(Number(/\d+$/.exec(uri)[0]), '127.0.0.1');
      const text = '{"jsonrpc":"2.0","id":1,"method":"hub/ping"}';
      socket.on('data', () => socket.destroy()).on('close', resolve).on('error', () => {});
      socket.write(`Content-Length: ${text.length}\r\n\r\n${text}`);
    });
    for (let count = 0; count < 60; count++) await Promise.all(Array.from({ length: 20 }, answer));
    hub.stderr.resume();
  });
  judge(said, 'json');
});

test('a hub without standard streams serves, and none of its descriptors gets the log', async () => {
  const socket = join(folder, 'hub.sock');
  const config = at('streams.ini', `[child a]\ncommand = sh -c 'echo >${folder}/started; exec cat'\n`);
  const hub = spawn('sh', ['-c', 'exec "$0" "$@" <&- >&- 2>&-', process.env.PATCHBAYD, '--listen', `unix://${socket}`, '--http', 'off', '--log-level', 'debug', '--config', config]);
  const ended = new Promise((resolve) => hub.on('close', (code) => resolve(code)));
  try {
    for (let tries = 0; tries < 200 && !existsSync(join(folder, 'started')); tries++) await new Promise((done) => setTimeout(done, 25));
    assert.ok(existsSync(join(folder, 'started')), 'the child was not started');
    assert.deepEqual([0, 1, 2].map((number) => readlinkSync(`/proc/${hub.pid}/fd/${number}`)), ['/dev/null', '/dev/null', '/dev/null']);
    hub.kill('SIGTERM');
    assert.equal(await ended, 0);
  } finally {
    hub.kill('SIGKILL');
    await ended;
  }
});

test('what one child was given is in no line of any child, however it is encoded', async () => {
  const key = 's3cr"t/K\\y é-1';
  const program = at('encoded.py', `import base64, json, os, sys, urllib.parse
key = os.environ.get('KEY') or sys.argv[1]
for text in (key, json.dumps(key), json.dumps(key, ensure_ascii=False), urllib.parse.quote(key, safe=''), urllib.parse.quote_plus(key), repr(key), key.encode().hex(), key.encode().hex().upper(), 'end'):
    print('<', text, '>', file=sys.stderr)
for before in ('', 'u:', 'us:', 'use:'):
    print('Basic', base64.b64encode((before + key).encode()).decode(), file=sys.stderr)
print('done', file=sys.stderr)
sys.stderr.flush()
sys.stdin.read()
`);
  const config = at('encoded.ini', `[child given]\ncommand = python3 ${program}\nset KEY = ${key}\n[child other]\ncommand = python3 ${program} '${key.replaceAll("'", "'\\''")}'
[child own]\ncommand = sh -c 'for word; do echo "$word" >&2; done; echo done >&2; exec cat' sh --token s3cret-a -u me:s3cret-b 'X-Api-Key: s3cret c' --url=x://u:s3cret-d@h --auth none plain\n`);
  const { said } = await run(['--log', 'json', '--config', config], ({ says }) => says(/(?=[^]*given: done)(?=[^]*other: done)(?=[^]*own: done)/));
  const lines = judge(said, 'json').filter(({ event }) => event === 'child_said').map(({ line }) => line);
  assert.equal(lines.filter((line) => line.startsWith('< ') && line.includes('***')).length, 16, said);
  assert.deepEqual(lines.filter((line) => /^(\*\*\*|X-|--|-u|none|plain)/.test(line)), ['--token', '***', '-u', '***', 'X-Api-Key: ***', '--url=x://***@h', '--auth', 'none', 'plain'], said);
  for (const line of lines) assert.doesNotMatch(line, /s3cr|733363|zM2Ny|czNj|M3Jid/i, line);
});
