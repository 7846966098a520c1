// Whom a user may not reach at other hubs (core/cluster/remote_acl.h): beside one that hasn't said that it heeds that, nobody by a group's name.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Broker, joining, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';
import { head, Played } from './played.mjs';
import { ALL, directoryOfUsers, known, refused, reload, usersText } from './users.mjs';

// A hub with users whose lines name agents, its name, and one who plays another hub at the same server.
const FENCED = {
  root: { ...ALL, admin: true }, free: ALL, denies: { ...ALL, 'deny-call': ['deploy-*'] }, holds: { ...ALL, hold: ['deploy-*'] },
};
let files = 0;
const nameOf = (mark) => / hub=([0-9a-f]{32})/.exec(mark)[1];
const stands = (root, key, value) => until(`${key} is ${value}`, async () => (await root.ask('hub/stats')).result[key] === value);

function guarded(name, run, users = FENCED, options = []) {
  for (const shards of ['1', '2'])
    test(`${name} (--shards ${shards})`, async () => {
      const broker = await Broker.start(options), other = await Broker.start(), played = await Played.join(broker);
      const file = join(directoryOfUsers, `fences-${++files}.ini`);
      writeFileSync(file, usersText(users));
      await played.client.subscribe('patchbay.test.beat');
      const hub = await Hub.start([...joining([broker, other]), '--shards', shards, '--gate', 'manual', '--users', file, '--audit', `${file}.journal`]);
      hub.usersFile = file;
      try {
        const root = await known(hub, 'root');
        await stands(root, 'cluster_link', 1);
        const { head: beat } = await played.client.find((one) => one.subject === 'patchbay.test.beat', 'a beat');
        await run({ hub, name: nameOf(beat), played, broker, other, root });
      } finally {
        played.client.drop();
        await hub.stop();
        await Promise.all([broker, other].map((one) => one.kill()));
      }
    });
}

const toGroup = (peer) => peer.ask('work', { targetAgent: '@grp' });
// What comes to a group is answered by who plays the hub that it came to.
async function answerGroup(played, subject = 'patchbay.test.can.grp') {
  const { reply, head: mark } = await played.client.find((one) => one.subject === subject, 'a request for the group');
  const id = parseInt(reply.split('.').at(-1), 16);
  played.client.publish(reply, JSON.stringify({ jsonrpc: '2.0', id, result: played.name }), '', head(played.name));
  return mark;
}

function refuseGroup(played, { reply, number }) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: parseInt(number, 16), error: { code: -32052, message: 'busy' } });
  played.client.publish(reply, body, '', head(played.name, ' refused=1'));
}

guarded('who has lines on agents reaches no group elsewhere beside a hub that hasn\'t said that it heeds them', async ({ hub, name, broker }) => {
  const [free, ...fenced] = await Promise.all(['free', 'denies', 'holds'].map((user) => known(hub, user)));
  const asked = (played) => played.ask('nobody', 7, requestText(7, 'work', { targetAgent: 'nobody' }));
  const beginnings = [(played) => played.beat(), (played) => played.beat(' joint=2'), asked];
  for (const begin of beginnings) {
    const played = await Played.join(broker);
    await played.client.subscribe('patchbay.test.can.grp q');
    begin(played);
    await played.heard(name);
    for (const peer of fenced) refused(await toGroup(peer), 'call');
    const answered = toGroup(free); // nothing came before that
    assert.doesNotMatch(await answerGroup(played), /deny=|hold=/);
    assert.equal((await answered).result, played.name);
    played.beat(' joint=2 fences=1');
    await played.heard(name);
    for (const [at, pair] of [' deny=deploy-*', ' hold=deploy-*'].entries()) {
      const served = toGroup(fenced[at]);
      assert.ok((await answerGroup(played)).includes(pair));
      assert.equal((await served).result, played.name);
    }
    played.beat(' leaves=1');
    await played.client.settled(); // and it says nothing any more: it would be there again
    played.client.drop();
  }
});

guarded('a hub that doesn\'t heed such lines counts no longer than its link', async ({ hub, name, played, broker, other, root }) => {
  const denies = await known(hub, 'denies');
  played.beat(' joint=2');
  await played.heard(name);
  refused(await toGroup(denies), 'call');
  await Promise.all([broker, other].map((one) => one.kill()));
  await stands(root, 'cluster_link', 0);
  assertError(await toGroup(denies), -32050);
  await broker.again();
  await stands(root, 'cluster_link', 1);
  assertError(await toGroup(denies), -32010);
});

