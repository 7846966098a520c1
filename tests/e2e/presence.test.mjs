// Presence: who is told which agents have come and gone, when, and in which order.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError } from './peer.mjs';
import { ALL, known, reload, withUsers } from './users.mjs';

const EVERYWHERE = { shards: [1, 2] };

const data = (one) => {
  assert.equal(one.json.method, 'event', one.text);
  return [one.json.params.event.replace('hub-agent-', ''), one.json.params.data];
};
const came = (agentId, capabilities = {}, governanceLevel = 'autonomous') => ['registered', { agentId, capabilities, governanceLevel }];
const left = (agentId, reason) => ['left', { agentId, reason }];

async function listens(peer, events = ['hub-*']) {
  const answer = await peer.ask('hub/subscribe', { events });
  assert.deepEqual(answer.result, { events }, JSON.stringify(answer));
  return peer;
}

// The next events, in this order.
async function hears(peer, ...changes) {
  for (const change of changes) assert.deepEqual(data(await peer.next()), change);
}

// --- Who, why, in which order

scenario('agents come, say something else, and go', EVERYWHERE, async (hub) => {
  const all = await listens(await hub.peer()), goers = await listens(await hub.peer(), ['hub-agent-left']);
  const agent = await hub.peer();
  await agent.register('a', { tasks: ['x'] });
  await hears(all, came('a', { tasks: ['x'] }));
  await agent.register('a', { tasks: ['x'] });
  await agent.register('a', { tasks: ['y'] });
  await hears(all, came('a', { tasks: ['y'] }));
  await agent.register('a', { tasks: ['y'] }, { governanceLevel: 'manual' });
  await hears(all, came('a', { tasks: ['y'] }, 'manual'));
  await agent.ask('agent/unregister', { agentId: 'a' });
  await hears(all, left('a', 'unregistered'));
  await agent.register('b', {});
  await agent.ask('shutdown');
  await hears(all, came('b'), left('b', 'unregistered'));
  await agent.register('c', {});
  agent.drop();
  await hears(all, came('c'), left('c', 'disconnected'));
  await hears(goers, left('a', 'unregistered'), left('b', 'unregistered'), left('c', 'disconnected'));
  for (const peer of [all, goers]) await peer.silent('what it subscribed to');
});

scenario('who hears of an agent reaches it, and who hears that it left doesn\'t', EVERYWHERE, async (hub) => {
  const watchers = [];
  for (let index = 0; index < 4; index++) watchers.push(await listens(await hub.peer()));
  for (let round = 0; round < 40; round++) {
    const agent = await hub.peer(), id = `a-${round}`;
    agent.notify('agent/register', { agentId: id, capabilities: {} });
    await Promise.all(watchers.map(async (watcher) => {
      await hears(watcher, came(id));
      watcher.notify('seen', { targetAgent: id });
    }));
    for (let index = 0; index < watchers.length; index++) assert.equal((await agent.next()).json.method, 'seen');
    agent.drop();
    await Promise.all(watchers.map(async (watcher) => {
      await hears(watcher, left(id, 'disconnected'));
      assertError(await watcher.ask('work', { targetAgent: id }), -32010);
    }));
  }
});

scenario('an agent that is taken over has left and is registered, in this order', { ...EVERYWHERE, options: ['--takeover'] }, async (hub) => {
  const watcher = await listens(await hub.peer()), one = await hub.peer(), other = await hub.peer();
  await one.register('a', { v: 1 });
  await other.register('a', { v: 2 });
  await hears(watcher, came('a', { v: 1 }), left('a', 'replaced'), came('a', { v: 2 }));
  one.drop();
  await watcher.silent('of who had it before');
});

