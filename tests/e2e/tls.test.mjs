// TLS as its users meet it: Node's own, curl's and openssl's. The other files play messages over TLS, with
// PATCHBAY_TRANSPORTS=tls.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { authority, certificate, file, serving, trusted } from './certificates.mjs';
import { Hub } from './hub.mjs';
import { listen } from './listeners.mjs';
import { LINES, Peer, WAIT_MS, frame, requestText, within } from './peer.mjs';

authority('stranger');
certificate('ci', 'authority', 'DNS:ci.example');
certificate('intruder', 'stranger', 'DNS:ci.example');

const STATS = requestText(1, 'hub/stats', {});
const ca = trusted;
const portOf = (uri) => Number(new URL(uri).port);

async function withHub(options, run, listen = ['--listen', 'tls://127.0.0.1:0']) {
  const hub = await Hub.launch([...listen, '--shards', '1', ...options]);
  hub.port = hub.uris && portOf(hub.uris[0]);
  const failures = [];
  await Promise.resolve(run(hub)).catch((error) => failures.push(error));
  await hub.stop().catch((error) => failures.push(error));
  if (failures.length) throw failures[0];
}

// A TLS connection to the hub, its handshake over; rejects where there is none.
async function connect(hub, options = {}) {
  const socket = tls.connect({ host: '127.0.0.1', port: hub.port, ca, allowHalfOpen: true, ...options });
  await within(
    new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject)),
    'a handshake',
  );
  return socket;
}

async function secure(hub, options) {
  const peer = new Peer(await connect(hub, options));
  hub.peers.push(peer);
  return peer;
}

const counted = async (peer, name) => (await peer.ask('hub/stats', {})).result[name];

function keys(name) {
  return { cert: readFileSync(file(`${name}.pem`)), key: readFileSync(file(`${name}.key`)) };
}

// The output and the exit status of a program that gets `input`.
function said(command, args, input = '') {
  const { status, stdout, stderr } = spawnSync(command, args, { input, encoding: 'latin1', timeout: 20_000 });
  return { status, stdout, stderr };
}

// All that comes over a plain socket until its end.
async function heard(socket) {
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await within(new Promise((resolve) => socket.once('close', resolve)), 'the hub to close');
  return Buffer.concat(chunks);
}

async function plain(hub, bytes) {
  const socket = net.connect({ host: '127.0.0.1', port: hub.port });
  socket.on('error', () => {});
  socket.write(bytes);
  return heard(socket);
}

// A relay between a client and the hub: it may change the client's bytes, and end the stream to the hub without a word.
async function relay(port) {
  let changes = false;
  const ends = [];
  const server = net.createServer((client) => {
    const hub = net.connect({ host: '127.0.0.1', port });
    client.on('data', (bytes) => {
      if (changes) bytes[bytes.length - 1] ^= 1;
      hub.write(bytes);
    });
    hub.on('data', (bytes) => client.write(bytes));
    hub.on('close', () => client.destroy());
    for (const socket of [client, hub]) socket.on('error', () => {});
    ends.push(hub);
  });
  await listen(server);
  return {
    port: server.address().port,
    change: () => (changes = true),
    cut: () => {
      ends.forEach((end) => end.end());
      server.close();
    },
  };
}

async function until(holds, what) {
  const late = Date.now() + WAIT_MS;
  while (!(await holds())) assert.ok(Date.now() < late, `waited for ${what}`);
}

test('frames of all sizes go both ways', () =>
  withHub([...serving], async (hub) => {
    const agent = await secure(hub);
    await agent.register('echo', {});
    const source = await secure(hub);
    for (const size of [1, 1000, 16_000, 16_384, 100_000, 3_000_000]) {
      const text = 'x'.repeat(size);
      const answer = source.ask('task', { targetAgent: 'echo', text });
      const asked = (await agent.next()).json;
      assert.equal(asked.params.text, text);
      agent.send({ jsonrpc: '2.0', id: asked.id, result: { text: asked.params.text } });
      assert.equal((await answer).result.text, text);
    }
    assert.ok((await counted(source, 'tls_handshakes')) >= 2);
  }));

test('1.2 and 1.3 are spoken, and nothing older, nothing without forward secrecy', () =>
  withHub([...serving], async (hub) => {
    for (const version of ['TLSv1.2', 'TLSv1.3']) {
      const socket = await connect(hub, { minVersion: version, maxVersion: version });
      assert.equal(socket.getProtocol(), version);
      assert.match(socket.getCipher().name, /GCM|CHACHA20/);
      socket.destroy();
    }
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };
    await assert.rejects(connect(hub, old), /alert protocol version/);
    const weak = { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256:ECDHE-ECDSA-AES128-SHA' };
    await assert.rejects(connect(hub, weak), /handshake failure/);
  }));

