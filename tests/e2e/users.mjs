// Users files for tests: { NAME: { call: ['a'], admin: true, level: 'supervised', rate: '5/s', … } }. Each user has a token.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Hub } from './hub.mjs';
import { assertError, within } from './peer.mjs';

export const tokenOf = (user) => `pb_token-of-${user}`;

const valueOf = (value) => (Array.isArray(value) ? value.join(', ') : value === true ? 'yes' : String(value));

export function usersText(users) {
  return Object.entries(users).map(([user, keys]) => {
    const digest = createHash('sha256').update(tokenOf(user)).digest('hex');
    const lines = Object.entries(keys).map(([key, value]) => `${key} = ${valueOf(value)}\n`);
    return `[user ${user}]\ntoken = sha256:${digest}\n${lines.join('')}`;
  }).join('\n');
}

// Everything but `admin`.
export const ALL = {
  register: ['*'], offer: ['@*', 'tool:*', 'method:*'], call: ['*', '@*', 'tool:*', 'method:*'], publish: ['*'], subscribe: ['*'],
};

const directory = mkdtempSync(join(tmpdir(), 'patchbay-rights-'));
after(() => rmSync(directory, { recursive: true, force: true }));
export const directoryOfUsers = directory;
let files = 0;

// A hub with these users, over TCP and whatever `transport` adds. No token may have been told anywhere at its end.
export function withUsers(name, users, { transport = 'tcp', options = [] }, run) {
  test(name, async (t) => {
    const file = join(directory, `users-${++files}.ini`), journal = join(directory, `journal-${files}`);
    writeFileSync(file, usersText(users));
    const hub = await Hub.start(['--users', file, '--audit', journal, ...options], transport);
    hub.usersFile = file;
    hub.journal = journal;
    try {
      await run(hub, t);
    } finally {
      await hub.stop();
    }
    assert.doesNotMatch(hub.stderr + readFileSync(journal, 'utf8'), /pb_token|sha256:/);
  });
}

export async function known(hub, user, transport) {
  const peer = await hub.peer(transport);
  const answer = await peer.ask('initialize', { token: tokenOf(user) });
  assert.ok(answer.result, JSON.stringify(answer));
  return peer;
}

export const refused = (answer, rule) => assert.deepEqual(assertError(answer, -32001).data, { rule });
export const passed = (answer) => assert.ok('result' in answer, JSON.stringify(answer));

export async function reload(hub, users) {
  writeFileSync(hub.usersFile, typeof users === 'string' ? users : usersText(users));
  const said = (hub.stderr.match(/read again|goes on as before/g) ?? []).length;
  hub.process.kill('SIGHUP');
  await within(new Promise((resolve) => {
    const look = () => (hub.stderr.match(/read again|goes on as before/g) ?? []).length > said && resolve();
    hub.process.stderr.on('data', look);
    look();
  }), 'the users file to be read again');
}