scenario('many that come and go at once are heard of in one order by all, each as often as it came', EVERYWHERE, async (hub) => {
  const watchers = [await listens(await hub.peer()), await listens(await hub.peer()), await listens(await hub.peer())];
  const peers = await Promise.all(Array.from({ length: 20 }, () => hub.peer()));
  await Promise.all(peers.map(async (peer, index) => {
    for (let round = 0; round < 10; round++) await peer.register(`a-${index}-${round}`, {});
    if (index % 2) peer.drop();
    else await peer.ask('shutdown');
  }));
  const stories = [];
  for (const watcher of watchers) {
    const story = [];
    for (let count = 0; count < 400; count++) story.push(data(await watcher.next()));
    stories.push(story);
  }
  assert.deepEqual(stories[1], stories[0]);
  assert.deepEqual(stories[2], stories[0]);
  const here = new Set();
  for (const [kind, { agentId, reason }] of stories[0]) {
    assert.equal(here.has(agentId), kind === 'left', agentId);
    if (kind === 'left') assert.equal(reason, Number(agentId.split('-')[1]) % 2 ? 'disconnected' : 'unregistered');
    if (kind === 'left') here.delete(agentId);
    else here.add(agentId);
  }
  assert.equal(here.size, 0);
});

scenario('where nobody listens nothing is published', EVERYWHERE, async (hub) => {
  const other = await listens(await hub.peer(), ['hubs', 'hub-x', 'g*', 'hub-agents-*']), agent = await hub.peer();
  const before = (await agent.ask('hub/stats')).result;
  for (let index = 0; index < 50; index++) await agent.register(`a-${index}`, {});
  await agent.ask('shutdown');
  const after = (await agent.ask('hub/stats')).result;
  assert.equal(after.events_delivered, before.events_delivered);
  await other.silent('of no agent');
});

scenario('a subscriber that stops to read is told how many changes it missed', { ...EVERYWHERE, options: ['--max-queue', '1K'] }, async (hub) => {
  const slow = await listens(await hub.peer()), agent = await hub.peer();
  slow.socket.pause();
  const capabilities = { text: 'x'.repeat(4000) };
  let registered = 0, dropped = 0;
  while (registered < 3000 && dropped === 0) {
    for (let index = 0; index < 50; index++, registered++) await agent.register('a', { ...capabilities, n: registered });
    dropped = (await agent.ask('hub/stats')).result.dropped_events_overloaded;
  }
  assert.ok(dropped > 0, 'nothing was dropped');
  slow.socket.resume();
  let heard = 0;
  while (heard < registered) {
    const one = await slow.next();
    heard += one.json.method === 'hub/dropped' ? one.json.params.count : 1;
  }
  assert.equal(heard, registered);
});

// --- Rights

const USERS = {
  builder: { ...ALL },
  watcher: { call: ['a-*', '@review'], 'deny-call': ['a-secret'], subscribe: ['hub-*'] },
  admin: { subscribe: ['*'], admin: true },
};

withUsers('only who may see an agent hears of it', USERS, {}, async (hub) => {
  const agent = await known(hub, 'builder'), watcher = await listens(await known(hub, 'watcher')), admin = await listens(await known(hub, 'admin'));
  const sees = async (peer) => (await peer.ask('hub/agents')).result.agents.map((one) => one.agentId).sort();
  await agent.register('a-1', {});
  await agent.register('b-1', {});
  await agent.register('a-secret', { tasks: ['review'] });
  await agent.register('b-2', { tasks: ['review'] });
  await hears(watcher, came('a-1'), came('b-2', { tasks: ['review'] }));
  await hears(admin, came('a-1'), came('b-1'), came('a-secret', { tasks: ['review'] }), came('b-2', { tasks: ['review'] }));
  assert.deepEqual(await sees(watcher), ['a-1', 'b-2']);
  // Large capabilities aren't told, and are judged all the same.
  const large = { tasks: ['review'], text: 'x'.repeat(5000) };
  await agent.register('b-3', large);
  for (const peer of [watcher, admin]) await hears(peer, ['registered', { agentId: 'b-3', governanceLevel: 'autonomous' }]);
  await reload(hub, { ...USERS, builder: { ...ALL, register: ['a-*', 'b-3'] } });
  await hears(watcher, left('b-2', 'rights'));
  await hears(admin, left('b-1', 'rights'), left('b-2', 'rights'));
  agent.drop();
  await hears(watcher, left('a-1', 'disconnected'), left('b-3', 'disconnected'));
  await hears(admin, left('a-1', 'disconnected'), left('a-secret', 'disconnected'), left('b-3', 'disconnected'));
  for (const peer of [watcher, admin]) await peer.silent('of any other');
});