test('each suite goes both ways, in frames of any size', () =>
  withHub([...serving], async (hub) => {
    const suites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
    const before = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-CHACHA20-POLY1305'];
    for (const [ciphers, maxVersion] of [...suites.map((name) => [name, 'TLSv1.3']), ...before.map((name) => [name, 'TLSv1.2'])]) {
      const [agent, source] = [await secure(hub, { ciphers, maxVersion }), await secure(hub, { ciphers, maxVersion })];
      assert.equal(source.socket.getCipher().name, ciphers);
      await agent.register(`echo-${ciphers}`, {});
      agent.serve((asked) => asked.params.text);
      for (const size of [0, 1, 20_000, 500_000]) {
        const text = 'x'.repeat(size);
        assert.equal((await source.ask('task', { targetAgent: `echo-${ciphers}`, text })).result, text);
      }
    }
  }));

test('a session goes on with a ticket, and no early data is taken', () =>
  withHub([...serving], async (hub) => {
    const first = await connect(hub);
    const ticket = new Promise((resolve) => first.once('session', resolve));
    const session = await within(ticket, 'a ticket');
    const second = await connect(hub, { session });
    assert.ok(second.isSessionReused());
    assert.equal(second.getEphemeralKeyInfo().type, 'ECDH');
    const peer = new Peer(second);
    hub.peers.push(peer);
    assert.ok((await peer.ask('hub/ping', {})).result);
    first.destroy();
    const { stdout } = said('openssl', ['s_client', '-connect', `127.0.0.1:${hub.port}`, '-CAfile', file('authority.pem')], 'Q\n');
    assert.match(stdout, /Verify return code: 0/);
    assert.match(stdout, /Compression: NONE/);
    assert.match(stdout, /Early data was not sent|Max Early Data: 0/);
  }));

test('a half-close is said, and answered when the answers are', () =>
  withHub([...serving], async (hub) => {
    const peer = await secure(hub);
    peer.socket.end(frame(STATS));
    assert.equal((await peer.next()).json.id, 1);
    assert.equal(await within(peer.end, 'the end'), 'end');
    const other = await secure(hub);
    assert.equal(await counted(other, 'tls_streams_truncated'), 0);
  }));

test('the hub ends with close_notify', () =>
  withHub([...serving], async (hub) => {
    const args = ['s_client', '-connect', `127.0.0.1:${hub.port}`, '-CAfile', file('authority.pem'), '-quiet', '-verify_quiet', '-msg'];
    const client = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let text = '';
    const answered = new Promise((resolve) => {
      client.stdout.on('data', (chunk) => {
        text += chunk;
        if (text.includes('"id":1')) resolve();
      });
    });
    const over = new Promise((resolve) => client.once('close', resolve));
    client.stdin.write(frame(STATS));
    await within(answered, 'an answer');
    hub.process.kill('SIGTERM');
    await within(over, 'openssl to end');
    assert.match(text, /<<< TLS 1\.3, Alert \[length 0002\], warning close_notify/);
  }));

test('an end that nobody said cuts off: what is unfinished is not taken', () =>
  withHub([...serving], async (hub) => {
    const between = await relay(hub.port);
    const socket = await connect({ port: between.port });
    const peer = new Peer(socket, LINES);
    hub.peers.push(peer);
    await peer.register('here');
    socket.write(requestText(2, 'agent/register', { agentId: 'cut' }));
    const watcher = await secure({ port: portOf(hub.uris[1]), peers: hub.peers });
    assert.equal((await watcher.ask('hub/agents', {})).result.agents.length, 1);
    between.cut();
    await until(async () => (await counted(watcher, 'tls_streams_truncated')) === 1, 'the truncation to be seen');
    assert.deepEqual((await watcher.ask('hub/agents', {})).result.agents, []);
  }, ['--listen', 'tls-lines://127.0.0.1:0', '--listen', 'tls://127.0.0.1:0']));

test('plain bytes get an alert, and the end', () =>
  withHub([...serving], async (hub) => {
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', frame(STATS), Buffer.alloc(3000, 0xff)]) {
      const answer = await plain(hub, bytes);
      assert.equal(answer[0], 21, 'an alert');
      assert.equal(answer[5], 2, 'a fatal one');
      assert.equal(answer.length, 7);
    }
    const peer = await secure(hub);
    assert.equal(await counted(peer, 'tls_handshakes_failed'), 3);
  }));

