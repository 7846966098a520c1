// Presence of agents at other hubs: who is told of them, when, and that they have left once their hub is gone.
import assert from 'node:assert/strict';
import { Client, joined, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';

const data = ({ json, text }) => {
  assert.equal(json.method, 'event', text);
  return [json.params.event.replace('hub-agent-', ''), json.params.data];
};
const came = (agentId, hub, capabilities = {}, governanceLevel = 'autonomous') => ['registered', { agentId, capabilities, governanceLevel, hub }];
const left = (agentId, reason, hub) => ['left', { agentId, reason, hub }];

// Subscribes, and waits for a complete list. Other hubs hear of the first subscriber after the subscriber's answer, and are
// then asked for their agents. An agent that comes before its hub's list is complete is told as new.
async function listens(hub, events = ['hub-agent-*']) {
  const peer = await hub.peer();
  assert.deepEqual((await peer.ask('hub/subscribe', { events })).result, { events });
  await until('all hubs have said whom they have', async () => (await peer.ask('hub/agents', { cluster: true })).result.complete);
  return peer;
}

// The next events, in this order.
async function hears(peer, ...changes) {
  for (const change of changes) assert.deepEqual(data(await peer.next()), change);
}

// The next change; what tells of a gap is passed over.
async function hearsAny(peer) {
  return data(await peer.find((one) => one.json.method !== 'hub/dropped', 'a change'));
}

// In any order; what tells of a gap is passed over.
async function hearsAll(peer, ...changes) {
  const heard = [];
  while (heard.length < changes.length) heard.push(await hearsAny(peer));
  const order = (one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
  assert.deepEqual(heard.sort(order), changes.sort(order));
}

// As lists name it.
async function nameOf(hub) {
  const agent = await hub.agent('its-name');
  const { agents } = (await agent.ask('hub/agents', { cluster: true })).result;
  await agent.ask('shutdown');
  agent.drop();
  return agents.find((one) => one.agentId === 'its-name').hub;
}

const count = async (hub, name) => {
  const peer = await hub.peer();
  const value = (await peer.ask('hub/stats')).result[name];
  peer.drop();
  return value;
};
const together = (...hubs) => Promise.all(hubs.map((hub) => until('all hubs are there', async () => (await count(hub, 'cluster_hubs')) === hubs.length - 1)));

joined('agents come, say something else and go at one hub, and subscribers at another hear of it', {}, async (x, y) => {
  await together(x, y);
  const hub = await nameOf(y), all = await listens(x), goers = await listens(x, ['hub-agent-left']), near = await listens(y);
  const agent = await y.peer();
  await agent.register('a', { tasks: ['x'] });
  await hears(all, came('a', hub, { tasks: ['x'] }));
  await agent.register('a', { tasks: ['x'] });
  await agent.register('a', { tasks: ['y'] }, { governanceLevel: 'manual' });
  await hears(all, came('a', hub, { tasks: ['y'] }, 'manual'));
  await agent.ask('agent/unregister', { agentId: 'a' });
  await hears(all, left('a', 'unregistered', hub));
  await agent.register('large', { text: 'x'.repeat(5000) });
  await hears(all, ['registered', { agentId: 'large', governanceLevel: 'autonomous', hub }]);
  agent.drop();
  await hears(all, left('large', 'disconnected', hub));
  await hears(goers, left('a', 'unregistered', hub), left('large', 'disconnected', hub));
  for (let told = 0; told < 5; told++) assert.equal((await near.next()).json.params.data.hub, undefined);
  for (const peer of [all, goers, near]) await peer.silent('anything else');
});

joined('who hears of an agent elsewhere reaches it, and who hears that it left doesn\'t', {}, async (x, y) => {
  await together(x, y);
  const hub = await nameOf(y), watcher = await listens(x);
  for (let round = 0; round < 20; round++) {
    const agent = await y.peer(), id = `a-${round}`;
    agent.notify('agent/register', { agentId: id, capabilities: {} });
    await hears(watcher, came(id, hub));
    watcher.notify('seen', { targetAgent: id });
    assert.equal((await agent.next()).json.method, 'seen');
    agent.drop();
    await hears(watcher, left(id, 'disconnected', hub));
    assertError(await watcher.ask('work', { targetAgent: id }), -32010);
  }
});

joined('where nobody listens nothing of it crosses', {}, async (x, y, broker) => {
  await together(x, y);
  const peer = await x.peer(), agent = await y.peer(), client = await Client.join(broker);
  await client.subscribe('patchbay.test.*.event.*');
  await peer.ask('hub/subscribe', { events: ['news', 'hubs'] });
  await agent.register('a', {});
  await agent.ask('agent/unregister', { agentId: 'a' });
  const watcher = await listens(x), hub = await nameOf(y);
  await hears(watcher, came('its-name', hub), left('its-name', 'unregistered', hub));
  // The first that was said is of who came after somebody listened.
  const said = await client.message('the first event');
  assert.equal(said.subject, 'patchbay.test.1.event.hub-agent-registered');
  assert.equal(JSON.parse(said.text).agentId, 'its-name');
  await peer.silent('of an agent');
  client.drop();
});

joined('a hub that is killed has lost its agents, also those that were there before anybody listened', {}, async (x, y) => {
  await together(x, y);
  const hub = await nameOf(y);
  await y.agent('old', { tasks: ['t'] });
  const watcher = await listens(x);
  await y.agent('new');
  await hears(watcher, came('new', hub));
  y.process.kill('SIGKILL');
  y.over = true;
  await hearsAll(watcher, left('new', 'disconnected', hub), left('old', 'disconnected', hub));
  y.clean();
});

joined('a hub that comes later, or ends in good order', {}, async (x, y, broker) => {
  await together(x, y);
  const watcher = await listens(x), z = await Hub.start([...joining(broker), '--shards', '1']);
  await linked(z);
  const agent = await z.agent('z-1', { tools: ['lint'] });
  const { hub } = data(await watcher.next())[1];
  await z.stop();
  await hearsAll(watcher, left('z-1', 'disconnected', hub));
  agent.drop();
});

joined('a link that is lost takes all agents elsewhere along, and the next one brings them', { shards: [1] }, async (x, y, broker) => {
  await together(x, y);
  const hub = await nameOf(y), watcher = await listens(x);
  await y.agent('a', { tasks: ['t'] });
  await hears(watcher, came('a', hub, { tasks: ['t'] }));
  await broker.kill();
  await hearsAll(watcher, left('a', 'disconnected', hub));
  await broker.again();
  // The number rises with each dial that reaches a server, also one that is slow to greet the hub.
  const change = await hearsAny(watcher), next = change[1].hub;
  assert.deepEqual(change, came('a', next, { tasks: ['t'] }));
  assert.equal(next.split('-')[0], hub.split('-')[0]);
  assert.ok(Number(next.split('-')[1]) > Number(hub.split('-')[1]), `${next} after ${hub}`);
});
