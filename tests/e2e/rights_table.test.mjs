// Every verb, tried by every user who may and by every one who may not, over every transport. The users and what to
// expect of each question come out of one table of patterns, by a model that asks them one by one.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { trusted } from './certificates.mjs';
import { scenario } from './hub.mjs';
import { within } from './peer.mjs';
import { ALL, tokenOf, usersText } from './users.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-rights-'));
after(() => rmSync(directory, { recursive: true, force: true }));

// --- The table

const PATTERNS = {
  register: ['ci-*', 'build-agent'],
  offer: ['@testing', 'tool:lint', 'method:tests/*'],
  call: ['review-*', '@testing', 'tool:lint', 'method:tests/*'],
  publish: ['build-*', 'release'],
  subscribe: ['build-*', 'task'],
};
const RIGHTS = Object.keys(PATTERNS);

// Users without a right and with all rights; with one right, one pattern of it alone, or all but these; and users with
// other bounds.
const USERS = {
  nothing: {},
  all: { ...ALL, admin: true },
  'all-but-admin': { ...ALL },
  supervised: { ...ALL, level: 'supervised' },
  ...Object.fromEntries(RIGHTS.map((right) => [`only-${right}`, { [right]: PATTERNS[right] }])),
  ...Object.fromEntries(RIGHTS.map((right) => [`but-${right}`, { ...ALL, [`deny-${right}`]: PATTERNS[right] }])),
  ...Object.fromEntries(RIGHTS.flatMap((right) => PATTERNS[right].map((pattern, at) =>
    [`${right}-${at}`, { ...(right === 'offer' ? { register: ['*'] } : {}), [right]: [pattern] }]))),
};

function usersFile() {
  const path = join(directory, 'users.ini');
  writeFileSync(path, usersText(USERS));
  return path;
}

// --- The model

