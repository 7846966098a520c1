// Where secrets could be seen by others: the process list, the status page, the metrics, what the hub tells of itself,
// and its errors. Each place is shown to say something, so that nothing found means something.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { ALL, tokenOf, withUsers } from './users.mjs';
import { alone, request, rpc } from './web.mjs';

const USERS = { a: ALL, b: { ...ALL, admin: true } };
const WRONG = 'pb_token-of-nobody';
const basic = (token) => Buffer.from(`x:${token}`).toString('base64');
const digest = (token) => createHash('sha256').update(token).digest('hex');
const SECRETS = [...Object.keys(USERS).map(tokenOf), WRONG].flatMap((token) => [token, basic(token), digest(token)]);

const clean = (text, where) => SECRETS.forEach((secret) => assert.ok(!text.includes(secret), `${where}: ${text.slice(0, 400)}`));

// All that other users of the machine may read of a process, and what its own user can.
function processList(pid) {
  const names = readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8'));
  const open = (file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1');
    } catch ({ code }) {
      assert.ok(['EACCES', 'EPERM'].includes(code), code); // a hub with users is root's alone to look into
      return '';
    }
  };
  return `${readFileSync(`/proc/${pid}/cmdline`, 'latin1')}${names.join('')}${open('environ')}`;
}

withUsers('no secret is in the process list, on the status page, in the metrics, or in what the hub tells', USERS, { transport: 'http' }, async (hub) => {
  const own = [`Authorization: Bearer ${tokenOf('b')}`];
  const answered = async (bytes, status) => {
    const answer = await alone(hub, bytes);
    assert.equal(answer.status, status, answer.text);
    return `${JSON.stringify(answer.fields)}${answer.text}`;
  };
  const calls = (method, params = {}) => rpc({ jsonrpc: '2.0', id: 1, method, params }, ...own);
  // Each place where a credential may come is used, with a right one and a wrong one.
  clean(await answered(request('GET /', [`Authorization: Basic ${basic(WRONG)}`]), 401), 'a wrong one, Basic');
  clean(await answered(rpc({ jsonrpc: '2.0', id: 1, method: 'hub/ping' }, `Authorization: Bearer ${WRONG}`), 401), 'a wrong one, Bearer');
  clean(await answered(calls('initialize', { token: WRONG }), 200), 'a wrong one in a body');
  clean(await answered(calls('agent/register', { agentId: 'x', agentSecret: tokenOf('a') }), 200), 'another user\'s in a body');
  const told = {
    'the status page': [await answered(request('GET /', [`Authorization: Basic ${basic(tokenOf('b'))}`]), 200), /<html/],
    'the metrics': [await answered(request('GET /metrics', own), 200), /refusals_total/],
    'hub/stats': [await answered(calls('hub/stats'), 200), /connections/],
    'hub/agents': [await answered(calls('hub/agents'), 200), /agents/],
    'the process list': [processList(hub.process.pid), /patchbayd.*--users/s],
  };
  for (const [where, [text, sign]] of Object.entries(told)) {
    assert.match(text, sign, where);
    clean(text, where);
  }
});
