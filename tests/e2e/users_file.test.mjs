// The client's tools about users (its path is in the environment, PATCHBAY): `users check`, `users explain` and `token
// new`. Also how the client tells a hub its token.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { listen } from './listeners.mjs';
import { ALL, known, tokenOf, withUsers } from './users.mjs';
import { within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const directory = mkdtempSync(join(tmpdir(), 'patchbay-users-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const write = (name, text) => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

// Runs it to its end.
const run = async (args, environment = {}) => {
  const env = { ...process.env, ...environment };
  const one = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) one[name].setEncoding('utf8').on('data', (text) => (said[name] += text));
  const status = await within(new Promise((resolve) => one.on('close', resolve)), `${args.join(' ')} to end`);
  assert.doesNotMatch(said.stderr, /Sanitizer|runtime error|Assertion/);
  return { status, ...said };
};

const TOKEN = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const GOOD = `; who may do what
[user ci]
token = ${TOKEN}   ; of the build
roles = testers
register = ci-*
call = review-*
deny-call = method:review/delete
hold = review-prod
[role testers]
call = @testing
[user ann]
uid = 1000
admin = yes
`;

test('token new prints a token of 256 bits and the line that a users file takes', async () => {
  const tokens = new Set();
  for (let count = 0; count < 3; count++) {
    const { status, stdout } = await run(['token', 'new']);
    assert.equal(status, 0);
    const [, token, digest] = stdout.match(/^(pb_[A-Za-z0-9_-]{43})\ntoken = sha256:([0-9a-f]{64})\n$/);
    assert.equal(createHash('sha256').update(token).digest('hex'), digest);
    assert.equal(Buffer.from(token.slice(3), 'base64url').length, 32);
    tokens.add(token);
  }
  assert.equal(tokens.size, 3);
  assert.equal((await run(['token'])).status, 2);
  assert.equal((await run(['token', 'old'])).status, 2);
});

test('users check names each line that can not be used, and never what stands there', async () => {
  const secret = 'sha256:ba7816bf8f01cfea414140de5dae2223';
  const path = write('bad', `[user u]\ntoken = ${secret}\nrate = fast-lane\n[user u]\nroles = nobody-here\n`);
  const { status, stdout, stderr } = await run(['users', 'check', path]);
  assert.equal(status, 1);
  assert.deepEqual(stdout.match(/:(\d+): (?:[^:\n]+: )?expected/g), [2, 3, 4, 5].map((line, at) => `:${line}: ${['token: ', 'rate: ', '', 'roles: '][at]}expected`));
  assert.doesNotMatch(stdout + stderr, /ba7816|fast-lane|nobody-here/);
});

test('users check passes a good file, and warns of what says nothing', async () => {
  const good = await run(['users', 'check', '--strict', write('good', GOOD)]);
  assert.deepEqual([good.status, good.stderr], [0, '']);
  assert.match(good.stdout, /^2 users; .*--gate\n$/);
  const path = write('warned', `${GOOD}call = x*, xy\n[role idle]\ndeny-publish = z\n`);
  const warned = await run(['users', 'check', path]);
  assert.equal(warned.status, 0);
  assert.deepEqual(warned.stdout.match(/:(\d+): warning/g), [14, 15, 16].map((line) => `:${line}: warning`));
  assert.equal((await run(['users', 'check', '--strict', path])).status, 1);
  assert.equal((await run(['users', 'check', join(directory, 'none')])).status, 2);
  assert.equal((await run(['users', 'check'])).status, 2);
  assert.equal((await run(['users'])).status, 2);
});

test('users explain says which line decides', async () => {
  const path = write('explained', GOOD);
  const ask = (...words) => run(['users', 'explain', ...words], { PATCHBAY_USERS: path });
  const table = [
    ['call review-1', 0, `allowed\n  ${path}:6 [user ci] call = review-*\n`],
    ['call @testing', 0, `allowed\n  ${path}:10 [role testers] call = @testing\n`],
    ['call review-1 method:review/delete', 1, `refused\n  ${path}:7 [user ci] deny-call = method:review/delete\n`],
    ['call other', 1, 'refused\n  no line gives it\n'],
    ['call review-prod', 0, `allowed\n  ${path}:6 [user ci] call = review-*\nheld until somebody approves\n`
      + `  ${path}:8 [user ci] hold = review-prod\n`],
    ['register ci-1', 0, `allowed\n  ${path}:5 [user ci] register = ci-*\n`],
    ['offer @x', 1, 'refused\n  no line gives it\n'],
    ['publish e', 1, 'refused\n  no line gives it\n'],
    ['subscribe *', 1, 'refused\n  no line gives it\n'],
    ['hold review-1', 0, 'not held\n'],
    ['level manual', 0, 'allowed\n  no line says otherwise\n'],
    ['admin', 1, 'refused\n  no line gives it\n'],
  ];
  for (const [question, status, stdout] of table) {
    const answer = await ask('ci', question);
    assert.deepEqual([answer.status, answer.stdout], [status, stdout], question);
  }
  const words = await run(['users', 'explain', '--users', path, 'ann', 'admin']);
  assert.deepEqual([words.status, words.stdout], [0, `allowed\n  ${path}:13 [user ann] admin = yes\n`]);
  assert.equal((await ask('ci', 'call', 'review-1', 'tool:lint')).status, 0);
  assert.equal((await ask('nobody', 'admin')).status, 2);
  assert.equal((await ask('ci', 'fly')).status, 2);
  assert.equal((await ask('ci')).status, 2);
  assert.equal((await run(['users', 'explain', 'ci', 'admin'], { PATCHBAY_USERS: undefined })).status, 2);
  const faulty = await run(['users', 'explain', '--users', write('faulty', `${GOOD}rate = fast\n`), 'ci', 'admin']);
  assert.equal(faulty.status, 2); // neither allowed nor refused
  assert.match(faulty.stdout, /:14: rate: expected/);
});

test('a token on the command line is refused, and not shown', async () => {
  const secret = `pb_${'S'.repeat(43)}`, other = 'another-secret';
  const lines = [['--token', secret, 'show'], [`--token=${secret}`, 'show'], ['--tok', secret, 'show'], [`--to=${secret}`, 'show'],
    ['--hub', 'tcp://127.0.0.1:1', '--tok', other, 'show'], ['show', '--token', secret], ['show', `--token=${other}`], ['--token']];
  for (const line of lines) {
    const { status, stdout, stderr } = await run(line);
    assert.equal(status, 2, line.join(' '));
    assert.match(stderr, /PATCHBAY_TOKEN/, line.join(' '));
    assert.ok(!(stdout + stderr).includes(secret) && !(stdout + stderr).includes(other), line.join(' '));
  }
  const named = await run(['--token-file', secret, 'show']); // as if it were a file
  assert.equal(named.status, 2);
  assert.match(named.stderr, /--token-file: No such file/);
  assert.ok(!named.stderr.includes(secret));
});

// A hub of a kind: hands over the first body that it gets, and answers each message with null.
const listening = async (use) => {
  let took;
  const first = new Promise((resolve) => (took = resolve));
  const server = net.createServer((socket) => {
    let text = '';
    socket.setEncoding('utf8').on('error', () => {}).on('data', (more) => {
      text += more;
      for (;;) {
        const head = text.match(/^Content-Length: (\d+)\r\n\r\n/);
        if (!head || text.length < head[0].length + Number(head[1])) return;
        const body = JSON.parse(text.slice(head[0].length, head[0].length + Number(head[1])));
        text = text.slice(head[0].length + Number(head[1]));
        took(body);
        const wrong = body.params?.token === 'pb_wrong';
        const answer = JSON.stringify({ jsonrpc: '2.0', id: body.id,
          ...(wrong ? { error: { code: -32001, message: 'x' } } : { result: {} }) });
        socket.write(`Content-Length: ${answer.length}\r\n\r\n${answer}`);
      }
    });
  });
  await listen(server);
  try {
    await use(`tcp://127.0.0.1:${server.address().port}`, first);
  } finally {
    server.close();
  }
};

test('the client says its token first, from PATCHBAY_TOKEN or a file, and never with none', async () => {
  for (const how of ['environment', 'file', 'none']) {
    await listening(async (uri, first) => {
      const file = how === 'file' ? ['--token-file', write('token', 'pb_right\n')] : [];
      const environment = { PATCHBAY_HUB: uri, PATCHBAY_TOKEN: { environment: 'pb_right', file: 'pb_other' }[how] };
      const { status, stderr } = await run([...file, 'stats'], environment);
      assert.equal(status, 0, stderr);
      const { method, params } = await first;
      assert.equal(method, how === 'none' ? 'hub/stats' : 'initialize');
      assert.equal(params?.token, how === 'none' ? undefined : 'pb_right');
    });
  }
});

test('a token that the hub refuses is told, and one that is none is not sent', async () => {
  await listening(async (uri) => {
    const refused = await run(['stats'], { PATCHBAY_HUB: uri, PATCHBAY_TOKEN: 'pb_wrong' });
    assert.equal(refused.status, 3);
    assert.match(refused.stderr, /refuses the token/);
    assert.doesNotMatch(refused.stderr, /pb_wrong/);
  });
  for (const token of ['pb right', 'pb_"', 'ü']) {
    const { status, stderr } = await run(['stats'], { PATCHBAY_TOKEN: token });
    assert.equal(status, 2);
    assert.ok(!stderr.includes(token), stderr);
    assert.match(stderr, /^patchbay: PATCHBAY_TOKEN: expected a token, which patchbay token new prints first\n$/);
  }
  const empty = await run(['--token-file', write('empty', '\n'), 'stats']);
  assert.equal(empty.status, 2);
  assert.match(empty.stderr, /^patchbay: --token-file \S+empty: expected one line with a token/);
  assert.equal((await run(['--token-file', join(directory, 'none'), 'stats'])).status, 2);
});

test('over WebSocket the token is a bearer of the upgrade', async () => {
  const asked = [];
  const server = http.createServer().on('upgrade', (request, socket) => {
    asked.push(request.headers.authorization);
    socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
  });
  await listen(server);
  const hub = ['--hub', `ws://127.0.0.1:${server.address().port}`, 'stats'];
  const refused = await run(hub, { PATCHBAY_TOKEN: 'pb_right' });
  assert.equal(refused.status, 3);
  assert.match(refused.stderr, /refuses the token/);
  await run(hub, { PATCHBAY_TOKEN: '' });
  assert.deepEqual(asked, ['Bearer pb_right', undefined]);
  server.close();
});

withUsers('a hub with users knows the client by its token, however it is spoken to', { a: ALL, b: {} },
  { transport: 'tcp-lines', options: ['--http', '127.0.0.1:0'] }, async (hub) => {
    const echo = (await known(hub, 'a')).serve(() => 'heard');
    await echo.register('ear');
    const send = (uri, PATCHBAY_TOKEN) => run(['--hub', uri, 'send', 'ear', 'task'], { PATCHBAY_TOKEN });
    for (const uri of [hub.uri('tcp'), hub.uri('tcp-lines'), hub.uri('unix'), hub.uri('ws')]) {
      const { status, stdout, stderr } = await send(uri, tokenOf('a'));
      assert.deepEqual([status, stdout], [0, '"heard"\n'], `${uri}: ${stderr}`);
      const other = await send(uri, tokenOf('b'));
      assert.equal(other.status, 1, uri);
      assert.match(other.stderr, /"code":-32001/);
    }
    assert.match((await send(hub.uri('tcp'), '')).stderr, /-32054/);
  });
