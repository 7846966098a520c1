// TLS of a hub as it is deployed, in its sandbox. A hub of a user that isn't root reads its files again at SIGHUP. Many
// handshakes leave nothing behind.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import tls from 'node:tls';
import { authority, certificate, file, serving, trusted } from './certificates.mjs';
import { Hub } from './hub.mjs';
import { Peer, within } from './peer.mjs';
import { passed } from './users.mjs';

const NOBODY = 65534;
const directory = mkdtempSync(join(tmpdir(), 'patchbay-walls-'));
after(() => rmSync(directory, { recursive: true, force: true }));
chmodSync(directory, 0o755);
certificate('renewed', 'authority', 'IP:127.0.0.1');
certificate('ci.example');
authority('others');

const at = (name) => join(directory, name);
function put(to, from) {
  copyFileSync(file(from), at(to));
  chownSync(at(to), NOBODY, NOBODY);
  chmodSync(at(to), 0o600);
}

// The certificate is replaced, broken, and its key taken away; who vouches for clients is another: all behind the walls, as
// nobody.
for (const io of ['uring', 'epoll']) {
  test(`TLS is read again behind the walls, by --user’s user (${io})`, { skip: process.getuid() === 0 ? false : 'takes root' }, async () => {
    for (const [to, from] of [['hub.pem', 'hub.pem'], ['hub.key', 'hub.key'], ['clients.pem', 'authority.pem']]) put(to, from);
    writeFileSync(at('users'), '[user ci]\ncertificate = ci.example\n');
    const hub = await Hub.launch(['--io', io, '--sandbox', 'required', '--user', 'nobody', '--users', at('users'), '--listen', 'tls://127.0.0.1:0',
      '--tls-certificate', at('hub.pem'), '--tls-key', at('hub.key'), '--tls-clients', at('clients.pem')]);
    const port = Number(new URL(hub.uris.find((uri) => uri.startsWith('tls:'))).port);
    const own = { cert: readFileSync(file('ci.example.pem')), key: readFileSync(file('ci.example.key')) };
    const reach = async () => {
      const socket = tls.connect({ host: '127.0.0.1', port, ca: trusted, ...own });
      await within(new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject)), 'a handshake');
      return [new Peer(socket), socket.getPeerCertificate().subject.CN];
    };
    const again = (line) => {
      const from = hub.stderr.length;
      hub.process.kill('SIGHUP');
      return within(new Promise((resolve) => {
        hub.process.stderr.on('data', () => line.test(hub.stderr.slice(from)) && resolve());
      }), `${line}`);
    };
    const [first, before] = await reach();
    assert.equal(before, 'hub');
    passed(await first.ask('hub/ping'));
    put('hub.pem', 'renewed.pem');
    await again(/hub\.key: .*key values mismatch\n.*goes on as before/);
    writeFileSync(at('hub.pem'), 'no certificate');
    await again(/hub\.pem: .*\n.*goes on as before/);
    put('hub.pem', 'renewed.pem');
    rmSync(at('hub.key'));
    await again(/hub\.key: .*No such file or directory\n.*goes on as before/);
    const [between, still] = await reach();
    assert.equal(still, 'hub');
    put('hub.key', 'renewed.key');
    await again(/was read again/);
    const [renewed, now] = await reach();
    assert.equal(now, 'renewed');
    for (const peer of [first, between, renewed]) passed(await peer.ask('hub/ping'));
    put('clients.pem', 'others.pem');
    await again(/was read again/);
    for (const peer of [first, between, renewed]) await within(peer.end, 'the end of who shows what nobody vouches for');
    await hub.stop();
  });
}

// Each with a client's certificate, every third of an earlier version, each fifth begun and left: what one of them left would be seen after
// so many.
test('many handshakes leave nothing in memory', async () => {
  const LEFT_KIB_MAX = 2048, SOME = 400, MANY = 800;
  const hub = await Hub.launch(['--listen', 'tls://127.0.0.1:0', '--shards', '1', ...serving, '--tls-clients', file('authority.pem')]);
  const port = Number(new URL(hub.uris[0]).port);
  const own = { cert: readFileSync(file('ci.example.pem')), key: readFileSync(file('ci.example.key')) };
  const once = (at) => new Promise((resolve, reject) => {
    const version = at % 3 ? 'TLSv1.3' : 'TLSv1.2';
    const socket = tls.connect({ host: '127.0.0.1', port, ca: trusted, ...own, minVersion: version, maxVersion: version });
    if (at % 5 === 0) socket.once('connect', () => socket.destroy());
    socket.resume().once('secureConnect', () => socket.end()).once('close', resolve).once('error', reject);
  });
  const handshakes = async (count) => {
    for (let at = 0; at < count; at += 20) await within(Promise.all(Array.from({ length: 20 }, (_, more) => once(at + more))), 'handshakes');
    const socket = tls.connect({ host: '127.0.0.1', port, ca: trusted });
    const peer = new Peer(socket);
    const { tls_handshakes: done } = (await peer.ask('hub/stats', {})).result;
    peer.drop();
    return { done, kib: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${hub.process.pid}/status`, 'utf8'))[1]) };
  };
  const before = await handshakes(SOME), after = await handshakes(MANY);
  assert.ok(after.done - before.done >= MANY * 0.8, `${after.done} handshakes`);
  assert.ok(after.kib <= before.kib + LEFT_KIB_MAX, `${before.kib} KiB, and then ${after.kib}`);
  await hub.stop();
});
