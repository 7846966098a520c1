// Users known by the certificate that their client shows: over tls:// and https://, beside tokens, and after SIGHUP.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { authority, certificate, certificateFor, file, serving, trusted } from './certificates.mjs';
import { Hub } from './hub.mjs';
import { Peer, assertError, within } from './peer.mjs';
import { ALL, directoryOfUsers, passed, refused, reload, tokenOf, usersText } from './users.mjs';

authority('stranger');
authority('second');
certificate('ci', 'authority', 'DNS:ci.example,DNS:other.example');
certificate('plain.example');
certificate('plain.example2', 'authority', 'DNS:ci.example.org');

certificate('between', 'second', 'DNS:none', 2, undefined, 'basicConstraints=critical,CA:TRUE');
certificate('second.example', 'second');
certificate('deep.example', 'between');
// Behind a client's certificate comes the one that it was signed by.
appendFileSync(file('deep.example.pem'), readFileSync(file('between.pem')));

const USERS = {
  second: { ...ALL, certificate: 'second.example' },
  deep: { ...ALL, certificate: 'deep.example' },
  ci: { ...ALL, certificate: 'ci.example', admin: true },
  plain: { call: ['*'], certificate: 'plain.example' },
  token: { ...ALL },
};

async function withHub(run, options = []) {
  const users = join(directoryOfUsers, 'tls.ini');
  writeFileSync(users, usersText(USERS));
  const hub = await Hub.launch(['--listen', 'tls://127.0.0.1:0', '--http', 'https://127.0.0.1:0', '--users', users, ...serving,
    '--tls-clients', file('clients.pem'), ...options]);
  hub.usersFile = users;
  try {
    await run(hub);
  } finally {
    await hub.stop();
  }
}

const vouching = (...names) => writeFileSync(file('clients.pem'), Buffer.concat(names.map((name) => readFileSync(file(`${name}.pem`)))));
vouching('authority');

async function shown(hub, name, more = {}) {
  const keys = name ? { cert: readFileSync(file(`${name}.pem`)), key: readFileSync(file(`${name}.key`)) } : {};
  const socket = tls.connect({
    host: '127.0.0.1', port: Number(new URL(hub.uris[0]).port), ca: trusted, allowHalfOpen: true, ...keys, ...more,
  });
  const session = new Promise((resolve) => socket.once('session', resolve)); // with 1.2 before the handshake is over
  await within(new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject)), 'a handshake');
  const peer = new Peer(socket);
  peer.session = session;
  hub.peers.push(peer);
  return peer;
}

function curl(hub, path, ...options) {
  const { stdout } = spawnSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--cacert', file('authority.pem'), ...options,
    `${hub.uris[1].replace('127.0.0.1', 'localhost')}${path}`], { encoding: 'utf8', timeout: 20_000 });
  return Number(stdout);
}

test('a certificate is a credential: a SAN, whole and byte for byte, or the CN where there is none', () => withHub(async (hub) => {
  passed(await (await shown(hub, 'ci')).ask('hub/stats', {}));
  const plain = await shown(hub, 'plain.example');
  refused(await plain.ask('hub/stats', {}), 'admin');
  passed(await plain.ask('hub/ping'));
  assertError(await (await shown(hub, 'plain.example2')).ask('hub/ping'), -32054);
  const none = await shown(hub);
  assertError(await none.ask('hub/ping'), -32054);
  passed(await none.ask('initialize', { token: tokenOf('token') }));
}));

test('a token goes before a certificate, and once the certificate counted the token is another one\'s', () => withHub(async (hub) => {
  const first = await shown(hub, 'ci');
  passed(await first.ask('initialize', { token: tokenOf('plain') }));
  refused(await first.ask('hub/stats', {}), 'admin');
  const second = await shown(hub, 'ci');
  passed(await second.ask('hub/ping'));
  refused(await second.ask('initialize', { token: tokenOf('plain') }), 'credential');
}));

