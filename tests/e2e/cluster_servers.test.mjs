// Which server a hub is at: names, the order in which servers are tried, the pauses between, and what is left.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import net from 'node:net';
import { Broker, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { listen } from './listeners.mjs';
import { test } from './parallel.mjs';

// No numeric address as the hub takes them, so it is looked up; and known without any file or server.
const HERE = '0x7f.1';
const NOWHERE = 'no-such-host.invalid';

const childrenOf = (hub) => readFileSync(`/proc/${hub.process.pid}/task/${hub.process.pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
const lives = (pid) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

test('a server by its name, which is looked up again for each link; who looks ends with the hub', async () => {
  const broker = await Broker.start();
  const hub = await Hub.start([...joining(`nats://${HERE}:${broker.port}`), '--insecure']);
  await linked(hub);
  await broker.kill();
  await linked(hub, 0);
  await broker.again();
  await linked(hub);
  const processes = childrenOf(hub);
  assert.equal(processes.length, 1);
  await hub.stop();
  await until('it has ended', async () => !processes.some(lives));
  await broker.kill();
});

test('it ends with a hub that is killed, too, and has nothing of it open', async () => {
  const hub = await Hub.start([...joining(`nats://${HERE}:1`), '--insecure', '--extension', 'idle=cat']);
  const comm = (pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  const resolver = () => childrenOf(hub).find((pid) => comm(pid) === 'patchbay-names');
  await until('it is apart', async () => resolver() && readdirSync(`/proc/${resolver()}/fd`).join() === '0,1,2,3');
  const processes = [resolver()];
  hub.process.kill('SIGKILL');
  hub.over = true;
  await until('it has ended', async () => !processes.some(lives));
  hub.clean();
});

test('a name that means nothing: the next server, which needs no scheme of its own, is tried, and nobody waits for it', async () => {
  const broker = await Broker.start();
  const hub = await Hub.start([...joining(`nats://${NOWHERE}:4222,127.0.0.1:${broker.port}`), '--insecure']);
  (await hub.agent('a')).serve(() => 1);
  assert.equal((await (await hub.peer()).ask('work', { targetAgent: 'a' })).result, 1);
  await linked(hub);
  await hub.stop();
  assert.match(hub.stderr, new RegExp(`cluster: server ${NOWHERE}:4222: `));
  await broker.kill();
});

test('without any other, a name that means nothing is asked for again after pauses', async () => {
  const hub = await Hub.start([...joining(`nats://${NOWHERE}:4222`), '--insecure']);
  const source = await hub.peer();
  const begun = performance.now();
  const failed = async () => (await source.ask('hub/stats')).result.cluster_dials_failed;
  await until('it was tried three times', async () => (await failed()) >= 3);
  // 75, 150 and 300 ms at least lie between the first four.
  assert.ok((await failed()) <= 4 + (performance.now() - begun) / 300);
  await hub.stop();
});

test('pauses double from 0.1 s, and servers are tried in turn, in the order given', async () => {
  const tried = [];
  const servers = await Promise.all([0, 1].map((index) => listen(net.createServer((socket) => {
    tried.push({ index, at: performance.now() });
    socket.on('error', () => {}).destroy();
  }))));
  const hub = await Hub.start(joining(servers.map((server) => `nats://127.0.0.1:${server.address().port}`)));
  await until('six tries', async () => tried.length >= 6);
  await hub.stop();
  for (const server of servers) server.close();
  for (const [number, { index, at }] of tried.slice(0, 6).entries()) {
    assert.equal(index, number % 2);
    if (number === 0) continue;
    const pause = Math.min(100 * 2 ** (number - 1), 2000), passed = at - tried[number - 1].at;
    assert.ok(passed >= 0.75 * pause - 10, `${passed} ms between tries ${number} and ${number + 1}`);
  }
});

test('the log says of each server why there is no link, once a minute', async () => {
  const open = (serve) => listen(net.createServer((socket) => serve(socket.on('error', () => {}))));
  const servers = await Promise.all([open((socket) => socket.destroy()), open(() => {}), open((socket) => socket.write('INFO {\r\n')), open(() => {})]);
  const [closing, mute, vague, gone] = servers.map((server) => `127.0.0.1:${server.address().port}`);
  servers.pop().close();
  const hub = await Hub.start(joining([closing, mute, vague, gone].map((address) => `nats://${address}`)));
  const source = await hub.peer();
  await until('all have failed twice', async () => (await source.ask('hub/stats')).result.cluster_dials_failed >= 8);
  const { cluster_server_faults: faults } = (await source.ask('hub/stats')).result;
  await hub.stop();
  assert.equal(faults, 0, 'no server has said -ERR');
  const unheard = 'it ends the connection, or greets the hub with no INFO within 2 s';
  assert.deepEqual(hub.stderr.match(/cluster: server .*/g).sort(), [
    ...[closing, mute, vague].map((address) => `cluster: server ${address}: ${unheard}`), `cluster: server ${gone}: Connection refused`,
  ].sort());
  for (const server of servers) server.close();
});

// A server that knows how to take hubs in: `then` says what comes of each.
async function taking(info, then) {
  const tried = [];
  const server = net.createServer((socket) => {
    tried.push(performance.now());
    let said = '';
    socket.on('error', () => {}).on('data', (bytes) => {
      const before = said;
      said += bytes;
      if (!said.includes('\r\nPING\r\n')) return;
      if (`${bytes}`.includes('PING\r\n')) socket.write('PONG\r\n');
      if (!before.includes('\r\nPING\r\n')) then(socket);
    });
    socket.write(`INFO ${JSON.stringify({ server_id: 'X', version: '2.9.10', proto: 1, headers: true, max_payload: 1048576, ...info })}\r\n`);
  });
  await listen(server);
  return { tried, server, uri: `nats://127.0.0.1:${server.address().port}` };
}

test('a beat that comes before the server has taken the hub in is answered behind that', async () => {
  const sockets = [], beat = `{"protocol":1,"realm":"1","hub":"${'0'.repeat(32)}-1","agents":0,"dropped":0}`;
  const server = net.createServer((socket) => {
    const at = sockets.push({ socket, said: '' }) - 1;
    socket.on('error', () => {}).on('data', (bytes) => {
      const before = sockets[at].said;
      sockets[at].said += bytes;
      const [, sid] = /SUB patchbay\.test\.hubs\.> (\d+)\r\n/.exec(sockets[at].said) ?? [];
      if (/\r\nPING\r\n/.test(sockets[at].said) && !/\r\nPING\r\n/.test(before))
        socket.write(`MSG patchbay.test.hubs.beat ${sid} ${beat.length}\r\n${beat}\r\n`);
    });
    socket.write('INFO {"server_id":"X","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n');
  });
  await listen(server);
  const hub = await Hub.start(joining(`nats://127.0.0.1:${server.address().port}`));
  const watch = await hub.peer();
  try {
    await until('the beat is read', async () => (await watch.ask('hub/stats')).result.cluster_hubs === 1);
    assert.doesNotMatch(sockets.at(-1).said, /PUB /);
    sockets.at(-1).socket.write('PONG\r\n');
    await until('the hub beats', () => /HPUB patchbay\.test\.hubs\.beat /.test(sockets.at(-1).said));
  } finally {
    await hub.stop();
    server.close();
  }
});

const pauseBefore = (tried, number) => tried[number] - tried[number - 1];

test('who takes a hub in and sends it away at once is gone to after the same pauses', async () => {
  const { tried, server, uri } = await taking({}, (socket) => socket.end());
  const hub = await Hub.start(joining(uri));
  const watch = await hub.peer();
  await watch.ask('hub/subscribe', { events: ['x'] });
  await until('six links', async () => tried.length >= 6);
  assert.ok((await watch.ask('hub/stats')).result.cluster_links_opened >= 5);
  await hub.stop();
  server.close();
  for (let number = 1; number < 6; number++)
    assert.ok(pauseBefore(tried, number) >= 75 * 2 ** (number - 1) - 10, `${pauseBefore(tried, number)} ms before try ${number}`);
});

test('a server that will go when it is joined is left after pauses, too', async () => {
  const { tried, server, uri } = await taking({ ldm: true }, () => {});
  const hub = await Hub.start(joining(uri));
  await until('six links', async () => tried.length >= 6);
  await hub.stop();
  server.close();
  for (let number = 1; number < 6; number++)
    assert.ok(pauseBefore(tried, number) >= 75 * 2 ** (number - 1) - 10, `${pauseBefore(tried, number)} ms before try ${number}`);
});

test('a server that another one names is in the log, also in the place of one with the same fault', async () => {
  const info = { connect_urls: ['127.0.0.1:1'] };
  const { server, uri } = await taking(info, (socket) => socket.end());
  const hub = await Hub.start(joining(uri));
  await until('the first one is in the log', async () => /cluster: server 127\.0\.0\.1:1: /.test(hub.stderr));
  info.connect_urls = ['127.0.0.1:2'];
  await until('the other one is, too', async () => /cluster: server 127\.0\.0\.1:2: /.test(hub.stderr));
  await hub.stop();
  server.close();
});

test('who says nothing is left after two seconds', async () => {
  const left = [];
  const server = net.createServer((socket) => {
    const begun = performance.now();
    socket.on('error', () => {}).on('close', () => left.push(performance.now() - begun)).resume();
  });
  await listen(server);
  const hub = await Hub.start(joining(`nats://127.0.0.1:${server.address().port}`));
  await until('it was left', async () => left.length > 0);
  await hub.stop();
  server.close();
  assert.ok(left[0] >= 1500 && left[0] < 10_000, `left after ${left[0]} ms`);
});

test('who looks names up has ended: that is said at once, and who is here is served as ever', async () => {
  const hub = await Hub.start([...joining(`nats://${HERE}:1`), '--insecure']);
  const comm = (pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  const resolver = () => childrenOf(hub).find((pid) => comm(pid) === 'patchbay-names');
  await until('it is apart', async () => resolver());
  const source = await hub.peer();
  await until('it was asked', async () => (await source.ask('hub/stats')).result.cluster_dials_failed > 0);
  process.kill(Number(resolver()), 'SIGKILL');
  await until('that is said', async () => /patchbayd: cluster: server \S+: the process that looks names up has ended: restart the hub/.test(hub.stderr));
  (await hub.agent('a')).serve(() => 1);
  assert.equal((await source.ask('work', { targetAgent: 'a' })).result, 1);
  await hub.stop();
});

test('a server that says that it will go is left at once, for the next one', async () => {
  const brokers = [await Broker.start(), await Broker.start()];
  const hub = await Hub.start(joining(brokers));
  await linked(hub);
  brokers[0].process.kill('SIGUSR2'); // as nats-server --signal ldm does
  const stats = async () => (await (await hub.peer()).ask('hub/stats')).result;
  await until('the link is to the other one', async () => {
    const { cluster_links_opened: opened, cluster_links_lost: lost, cluster_link: up } = await stats();
    return opened === 2 && lost === 1 && up === 1;
  });
  await hub.stop();
  for (const broker of brokers) await broker.kill();
});