// What is said for each is kept from one message to the next.
guarded('each user\'s own lines are said, of the file as it was read last', async ({ hub, name, played }) => {
  const [denies, holds, free] = await Promise.all(['denies', 'holds', 'free'].map((user) => known(hub, user)));
  await played.client.subscribe('patchbay.test.can.grp q');
  played.beat(' joint=2 fences=1');
  await played.heard(name);
  const said = async (peer) => {
    const answered = toGroup(peer), mark = await answerGroup(played);
    assert.equal((await answered).result, played.name);
    return (/ (?:deny|hold)=[^\r]*/.exec(mark) ?? [''])[0];
  };
  const all = async () => [await said(denies), await said(denies), await said(holds), await said(free), await said(denies)];
  const deny = ' deny=deploy-*', hold = ' hold=deploy-*';
  assert.deepEqual(await all(), [deny, deny, hold, '', deny]);
  await reload(hub, { ...FENCED, denies: { ...ALL, 'deny-call': ['b', 'c'] }, holds: ALL });
  assert.deepEqual(await all(), [' deny=b,c', ' deny=b,c', '', '', ' deny=b,c']);
});

guarded('what was refused isn\'t asked by its name of a hub that doesn\'t heed such lines', async ({ hub, name, played, broker }) => {
  const denies = await known(hub, 'denies'), [older, newer] = [await Played.join(broker), await Played.join(broker)];
  await played.client.subscribe('patchbay.test.can.grp q');
  played.beat(' joint=2 fences=1');
  await played.heard(name);
  const answered = toGroup(denies), request = await played.request('patchbay.test.can.grp');
  for (const [other, words] of [[older, ' joint=2'], [newer, ' joint=2 fences=1']]) {
    other.beat(words);
    await other.heard(name);
  }
  refuseGroup(played, request);
  const byName = (one) => `patchbay.test.hub.${one.name}.can.grp`;
  assert.match(await answerGroup(newer, byName(newer)), / deny=deploy-\*/);
  assert.equal((await answered).result, newer.name);
  await older.client.settled();
  assert.ok(!older.client.messages.some((one) => one.subject === byName(older)));
  for (const other of [older, newer]) other.client.drop();
});

// There is no place left to know it by; nor has one that heeds them any, which is as good as another one.
guarded('one hub more than there are places for, that doesn\'t heed such lines, counts', async ({ hub, name, played }) => {
  const denies = await known(hub, 'denies'), free = await known(hub, 'free');
  const beat = (n, words) => played.client.publish('patchbay.test.beat', '', '', head(n.toString(16).padStart(32, '0'), words));
  played.beat(' joint=2 fences=1');
  for (let n = 1; n <= 256; n++) beat(n, ' joint=2 fences=1');
  await played.heard(name);
  assertError(await toGroup(denies), -32010);
  beat(257, ' joint=2');
  await played.heard(name);
  assertError(await toGroup(denies), -32001, { rule: 'call' });
  assertError(await toGroup(free), -32010);
});

guarded('what was refused, and is of a user without such lines, is', async ({ hub, name, played, broker }) => {
  const free = await known(hub, 'free'), older = await Played.join(broker);
  await played.client.subscribe('patchbay.test.can.grp q');
  for (const [other, words] of [[played, ' joint=2 fences=1'], [older, ' joint=2']]) {
    other.beat(words);
    await other.heard(name);
  }
  const answered = toGroup(free);
  refuseGroup(played, await played.request('patchbay.test.can.grp'));
  assert.doesNotMatch(await answerGroup(older, `patchbay.test.hub.${older.name}.can.grp`), /deny=|hold=/);
  assert.equal((await answered).result, older.name);
  older.client.drop();
});

// What can't be back, since with all that the server lets too little pass, isn't sent without them.
const small = join(directoryOfUsers, 'small.conf');
writeFileSync(small, 'max_payload: 1024\n');
const many = Array.from({ length: 15 }, (_, n) => `deploy-${String(n).padStart(50, 'x')}`);
guarded('an approver elsewhere is asked with its user\'s lines or not at all', async ({ hub, name, played }) => {
  await played.client.subscribe('patchbay.test.agent.bob q');
  played.beat(' joint=2 fences=1');
  await played.heard(name);
  const approve = async (user) => (await known(hub, user)).ask('governance/approval', { checkpoint: 'c', artifact: {}, approver: 'bob', decision: 'approved' });
  const { data } = assertError(await approve('denies'), -32055);
  assert.equal(data.limit, 1024);
  const answered = approve('free');
  assert.doesNotMatch(await answerGroup(played, 'patchbay.test.agent.bob'), /deny=/);
  assert.equal((await answered).result, played.name);
}, { ...FENCED, denies: { ...ALL, 'deny-call': many } }, ['-c', small]);
