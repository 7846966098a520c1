// Where the kernel refuses io_uring the hub says so in one line and serves by epoll, unless it was told to go by
// io_uring.
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { dial, Hub } from './hub.mjs';
import { within } from './peer.mjs';

const refuser = process.env.REFUSE;
if (!refuser) throw new Error('REFUSE must name the program that refuses system calls');

// The same number on every architecture.
const SETUP = 425, REGISTER = 427;
const LISTEN = ['--listen', 'tcp://127.0.0.1:0', '--shards', '2'];

const refusing = (error, ...calls) => [refuser, String(error), calls.join(',')];

async function serves(hub, io) {
  assert.equal(hub.uris?.length, 1, hub.stderr);
  const [source, target] = await Promise.all([dial(hub.uris[0]), dial(hub.uris[0])]);
  (await target.register('target')).serve((request) => request.params.text);
  for (let round = 0; round < 20; round++) {
    const text = 'x'.repeat(1 + round * 4000);
    assert.equal((await source.ask('m', { targetAgent: 'target', text })).result, text);
  }
  assert.equal((await source.ask('hub/stats')).result.io, io);
  source.drop();
  target.drop();
  await hub.stop();
}

test('io_uring is the first choice', async () => {
  const hub = await Hub.launch(LISTEN);
  await serves(hub, 'uring');
  assert.doesNotMatch(hub.stderr, /epoll/);
});

test('--io epoll is taken at its word, and in silence', async () => {
  const hub = await Hub.launch([...LISTEN, '--io', 'epoll'], {}, refusing(constants.errno.EPERM, SETUP));
  await serves(hub, 'epoll');
  assert.doesNotMatch(hub.stderr, /patchbayd:/);
});

for (const error of ['EPERM', 'ENOSYS']) {
  test(`io_uring_setup refused with ${error}`, async () => {
    const hub = await Hub.launch(LISTEN, {}, refusing(constants.errno[error], SETUP));
    await serves(hub, 'epoll');
    assert.match(hub.stderr, /^patchbayd: io_uring_setup was refused .*; going on with epoll$/m);
    assert.equal(hub.stderr.match(/patchbayd:/g).length, 1);
  });
}

test('a kernel whose io_uring lacks what the hub needs', async () => {
  const hub = await Hub.launch(LISTEN, {}, refusing(constants.errno.EINVAL, REGISTER));
  await serves(hub, 'epoll');
  assert.match(hub.stderr, /^patchbayd: .*io_uring.*; going on with epoll$/m);
});

test('--io uring where io_uring is refused is an error', async () => {
  const hub = await Hub.launch([...LISTEN, '--io', 'uring'], {}, refusing(constants.errno.EPERM, SETUP));
  const { code } = await within(hub.exit, 'patchbayd to refuse');
  assert.equal(code, 1);
  assert.match(hub.stderr, /^patchbayd: io_uring_setup was refused.*: Operation not permitted$/m);
});

test('--io takes three words', async () => {
  const hub = await Hub.launch([...LISTEN, '--io', 'select']);
  const { code } = await within(hub.exit, 'patchbayd to refuse');
  assert.equal(code, 2);
  assert.match(hub.stderr, /auto, uring or epoll/);
});