const matches = (pattern, name) =>
  (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
const says = (user, list, name) => (USERS[user][list] ?? []).some((pattern) => matches(pattern, name));
// Names are spelled as in the file, which tells their kinds apart; but `*` is all agents and nothing else.
const kindOf = (name) => /^(@|tool:|method:)/.exec(name)?.[0] ?? '';
const saysOfKind = (user, list, name) =>
  (USERS[user][list] ?? []).some((pattern) => kindOf(pattern) === kindOf(name) && matches(pattern, name));
const may = (user, right, name) =>
  saysOfKind(user, right, name) && !saysOfKind(user, `deny-${right}`, name);
const mayEvent = (user, right, name) => says(user, right, name) && !says(user, `deny-${right}`, name);
// A pattern of names: one of the list covers it, and no denial meets it.
const maySubscribe = (user, pattern) => {
  if (!pattern.endsWith('*')) return mayEvent(user, 'subscribe', pattern);
  const begin = pattern.slice(0, -1);
  const covers = (one) => one.endsWith('*') && begin.startsWith(one.slice(0, -1));
  const meets = (one) => covers(one) || one.replace(/\*$/, '').startsWith(begin);
  return (USERS[user].subscribe ?? []).some(covers) && !(USERS[user]['deny-subscribe'] ?? []).some(meets);
};
// The first name is the address that decides.
const mayCall = (user, ...names) =>
  saysOfKind(user, 'call', names[0]) && !names.some((name) => saysOfKind(user, 'deny-call', name));

// --- Questions: what is sent, and by which rule it is refused to a user (null: it isn't)

const question = (text, method, params, rule) => ({ text, method, params, rule });
const call = (method, params, ...names) =>
  question(`${method} ${JSON.stringify(params)}`, method, params, (user) => (mayCall(user, ...names) ? null : 'call'));

const AGENTS = ['review-1', 'other', 'review-none', 'none'];
const register = (agentId, capabilities = {}, more = {}) => question(
  `register ${agentId} ${JSON.stringify({ capabilities, ...more })}`, 'agent/register', { agentId, capabilities, ...more },
  (user) => {
    if (!may(user, 'register', agentId)) return 'register';
    const { methods = [], tools = [], events = [], tasks = [], ...flags } = capabilities;
    const offered = [...Object.keys(flags).map((name) => `@${name}`), ...tasks.map((name) => `@${name}`),
      ...tools.map((name) => `tool:${name}`), ...methods.map((name) => `method:${name}`)];
    if (!offered.every((name) => may(user, 'offer', name))) return 'offer';
    if (!events.every((pattern) => maySubscribe(user, pattern))) return 'subscribe';
    return more.governanceLevel === 'manual' && USERS[user].level ? 'level' : null;
  });

// Methods for any connection, and methods for one that stays.
const ASKED = [
  ...AGENTS.map((targetAgent) => call('agent/request', { targetAgent, task: 't' }, targetAgent, 'method:agent/request')),
  ...AGENTS.map((targetAgent) => call('tests/run', { targetAgent }, targetAgent, 'method:tests/run')),
  ...['testing', 'none'].map((name) => call('x/y', { targetAgent: `@${name}` }, `@${name}`, 'method:x/y')),
  ...['lint', 'none'].map((tool) => call('tool/integration', { tool }, `tool:${tool}`, 'method:tool/integration')),
  call('tool/integration', { tool: 'lint', targetAgent: 'other' }, 'other', 'tool:lint', 'method:tool/integration'),
  ...['tests/run', 'tests/none', 'other/run'].map((method) => call(method, {}, `method:${method}`)),
  call('command/execute', { command: 'go' }, 'method:command/execute'),
  call('governance/approval', { checkpoint: 'c', approver: 'review-1', decision: 'approved' }, 'review-1', 'method:governance/approval'),
  call('governance/approval', { checkpoint: 'c', approver: 'nobody', decision: 'approved' }, 'method:governance/approval'),
  call('audit/log', { action: 'a' }, 'method:audit/log'),
  ...['build-1', 'release', 'other'].map((event) => question(`publish ${event}`, 'event', { event },
    (user) => (mayEvent(user, 'publish', event) ? null : 'publish'))),
  question('an event for one agent', 'event', { event: 'build-1', targetAgent: 'review-1' }, (user) => {
    const published = mayEvent(user, 'publish', 'build-1'), called = mayCall(user, 'review-1', 'method:event');
    return published && called ? null : published ? 'call' : called ? 'publish' : 'either';
  }),
  question('the counters', 'hub/stats', {}, (user) => (USERS[user].admin ? null : 'admin')),
  question('a ping', 'hub/ping', {}, () => null),
];
const STAYING = [
  ...['ci-1', 'build-agent', 'cj', 'build-agent-2'].map((agentId) => register(agentId)),
  ...[{ testing: true }, { tasks: ['testing'] }, { secret: true }, { tools: ['lint'] }, { tools: ['lint', 'cut'] },
    { methods: ['tests/run'] }, { methods: ['else'] }, { events: ['build-1'] }, { events: ['build-*', 'x'] }]
    .map((capabilities) => register('ci-2', capabilities)),
  register('ci-3', {}, { governanceLevel: 'manual' }),
  ...['build-*', 'build-1', 'build*', '*', 'task', 'task*', 'other'].map((pattern) =>
    question(`subscribe ${pattern}`, 'hub/subscribe', { events: [pattern] }, (user) => (maySubscribe(user, pattern) ? null : 'subscribe'))),
  question('subscribe to two', 'hub/subscribe', { events: ['task', 'other'] },
    (user) => (maySubscribe(user, 'task') && maySubscribe(user, 'other') ? null : 'subscribe')),
];

// Streams, of events and of HCS; and what the web shows. `user` may get what he asks for, or is 403.
const PATTERNS_ASKED = [['build-*'], ['build-1'], ['build*'], ['*'], ['task'], ['task', 'other'], ['task', 'build-1']];
const PRODUCERS = [...AGENTS, '@hcs', '@testing'];
const mayStream = (user, target) => saysOfKind(user, 'call', target) && !saysOfKind(user, 'deny-call', target);
const SHOWN = [
  ...PATTERNS_ASKED.map((patterns) => [`/events?${patterns.map((one) => `pattern=${one}`).join('&')}`,
    (user) => patterns.every((one) => maySubscribe(user, one))]),
  ...PRODUCERS.map((target) => [`/hcs?request_id=q&target=${target}`, (user) => mayStream(user, target)]),
  ...['/metrics', '/'].map((path) => [path, (user) => USERS[user].admin === true]),
];

// --- Asking

function judge(user, { text, rule }, answer) {
  const expected = rule(user), said = `${user}, ${text}: ${JSON.stringify(answer)}`;
  assert.ok('result' in answer || answer.error, said);
  if (expected === null) return assert.notEqual(answer.error?.code, -32001, said);
  assert.equal(answer.error?.code, -32001, said);
  if (expected === 'either') assert.ok(['call', 'publish'].includes(answer.error.data.rule), said);
  else assert.equal(answer.error.data.rule, expected, said);
  return assert.deepEqual(Object.keys(answer.error.data), ['rule'], said);
}

// An attachment is a call of its agent from then on: it comes last.
const ATTACHMENTS = AGENTS.map((agent) => question(`attach to ${agent}`, 'hub/attach', { agent },
  (user) => (may(user, 'call', agent) ? null : 'call')));

const bodyOf = ({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params });

async function world(hub) {
  const agents = await hub.peer();
  assert.ok((await agents.ask('initialize', { token: tokenOf('all') })).result);
  await agents.register('review-1', { testing: true, tools: ['lint'], methods: ['tests/run'], commands: ['go'] });
  await agents.register('other', { methods: ['other/run'] });
  agents.serve(() => 'done');
}

async function overPeer(hub, user) {
  const peer = await hub.peer();
  assert.ok((await peer.ask('initialize', { token: tokenOf(user) })).result, user);
  peer.serve(() => 'done'); // for it may be one of a group that others call
  for (const one of [...ASKED, ...STAYING]) {
    judge(user, one, await peer.ask(one.method, one.params));
    if (one.method === 'agent/register') await peer.ask('agent/unregister', { agentId: one.params.agentId });
  }
  peer.send(ASKED.map((one, at) => bodyOf(one, at)));
  const answers = (await peer.find((frame) => Array.isArray(frame.json), 'the answers of a batch')).json;
  assert.equal(answers.length, ASKED.length);
  for (const answer of answers) judge(user, { ...ASKED[answer.id], text: `in a batch: ${ASKED[answer.id].text}` }, answer);
  for (const targetAgent of PRODUCERS) {
    peer.send({ type: 'start', request_id: targetAgent, targetAgent });
    const { message } = (await peer.find(({ json }) => json.type === 'error' && json.request_id === targetAgent, 'an error')).json;
    assert.equal(message === 'capability not allowed: call', !mayStream(user, targetAgent), `${user}, ${targetAgent}: ${message}`);
  }
  for (const one of ATTACHMENTS) judge(user, one, await peer.ask(one.method, one.params));
  peer.drop();
}

async function posted(uri, agent, headers, body) {
  const { request } = uri.startsWith('https') ? https : http;
  const chunks = [];
  const status = await within(new Promise((resolve, reject) => {
    const asked = request(`${uri}/rpc`, { method: 'POST', agent, headers }, (response) => {
      response.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve(response.statusCode)).on('error', reject);
    });
    asked.on('error', reject).end(JSON.stringify(body));
  }), 'an answer of /rpc');
  return { status, json: status === 200 ? JSON.parse(Buffer.concat(chunks)) : null };
}