test('a record that was changed on the way ends the connection', () =>
  withHub([...serving], async (hub) => {
    const between = await relay(hub.port);
    const socket = await connect({ port: between.port });
    const said = new Promise((resolve) => socket.once('error', resolve));
    between.change();
    socket.write(frame(STATS));
    assert.match((await within(said, 'an alert')).message, /bad record mac/);
    socket.destroy();
    between.cut();
    const peer = await secure(hub);
    assert.equal(await counted(peer, 'tls_streams_broken'), 1);
  }));

test('keys are updated as the client asks, and what it says goes on', () =>
  withHub([...serving], async (hub) => {
    const args = ['s_client', '-connect', `127.0.0.1:${hub.port}`, '-CAfile', file('authority.pem'), '-msg'];
    const client = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let text = '';
    const over = new Promise((resolve) => client.once('close', resolve));
    const says = async (input, wanted) => {
      const heard = new Promise((resolve) => {
        const look = () => wanted.test(text) && resolve();
        for (const stream of [client.stdout, client.stderr]) stream.on('data', look);
      });
      if (input) client.stdin.write(input);
      if (wanted.test(text)) return;
      await within(heard, String(wanted));
    };
    for (const stream of [client.stdout, client.stderr]) stream.on('data', (chunk) => (text += chunk));
    await says('', /Verify return code/);
    for (const [id, command] of [[1, 'K'], [2, 'K'], [3, 'k']]) {
      await says(`${command}\n`, new RegExp(`(KEYUPDATE[^]*){${id}}`));
      await says(`${requestText(id, 'hub/ping', {})}\n`, new RegExp(`"id":${id}`));
    }
    client.stdin.end();
    await within(over, 'openssl to end');
    assert.equal(text.match(/<<< .*KeyUpdate/g).length, 2); // as often as it was asked
  }, ['--listen', 'tls-lines://127.0.0.1:0']));

test('certificates of clients are asked for where there are authorities', () =>
  withHub([...serving, '--tls-clients', file('authority.pem')], async (hub) => {
    for (const own of [{}, keys('ci')]) {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
        const peer = await secure(hub, { ...own, maxVersion });
        assert.equal((await peer.ask('hub/agents', {})).result.agents.length, 0);
      }
    }
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const refused = secure(hub, { ...keys('intruder'), maxVersion }).then((peer) => peer.ask('hub/agents', {}));
      await assert.rejects(refused, /alert|closed/i);
    }
  }));

test('curl speaks to https, with a certificate and without, and a page of it is its own', () =>
  withHub([...serving, '--tls-clients', file('authority.pem'), '--http', 'https://127.0.0.1:0'], async (hub) => {
    const uri = hub.uris.find((one) => one.startsWith('https:'));
    const common = ['-sS', '--max-time', '15', '--cacert', file('authority.pem')];
    const own = ['--cert', file('ci.pem'), '--key', file('ci.key')];
    for (const more of [[], own]) {
      const { status, stdout, stderr } = said('curl', [...common, ...more, '-H', `Origin: ${uri}`, '-H', 'Content-Type: application/json', '-d', STATS, `${uri}/rpc`]);
      assert.equal(status, 0, stderr);
      assert.equal(JSON.parse(stdout).id, 1);
    }
    const foreign = said('curl', [...common, '-H', `Origin: ${uri.replace('https', 'http')}`, '-d', STATS, `${uri}/rpc`, '-i']);
    assert.match(foreign.stdout, /^HTTP\/1.1 403/);
    assert.notEqual(said('curl', ['-sS', '--max-time', '15', `${uri}/healthz`]).status, 0); // nobody vouches for it
  }));

