// What a hub shows its NATS server, and what the server has to show first: TLS, keys, credentials. No secret goes where
// it could be read.
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { authority, certificate, file } from './certificates.mjs';
import { Broker, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { listen } from './listeners.mjs';

const folder = mkdtempSync(join(tmpdir(), 'patchbay-nats-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function written(name, text) {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
}

// The key pair of NATS' own documentation.
const SEED = 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY';
const KEY = 'UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4';
const TRUSTING = ['--nats-ca', file('authority.pem')];
const SERVING = ['--tls', '--tlscert', file('hub.pem'), '--tlskey', file('hub.key')];
certificate('elsewhere', 'authority', 'DNS:elsewhere.example,IP:127.0.0.2');
authority('stranger');
certificate('strange', 'stranger', 'IP:127.0.0.1');

async function pair(broker, ...options) {
  const hubs = [await Hub.start(options), await Hub.start(options)];
  await Promise.all(hubs.map((hub) => linked(hub)));
  (await hubs[1].agent('b')).serve(({ params }) => params.text.length);
  const text = 'x'.repeat(200_000);
  assert.equal((await (await hubs[0].peer()).ask('work', { targetAgent: 'b', text })).result, text.length);
  for (const hub of hubs) {
    await hub.stop();
    assert.ok(!/s3cret|SUACS/.test(hub.stderr), hub.stderr);
  }
  await broker.kill();
}

// Listens in the place of a server. `greet` is called with each connection.
async function standIn(greet) {
  const server = net.createServer((socket) => greet(socket.on('error', () => {})));
  await listen(server);
  return { server, port: server.address().port, close: () => new Promise((resolve) => server.close(resolve)) };
}

const info = (more) => `INFO ${JSON.stringify({ server_id: 'X', version: '2.9.10', headers: true, max_payload: 1048576, ...more })}\r\n`;

// A server that says this first; resolves once the hub has left it `count` times, with all that it was sent.
async function leaves(greeting, uri, options = [], count = 2) {
  const heard = [];
  const there = await standIn((socket) => {
    const bytes = [];
    socket.on('data', (some) => bytes.push(some)).on('close', () => heard.push(Buffer.concat(bytes)));
    socket.write(greeting);
  });
  const hub = await Hub.start([...joining(uri(there.port)), ...options]);
  await until('it is left', async () => heard.length >= count);
  await hub.stop();
  await there.close();
  assert.ok(!hub.stderr.includes('s3cret'), hub.stderr);
  return { heard, said: hub.stderr };
}

test('tls://, with a password', async () => {
  const broker = await Broker.start([...SERVING, '--user', 'hub', '--pass', 's3cret']);
  await pair(broker, ...joining(`tls://hub:s3cret@127.0.0.1:${broker.port}`), ...TRUSTING);
});

test('nats:// goes over TLS, too, where the server asks for it; and by a name', async () => {
  const broker = await Broker.start([...SERVING, '--auth', 's3cret']);
  await pair(broker, ...joining(`nats://s3cret@localhost:${broker.port}`), ...TRUSTING);
});

for (const version of ['TLSv1.2', 'TLSv1.3'])
  test(`${version}`, async () => {
    let said = '';
    const server = tls.createServer({
      cert: readFileSync(file('hub.pem')), key: readFileSync(file('hub.key')), minVersion: version, maxVersion: version,
    });
    server.on('secureConnection', (socket) => socket.on('error', () => {}).on('data', (some) => {
      said += some;
      if (some.includes('PING\r\n')) socket.write('PONG\r\n');
    }));
    const there = await standIn((socket) => {
      socket.write(info({ tls_available: true }));
      server.emit('connection', socket);
    });
    const hub = await Hub.start([...joining(`tls://s3cret@localhost:${there.port}`), ...TRUSTING]);
    await linked(hub);
    await hub.stop();
    await there.close();
    assert.equal(JSON.parse(/^CONNECT (\{.*\})\r\n/.exec(said)[1]).auth_token, 's3cret');
  });

for (const [name, which] of [['another one', 'elsewhere'], ['one of a stranger', 'strange']])
  test(`a certificate for ${name}: nothing is said there, and the next server is tried`, async () => {
    const heard = [];
    const server = tls.createServer({ cert: readFileSync(file(`${which}.pem`)), key: readFileSync(file(`${which}.key`)) });
    server.on('secureConnection', (socket) => socket.on('error', () => {}).on('data', (some) => heard.push(some)));
    server.on('tlsClientError', () => {});
    const there = await standIn((socket) => {
      socket.write(info({ tls_required: true }));
      server.emit('connection', socket);
    });
    const broker = await Broker.start([...SERVING, '--auth', 's3cret']);
    const hub = await Hub.start([...joining([`tls://s3cret@127.0.0.1:${there.port}`, `tls://s3cret@127.0.0.1:${broker.port}`]), ...TRUSTING]);
    await linked(hub);
    await hub.stop();
    await broker.kill();
    await there.close();
    assert.equal(heard.length, 0);
    assert.match(hub.stderr, /cluster: server 127\.0\.0\.1:\d+: .*(mismatch|issuer|self.signed)/i);
  });

test('servers that are named before TLS aren\'t told a password, since they aren\'t dialled; with a key they are', async () => {
  const creds = written('naming', SEED);
  for (const [credentials, options, dialled] of [['hub:s3cret@', [], false], ['', ['--nats-credentials', creds], true]]) {
    let came = 0, named = 0;
    const decoy = await standIn((socket) => { named++; socket.destroy(); });
    const there = await standIn((socket) => {
      came++;
      socket.resume(); // it is over once the other side has ended, too
      socket.end(info({ tls_required: true, auth_required: true, nonce: 'n', connect_urls: [`127.0.0.1:${decoy.port}`] }));
    });
    const hub = await Hub.start([...joining(`tls://${credentials}127.0.0.1:${there.port}`), ...TRUSTING, ...options]);
    await until('its turn has come', async () => came >= 3);
    await hub.stop();
    assert.equal(named > 0, dialled);
    await there.close();
    await decoy.close();
  }
});

test('tls:// to a server that offers none: it is left, and told nothing', async () => {
  const { heard, said } = await leaves(info({}), (port) => `tls://hub:s3cret@127.0.0.1:${port}`, TRUSTING);
  assert.equal(Buffer.concat(heard).length, 0);
  assert.match(said, /it offers no TLS/);
});

test('a server that asks for TLS where nobody is trusted: likewise', async () => {
  const { heard, said } = await leaves(info({ tls_required: true }), (port) => `nats://s3cret@127.0.0.1:${port}`);
  assert.equal(Buffer.concat(heard).length, 0);
  assert.match(said, /it asks for TLS/);
});

for (const [name, behind] of [['a line', '+OK\r\n'], ['the beginning of one', 'MSG patchbay.test.hubs 4 10']])
  test(`${name} behind INFO, before TLS: whoever sent it, it isn't taken for the server's`, async () => {
    const { heard } = await leaves(info({ tls_required: true }) + behind, (port) => `tls://s3cret@127.0.0.1:${port}`, TRUSTING);
    assert.equal(Buffer.concat(heard).length, 0);
  });

test('a server that says nothing over TLS is left after some seconds', async () => {
  const { heard } = await leaves(info({ tls_required: true }), (port) => `tls://s3cret@127.0.0.1:${port}`, TRUSTING, 1);
  assert.equal(heard[0][0], 22); // a ClientHello, and behind it nothing but that
  assert.ok(!heard[0].includes('CONNECT'));
});

test('an nkey', async () => {
  const broker = await Broker.start(['-c', written('nkey.conf', `authorization { users = [ { nkey: ${KEY} } ] }`)]);
  await pair(broker, ...joining(broker), '--nats-credentials', written('seed', `${SEED}\n`));
});

test('the file of credentials is read at each link', async () => {
  const broker = await Broker.start(['-c', written('nkey.conf', `authorization { users = [ { nkey: ${KEY} } ] }`)]);
  const other = 'SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4';
  const path = written('changing', other);
  const hub = await Hub.start([...joining(broker), '--nats-credentials', path]);
  await until('it was refused', async () => /authentication error|authorization/i.test(broker.log));
  writeFileSync(path, SEED);
  await linked(hub);
  await hub.stop();
  assert.ok(!/SUA/.test(hub.stderr), hub.stderr);
  await broker.kill();
});

// Base32 of a key: its prefix, the key, and two bytes by which errors are found.
function bytesOf(key) {
  const bits = [...key].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
}

test('credentials of an operator\'s: the JWT is shown, and what the server made up is signed', async () => {
  const jwt = 'eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJBIn0.c2ln';
  const nonce = 'Hgb_b9p-5FxUnAA';
  const path = written('hub.creds', `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` +
    `************************* IMPORTANT *************************\n\n-----BEGIN USER NKEY SEED-----\n${SEED}\n------END USER NKEY SEED------\n`);
  let text = '';
  const there = await standIn((socket) => {
    socket.on('data', (some) => { text += some; });
    socket.write(info({ auth_required: true, nonce }));
  });
  const hub = await Hub.start([...joining(`nats://127.0.0.1:${there.port}`), '--nats-credentials', path]);
  await until('it has said who it is', async () => text.includes('\r\n'));
  await hub.stop();
  await there.close();
  const said = JSON.parse(/^CONNECT (\{.*\})\r\n/.exec(text)[1]);
  const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: bytesOf(KEY).subarray(1, 33).toString('base64url') } });
  assert.equal(said.jwt, jwt);
  assert.equal(said.nkey, undefined);
  assert.ok(verify(null, Buffer.from(nonce), key, Buffer.from(said.sig, 'base64url')), said.sig);
  assert.ok(!text.includes('SUACS'));
});

