// What the service manager is told: when the hub is ready, reads its configuration again, ends, and that it is alive.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dial, Hub } from './hub.mjs';
import { within } from './peer.mjs';

const LISTENER = join(dirname(fileURLToPath(import.meta.url)), 'notify.py');

// A manager that keeps all that it hears.
class Manager {
  text = '';

  static async open(folder) {
    const manager = new Manager();
    manager.path = join(folder, 'notify');
    manager.process = spawn('python3', [LISTENER, manager.path], { stdio: ['pipe', 'pipe', 'inherit'] });
    manager.process.stdout.setEncoding('utf8').on('data', (text) => { manager.text += text; });
    await manager.until(() => manager.lines().includes('bound'), 'the socket');
    return manager;
  }

  lines() {
    return this.text.split('\n').slice(0, -1).map((line) => JSON.parse(line));
  }

  heard(pattern) {
    return this.lines().filter((one) => pattern.test(one.text ?? ''));
  }

  async until(condition, what) {
    await within((async () => {
      while (!condition()) await new Promise((resolve) => { this.process.stdout.once('data', resolve); });
    })(), what);
  }
}

function managed(name, options, environment, run) {
  test(name, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'patchbay-notify-'));
    const manager = await Manager.open(folder);
    try {
      writeFileSync(join(folder, 'hub.ini'), 'max-batch = 2\n');
      const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--config', join(folder, 'hub.ini'), ...options], { NOTIFY_SOCKET: manager.path, ...environment });
      await run(hub, manager, join(folder, 'hub.ini'), context);
      await hub.stop();
      await manager.until(() => manager.heard(/^STOPPING=1$/m).length === 1, 'that it stops');
    } finally {
      manager.process.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

managed('ready, reading again whatever comes of it, and stopping', [], {}, async (hub, manager, config) => {
  await manager.until(() => manager.heard(/^READY=1$/m).length === 1, 'that it is ready');
  assert.match(manager.heard(/^READY=1$/m)[0].text, /^STATUS=Serving at 1 address$/m);
  let ready = 1;
  for (const text of ['max-batch = 3\n', 'max-batch = many\n']) {
    writeFileSync(config, text);
    hub.process.kill('SIGHUP');
    ready++;
    await manager.until(() => manager.heard(/^READY=1$/m).length === ready, `that it is ready again after ${text}`);
    const [reloading] = manager.heard(/^RELOADING=1$/m).slice(-1);
    const time = Number(/^MONOTONIC_USEC=(\d+)$/m.exec(reloading.text)[1]);
    assert.ok(time <= reloading.at && time > reloading.at - 5e6, `${time} is the time of ${reloading.at}`);
    const order = manager.lines().map((one) => one.text ?? '');
    assert.ok(order.indexOf(reloading.text) < order.findLastIndex((one) => one.startsWith('READY=1')));
  }
  assert.equal(manager.heard(/WATCHDOG/).length, 0);
});

for (const shards of ['1', '4'])
  managed(`alive each half of the time that it has (--shards ${shards})`, ['--shards', shards], { WATCHDOG_USEC: '400000' }, async (hub, manager) => {
    await manager.until(() => manager.heard(/^WATCHDOG=1$/m).length === 6, 'six signs of life of a hub that has nothing to do');
    const times = manager.heard(/^WATCHDOG=1$/m).map(({ at }) => at);
    assert.ok(times.at(-1) - times[0] >= 5 * 190_000, 'no more often');
    const peer = await dial(hub.uris[0]);
    assert.equal((await peer.ask('hub/ping', 1)).result, 1);
    peer.drop();
  });

managed('not while a shard takes no turns', ['--shards', '3', '--sandbox', 'off'], { WATCHDOG_USEC: '400000' }, async (hub, manager, config, context) => {
  await manager.until(() => manager.heard(/WATCHDOG/).length === 2, 'signs of life');
  manager.process.stdin.write(`${hub.process.pid} 2 patchbayd\n`);
  await manager.until(() => manager.lines().some((one) => typeof one === 'string' && one !== 'bound'), 'the thread to stop');
  if (manager.lines().includes('refused')) {
    context.skip('no thread may be stopped here');
    return;
  }
  await manager.until(() => manager.lines().includes('goes on'), 'the thread to go on');
  const lines = manager.lines();
  const between = lines.slice(lines.indexOf('stopped'), lines.indexOf('goes on')).filter((one) => /WATCHDOG/.test(one.text ?? ''));
  assert.ok(between.length <= 1, `${between.length} signs of life`);
  await manager.until(() => manager.heard(/WATCHDOG/).length >= 5, 'signs of life again');
});

managed('nobody else\'s time is taken', [], { WATCHDOG_USEC: '200000', WATCHDOG_PID: '1' }, async (hub, manager) => {
  await manager.until(() => manager.heard(/^READY=1$/m).length === 1, 'that it is ready');
  const peer = await dial(hub.uris[0]);
  for (const began = Date.now(); Date.now() - began < 500;) await peer.ask('hub/ping', 1);
  peer.drop();
  assert.equal(manager.heard(/WATCHDOG/).length, 0);
});