test('the client speaks it, and believes nobody for whom its authorities do not vouch', () =>
  withHub([...serving, '--tls-clients', file('authority.pem'), '--http', 'https://127.0.0.1:0'], async (hub) => {
    const stats = (uri, ...options) => said(process.env.PATCHBAY, ['--hub', uri, ...options, 'stats']);
    const trusting = ['--tls-ca', file('authority.pem')];
    const own = ['--tls-certificate', file('ci.pem'), '--tls-key', file('ci.key')];
    for (const uri of [...hub.uris.slice(0, 2), hub.uris.at(-1).replace('https', 'wss')]) {
      for (const options of [trusting, [...trusting, ...own]]) {
        const { status, stdout, stderr } = stats(uri, ...options);
        assert.equal(status, 0, stderr);
        assert.match(stdout, /^phase +serving/m);
      }
      const refused = stats(uri, '--tls-ca', file('stranger.pem'));
      assert.notEqual(refused.status, 0);
      assert.match(refused.stderr, /TLS: unable to get local issuer certificate: --tls-ca FILE or PATCHBAY_TLS_CA must name the authority/);
      const unread = stats(uri, '--tls-ca', file('none.pem'));
      assert.equal(unread.status, 3);
      assert.match(unread.stderr, /^patchbay: --tls-ca \S+none\.pem: expected certificates of authorities in PEM: No such file or directory\npatchbay: \S+: there is no connection by TLS\n$/);
      const mixed = stats(uri, ...trusting, '--tls-certificate', file('intruder.pem'), '--tls-key', file('stranger.pem'));
      assert.match(mixed.stderr, /^patchbay: --tls-key \S+stranger\.pem: expected the certificate's private key in PEM: /);
      const intruder = stats(uri, ...trusting, '--tls-certificate', file('intruder.pem'), '--tls-key', file('intruder.key'));
      assert.equal(intruder.status, 3);
      assert.match(intruder.stderr, /TLS: .*alert unknown ca/);
    }
  }, ['--listen', 'tls://127.0.0.1:0', '--listen', 'tls-lines://127.0.0.1:0']));

// `LOCALHOST` is looked up as any other name; `localhost` is one, too, though its address is known.
test('the client wants a certificate for the name, or the address, by which it was told of the hub', async () => {
  certificate('named', 'authority', 'DNS:localhost');
  certificate('wild', 'authority', 'DNS:*.example,IP:127.0.0.1');
  const listen = ['--listen', 'tls://127.0.0.1:0', '--http', 'https://127.0.0.1:0'];
  const serves = (name) => ['--tls-certificate', file(`${name}.pem`), '--tls-key', file(`${name}.key`)];
  for (const [name, good, bad] of [['named', ['localhost', 'LOCALHOST'], ['127.0.0.1']], ['wild', ['127.0.0.1'], ['localhost', 'LOCALHOST']]]) {
    await withHub([...serves(name), '--allow-host', 'LOCALHOST'], async (hub) => {
      const web = portOf(hub.uris.at(-1));
      const stats = (uri) => said(process.env.PATCHBAY, ['--hub', uri, '--tls-ca', file('authority.pem'), 'stats']);
      for (const host of good) {
        for (const uri of [`tls://${host}:${hub.port}`, `wss://${host}:${web}`]) {
          const { status, stdout, stderr } = stats(uri);
          assert.equal(status, 0, `${uri}: ${stderr}`);
          assert.match(stdout, /^phase +serving/m);
        }
      }
      for (const host of bad) {
        for (const uri of [`tls://${host}:${hub.port}`, `wss://${host}:${web}`]) {
          const { status, stderr } = stats(uri);
          assert.equal(status, 3, uri);
          assert.match(stderr, /TLS: (hostname|IP address) mismatch: the URI must name the hub as its certificate does/i, uri);
        }
      }
    }, listen);
  }
  await withHub(serves('named'), async (hub) => { // one without the other
    const plain = said(process.env.PATCHBAY, ['--hub', `tls://localhost:${hub.port}`, '--tls-ca', file('authority.pem'), 'stats']);
    assert.match(plain.stderr, /TLS: wrong version number: that address speaks no TLS/);
    const secure = said(process.env.PATCHBAY, ['--hub', `tcp://127.0.0.1:${portOf(hub.uris[1])}`, 'stats']);
    assert.match(secure.stderr, /no message frame: does that address speak TLS/);
    const unnamed = spawnSync(process.env.PATCHBAY, ['--hub', `tls://localhost:${portOf(hub.uris[1])}`, 'stats'], { encoding: 'utf8', env: { ...process.env, PATCHBAY_TLS_CA: '' } });
    assert.match(unnamed.stderr, /TLS: unable to get local issuer certificate: /, 'an empty variable names no file');
  }, ['--listen', 'tcp://127.0.0.1:0', '--listen', 'tls://127.0.0.1:0']);
  const unknown = said(process.env.PATCHBAY, ['--hub', 'tls://no-such-name.invalid:1', 'stats']);
  assert.equal(unknown.status, 3);
  assert.match(unknown.stderr, /nobody knows that name/);
});

test('SIGHUP reads the files again; a fault changes nothing', async () => {
  copyFileSync(file('hub.pem'), file('now.pem'));
  copyFileSync(file('hub.key'), file('now.key'));
  certificate('later', 'authority', 'IP:127.0.0.1');
  const options = ['--tls-certificate', file('now.pem'), '--tls-key', file('now.key')];
  await withHub(options, async (hub) => {
    const before = await secure(hub);
    const subject = async () => {
      const socket = await connect(hub);
      const { CN } = socket.getPeerCertificate().subject;
      socket.destroy();
      return CN;
    };
    const again = async (line) => {
      const from = hub.stderr.length;
      hub.process.kill('SIGHUP');
      while (!hub.stderr.slice(from).includes(line)) await within(new Promise((resolve) => hub.process.stderr.once('data', resolve)), line);
      return hub.stderr.slice(from);
    };
    assert.equal(await subject(), 'hub');
    copyFileSync(file('later.pem'), file('now.pem'));
    assert.match(await again('goes on as before'), /now\.key: expected .*: key values mismatch/);
    assert.equal(await subject(), 'hub');
    writeFileSync(file('now.pem'), 'nothing');
    assert.match(await again('goes on as before'), /now\.pem: /);
    copyFileSync(file('later.pem'), file('now.pem'));
    copyFileSync(file('later.key'), file('now.key'));
    await again('was read again');
    assert.equal(await subject(), 'later');
    assert.ok((await before.ask('hub/stats', {})).result); // as it began
    assert.doesNotMatch(hub.stderr, /BEGIN|PRIVATE/);
  });
});

test('with users it is served beyond loopback, and plain TCP is not', async () => {
  writeFileSync(file('users'), '[user ci]\ncertificate = ci.example\n');
  const users = ['--users', file('users'), ...serving];
  await withHub(users, async (hub) => assert.match(hub.uris[0], /^tls:\/\/0\.0\.0\.0:/), ['--listen', 'tls://0.0.0.0:0']);
  const hub = await Hub.launch([...users, '--listen', 'tcp://0.0.0.0:0']);
  assert.equal((await hub.exit).code, 2);
});

test('a certificate that has expired is a fault with --check, and a warning at start and SIGHUP', async () => {
  certificate('past', 'authority', 'IP:127.0.0.1', -1);
  const options = ['--listen', 'tls://127.0.0.1:0', '--tls-certificate', file('past.pem'), '--tls-key', file('past.key')];
  const told = /^(patchbayd: )?--tls-certificate: TLS: \S+past\.pem: expected a certificate that is valid now: the certificate has expired$/gm;
  const checked = said(process.env.PATCHBAYD, [...options, '--check', '--sandbox', 'off']);
  assert.equal(checked.status, 2);
  assert.equal(checked.stderr.match(told)?.length, 1, checked.stderr);
  const good = said(process.env.PATCHBAYD, [...serving, '--listen', 'tls://127.0.0.1:0', '--check', '--sandbox', 'off']);
  assert.deepEqual([good.status, good.stderr], [0, '']);
  await withHub(options.slice(2), async (hub) => {
    assert.equal(hub.stderr.match(told)?.length, 1, hub.stderr);
    hub.process.kill('SIGHUP');
    while (!hub.stderr.includes('was read again')) await within(new Promise((resolve) => hub.process.stderr.once('data', resolve)), 'the reading');
    assert.equal(hub.stderr.match(told)?.length, 2, hub.stderr);
  });
});

test('what TLS needs is said before the hub starts', async () => {
  const refused = async (options, line) => {
    const hub = await Hub.launch(options);
    assert.equal((await hub.exit).code, 2);
    assert.match(hub.stderr, line);
  };
  await refused(['--listen', 'tls://127.0.0.1:0'], /--tls-certificate: expected a file: an address is served over TLS/);
  await refused(['--http', 'https://127.0.0.1:0'], /--tls-certificate: expected a file: an address is served over TLS/);
  await refused(['--tls-clients', file('authority.pem')], /--tls-clients: expected --tls-certificate beside it/);
  await refused([...serving, '--listen', 'tls://0.0.0.0:0'], /other machines/);
  await refused(['--tls-certificate', file('hub.pem'), '--tls-key', file('ci.key')], /^--tls-key: TLS: \S+ci\.key: expected the certificate's private key in PEM, without a password: key values mismatch$/m);
  await refused([...serving, '--tls-clients', file('ci.key')], /^--tls-clients: TLS: \S+ci\.key: \S/m);
  await refused(['--tls-certificate', file('hub.key'), '--tls-key', file('hub.key')], /^--tls-certificate: TLS: \S+hub\.key: \S/m);
  await refused(['--tls-certificate', file('none.pem')], /none\.pem: expected .*: No such file/);
});