test('what a certificate opens over HTTP is what its user may', () => withHub((hub) => {
  const keys = (name) => ['--cert', file(`${name}.pem`), '--key', file(`${name}.key`)];
  assert.equal(curl(hub, '/metrics', ...keys('ci')), 200);
  assert.equal(curl(hub, '/metrics', ...keys('plain.example')), 403);
  assert.equal(curl(hub, '/metrics', ...keys('plain.example2')), 401);
  assert.equal(curl(hub, '/metrics'), 401);
  assert.equal(curl(hub, '/metrics', '-u', `x:${tokenOf('ci')}`, ...keys('plain.example')), 200);
}));

test('whose certificate no user has any more is closed', () => withHub(async (hub) => {
  const gone = await shown(hub, 'plain.example'), stays = await shown(hub, 'ci');
  passed(await gone.ask('hub/ping'));
  passed(await stays.ask('hub/ping'));
  await reload(hub, { ...USERS, plain: { call: ['*'] } });
  await gone.gone();
  passed(await stays.ask('hub/ping'));
}));

// A connection that has shown the certificate goes on. No ticket vouches for a certificate longer than the certificate
// itself would.
for (const version of ['TLSv1.2', 'TLSv1.3']) {
  test(`a certificate that has come to its end is good for no ticket either (${version})`, () => withHub(async (hub) => {
    const spoken = { minVersion: version, maxVersion: version };
    const end = certificateFor(3, 'plain.example');
    const first = await shown(hub, 'plain.example', spoken);
    passed(await first.ask('hub/ping'));
    const second = await shown(hub, 'plain.example', { ...spoken, session: await within(first.session, 'a ticket') });
    assert.ok(second.socket.isSessionReused());
    passed(await second.ask('hub/ping'));
    const session = version === 'TLSv1.2' ? await first.session : await within(second.session, 'a ticket');
    await new Promise((resolve) => setTimeout(resolve, end + 1000 - Date.now()));
    const refusal = shown(hub, 'plain.example', { ...spoken, session }).then(async (peer) => {
      assert.ok(!peer.socket.isSessionReused());
      await peer.gone(); // with 1.3 a client has shaken hands before it is judged
      throw peer.socket.errored ?? new Error('closed');
    });
    await assert.rejects(refusal, /expired|closed|reset/i);
    passed(await second.ask('hub/ping'));
  }).finally(() => certificate('plain.example')));
}

for (const io of ['uring', 'epoll']) {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    test(`whose certificate's authority is gone is closed (${io}, ${version})`, async () => {
      const spoken = { minVersion: version, maxVersion: version };
      vouching('authority', 'second');
      await withHub(async (hub) => {
        const ones = {};
        for (const name of ['ci', 'second.example', 'deep.example']) {
          ones[name] = await shown(hub, name, spoken);
          passed(await ones[name].ask('hub/ping'));
        }
        const token = await shown(hub, 'second.example', spoken);
        passed(await token.ask('initialize', { token: tokenOf('token') }));
        const silent = await shown(hub, 'second.example', spoken);
        vouching('second', 'stranger'); // another file, in which it stands all the same
        await reload(hub, USERS);
        await ones.ci.gone();
        const again = await shown(hub, undefined, { ...spoken, session: await within(ones.ci.session, 'a ticket') });
        assert.ok(!again.socket.isSessionReused());
        assertError(await again.ask('hub/ping'), -32054);
        for (const name of ['second.example', 'deep.example']) passed(await ones[name].ask('hub/ping'));
        vouching('authority', 'stranger');
        await reload(hub, USERS);
        for (const name of ['second.example', 'deep.example']) await ones[name].gone();
        passed(await token.ask('hub/ping'));
        assertError(await silent.ask('hub/ping'), -32054);
        passed(await (await shown(hub, 'ci', spoken)).ask('hub/ping'));
      }, ['--io', io]).finally(() => vouching('authority'));
    });
  }
}