// The status; a stream goes on until its connection is closed.
const statusOf = (uri, agent, headers) => within(new Promise((resolve, reject) => {
  const { get } = uri.startsWith('https') ? https : http;
  get(uri, { agent, headers }, (response) => {
    resolve(response.statusCode);
    response.destroy();
  }).on('error', reject);
}), uri);

async function overHttp(hub, user) {
  const uri = hub.uri(), headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${tokenOf(user)}` };
  const agent = new (hub.transport === 'https' ? https : http).Agent({ keepAlive: true, ca: trusted });
  const post = async (body) => {
    const { status, json } = await posted(uri, agent, headers, body);
    assert.equal(status, 200, user);
    return json;
  };
  for (const one of ASKED) judge(user, one, await post(bodyOf(one, 1)));
  for (const answer of await post(ASKED.map((one, at) => bodyOf(one, at)))) judge(user, ASKED[answer.id], answer);
  for (const [path, allowed] of SHOWN)
    assert.equal(await statusOf(`${uri}${path}`, agent, { Authorization: headers.Authorization }), allowed(user) ? 200 : 403, `${user}, ${path}`);
  agent.destroy();
}

// --- Who is nobody

const WRONG = 'pb_of-nobody';

// Without a credential each verb is refused alike; a wrong one is, too, and ends the connection.
async function nobodyOverPeer(hub) {
  const peer = await hub.peer();
  const answers = [...ASKED, ...STAYING, ...ATTACHMENTS];
  for (const one of answers) assert.equal((await peer.ask(one.method, one.params)).error?.code, -32054, one.text);
  peer.send(answers.map((one, at) => bodyOf(one, at)));
  const together = (await peer.find((frame) => Array.isArray(frame.json), 'the answers of a batch')).json;
  assert.deepEqual(new Set(together.map((answer) => answer.error?.code)), new Set([-32054]));
  assert.equal(together.length, answers.length);
  for (const targetAgent of PRODUCERS) {
    peer.send({ type: 'start', request_id: targetAgent, targetAgent });
    const { message } = (await peer.find(({ json }) => json.type === 'error' && json.request_id === targetAgent, 'an error')).json;
    assert.equal(message, 'not initialized: there is no credential');
  }
  peer.drop();
}

async function wrongOverPeer(hub) {
  const shown = [['initialize', { token: WRONG }], ['agent/register', { agentId: 'ci-1', agentSecret: WRONG }]];
  await Promise.all(shown.map(async ([method, params]) => {
    const peer = await hub.peer();
    const refusal = peer.ask(method, params);
    peer.send(ASKED.map((one, at) => bodyOf(one, `behind ${at}`)));
    const { error } = await refusal;
    assert.deepEqual([error.code, error.data], [-32001, { rule: 'credential' }], method);
    await peer.gone();
    assert.ok(!peer.frames.some(({ json }) => Array.isArray(json)), 'what follows is read');
  }));
}

// HTTP without a user: no credential at each verb and path, and a wrong one of each kind at each path.
async function nobodyOverHttp(hub) {
  const uri = hub.uri(), type = { 'Content-Type': 'application/json' };
  const agentOf = () => new (hub.transport === 'https' ? https : http).Agent({ keepAlive: true, ca: trusted });
  const agent = agentOf();
  for (const body of [...[...ASKED, ...STAYING, ...ATTACHMENTS].map((one) => bodyOf(one, 1)), ASKED.map((one, at) => bodyOf(one, at))])
    assert.equal((await posted(uri, agent, type, body)).status, 401, JSON.stringify(body));
  for (const [path] of SHOWN) assert.equal(await statusOf(`${uri}${path}`, agent, {}), 401, path);
  agent.destroy();
}

async function wrongOverHttp(hub) {
  const uri = hub.uri(), agent = new (hub.transport === 'https' ? https : http).Agent({ ca: trusted });
  const wrong = [`Bearer ${WRONG}`, `Basic ${Buffer.from(`all:${WRONG}`).toString('base64')}`, `Basic ${tokenOf('all')}`, `Digest ${tokenOf('all')}`];
  await Promise.all(wrong.map(async (Authorization) => {
    const { status } = await posted(uri, agent, { 'Content-Type': 'application/json', Authorization }, bodyOf(ASKED[0], 1));
    assert.equal(status, 401, Authorization);
    assert.equal(await statusOf(`${uri}/metrics`, agent, { Authorization }), 401, Authorization);
  }));
  agent.destroy();
}

scenario('every verb by nobody, and behind a wrong credential',
  { transports: ['tcp', 'unix', 'tls', 'tcp-lines', 'unix-lines', 'tls-lines', 'websocket', 'http', 'https'],
    options: ['--users', usersFile(), '--audit', join(directory, 'journal')] },
  async (hub) => {
    const web = hub.transport.startsWith('http');
    await world(hub);
    await Promise.all([(web ? nobodyOverHttp : nobodyOverPeer)(hub), (web ? wrongOverHttp : wrongOverPeer)(hub)]);
  });

scenario('every verb by every user',
  { transports: ['tcp', 'unix', 'tls', 'tcp-lines', 'unix-lines', 'tls-lines', 'websocket', 'http', 'https'],
    options: ['--users', usersFile(), '--audit', join(directory, 'journal')] },
  async (hub) => {
    await world(hub);
    await Promise.all(Object.keys(USERS).map((user) => (hub.transport.startsWith('http') ? overHttp : overPeer)(hub, user)));
  });