test('what the hub was started with shows no secret of a server\'s, and is read again all the same', async () => {
  const broker = await Broker.start(['--user', 'hub', '--pass', 's3cret']);
  const hub = await Hub.start(['--cluster', 'test', `--nats=nats://hub:s3cret@127.0.0.1:${broker.port},nats://s3cret2@127.0.0.1:1,hub:s3cret3@127.0.0.1:1`, '--extension', 'fetch=cat http://u:s3cret4@127.0.0.1:1']);
  await linked(hub);
  const shown = readFileSync(`/proc/${hub.process.pid}/cmdline`, 'utf8');
  assert.ok(!shown.includes('s3cret') && shown.includes(`@127.0.0.1:${broker.port}`), shown);
  hub.process.kill('SIGHUP');
  await until('it was read again', async () => /was read again/.test(hub.stderr));
  assert.ok(!/next start/.test(hub.stderr), hub.stderr);
  await hub.stop();
  await broker.kill();
});

test('servers on other machines need TLS and credentials, or --insecure; what can\'t be used is said at start', async () => {
  const creds = written('good', SEED);
  const refused = [
    [['--nats', 'nats://u:s3cret@192.0.2.1:4222'], /192\.0\.2\.1:4222 isn't on this machine and is spoken to without TLS: expected tls:\/\/, or --insecure/],
    [['--nats', 'tls://192.0.2.1:4222'], /there are no credentials for it: expected .*, or --insecure/],
    [['--nats', 'nats://127.0.0.1:1,nats://192.0.2.1:4222', '--nats-credentials', creds], /spoken to without TLS: expected tls:\/\/, or --insecure/],
    [['--nats', 'tls://127.0.0.1:1', '--nats-ca', join(folder, 'none')], /TLS: .*none/],
    [['--nats', 'nats://127.0.0.1:1', '--nats-credentials', join(folder, 'none')], /--nats-credentials: .*none: expected a file that is there/],
    [['--nats', 'nats://127.0.0.1:1', '--nats-credentials', written('bad', 'SUACSs3cret')], /--nats-credentials: .*bad: expected one seed/],
    [['--nats', 'nats://127.0.0.1:1', '--nats-credentials', folder], /expected a regular file/],
    [['--nats', 'nats://s3cret@127.0.0.1:x'], /--nats: expected a server's HOST:PORT/],
    [['--nats', 'nats://s3cret%@127.0.0.1:1'], /--nats: expected a server's USER:PASSWORD/],
    [['--nats', 'http://s3cret@127.0.0.1:1'], /--nats: expected servers as nats:/],
  ];
  for (const [args, why] of refused)
    for (const check of [[], ['--check']]) {
      const hub = await Hub.launch([...args, '--cluster', 'c', '--listen', 'tcp://127.0.0.1:0', ...check]);
      const { code } = await hub.exit;
      assert.equal(code, 2, `${args}`);
      assert.match(hub.stderr, why);
      assert.ok(!hub.stderr.includes('s3cret'), hub.stderr);
    }
  for (const args of [['--nats', 'nats://192.0.2.1:4222', '--insecure'], ['--nats', 'tls://u:p@192.0.2.1:4222', ...TRUSTING],
    ['--nats', 'tls://192.0.2.1:4222', '--nats-credentials', creds, ...TRUSTING]]) {
    const hub = await Hub.launch([...args, '--cluster', 'c', '--listen', 'tcp://127.0.0.1:0']);
    await hub.stop();
  }
});
