// A second hub takes over from the first under a storm of connections, and no connection is refused or reset before it
// was served: --share-addresses.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dial, Hub } from './hub.mjs';
import { frame, line, within } from './peer.mjs';

const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/stats"}';

// Connects, asks, and resolves to the pid of the hub that answered; rejects when the connection is refused or ends
// without an answer. `where.lines`: lines are spoken there.
function ask(where) {
  return within(new Promise((resolve, reject) => {
    const socket = net.connect(where);
    let text = '';
    socket.on('connect', () => socket.write(where.lines ? line(PING) : frame(PING)));
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
      // A hub that drains answers what it doesn't serve any more: that is an answer.
      const pid = /"pid":(\d+)/.exec(text)?.[1];
      if (!pid && !text.includes('"error"')) return;
      socket.destroy();
      resolve(Number(pid ?? 0));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`closed without an answer: ${text}`)));
  }), 'an answer');
}

// Connections one after another on several lanes until `over`; resolves to how often each hub answered.
async function storm(where, over) {
  const answers = new Map();
  const lane = async () => {
    while (!over.now) {
      const pid = await ask(where);
      answers.set(pid, (answers.get(pid) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return answers;
}

async function takeOver(uri, where, shards) {
  const options = ['--listen', uri, '--share-addresses', '--shards', String(shards)];
  let hub = await Hub.launch(options);
  const target = where(hub.uris[0]);
  const over = { now: false };
  const storming = storm(target, over).catch((error) => ({ error }));
  const pids = [hub.process.pid];
  for (let round = 0; round < 3; round++) {
    const next = await Hub.launch(['--listen', hub.uris[0], ...options.slice(2)]);
    pids.push(next.process.pid);
    hub.process.kill('SIGTERM');
    await hub.ended();
    hub = next;
  }
  over.now = true;
  const answers = await storming;
  assert.ok(!answers.error, String(answers.error?.stack));
  for (const pid of pids.slice(0, -1)) assert.ok(answers.get(pid) > 0, `${pid} of ${pids} answered nothing`);
  await ask(target);
  await hub.stop();
}

for (const shards of [1, 2]) {
  for (const scheme of ['tcp', 'tcp-lines']) {
    test(`${scheme} (--shards ${shards})`, () =>
      takeOver(`${scheme}://127.0.0.1:0`, (uri) => ({ host: '127.0.0.1', port: Number(new URL(uri).port), lines: scheme !== 'tcp' }), shards));
  }

  test(`a Unix socket, of lines where there are two shards (--shards ${shards})`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'patchbay-deploy-'));
    const path = join(directory, 'hub.sock');
    const lines = shards === 2;
    try {
      await takeOver(`unix${lines ? '-lines' : ''}://${path}`, () => ({ path, lines }), shards);
      assert.ok(!existsSync(path), 'the last hub takes its file away');
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}

test('a hub that is alone, or asked twice, ends all the same; a file that is no socket stays', async () => {
  const alone = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--share-addresses']);
  const peer = await dial(alone.uris[0]);
  alone.process.kill('SIGTERM');
  alone.process.kill('SIGINT');
  await alone.ended();
  await peer.gone();
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-deploy-'));
  try {
    writeFileSync(join(directory, 'file'), 'mine');
    const refused = await Hub.launch(['--listen', `unix://${directory}/file`, '--share-addresses']);
    assert.equal((await within(refused.exit, 'the refusal')).code, 2); // as --check says: the address can't be used
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('without the option an address has one hub', async () => {
  const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0']);
  const second = await Hub.launch(['--listen', hub.uris[0]]);
  assert.equal((await within(second.exit, 'the refusal')).code, 1);
  await hub.stop();
});
