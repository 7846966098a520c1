// The status page: asks the hub how it is, once a second, and shows it.
import { Approvals } from './status-approvals.js';
import { Chart } from './status-charts.js';
import * as figures from './status-figures.js';
import { Link } from './status-link.js';
import { Requests } from './status-requests.js';
import { fill, list, make, meter, say } from './status-view.js';

const ASK_MS = 1000, STALE_MS = 2500, AGENTS_SHOWN = 100;
// A long list of agents isn't asked for so often that the hub would be busy with it.
const AGENTS_EVERY = [[64 << 10, 1], [1 << 20, 5], [Infinity, 30]];
// Nor are other hubs: so many seconds lie between two lists of theirs.
const CLUSTER_EVERY = 5;
const at = (id) => document.getElementById(id);

const history = []; // of {at, stats}
const points = [];
const began = Date.now();
let heard = 0; // when the last answer came
let agents = [], agentBytes = 0, agentTurn = 0;
let shares = []; // of a processor, by shard
const order = { index: 2, down: true };

// --- The verdict

function showVerdict() {
  const silent = Date.now() - (heard || began), now = history.at(-1);
  const down = silent > STALE_MS;
  const { state, reasons } = down ? { state: 'down', reasons: downReasons(silent) }
    : !now ? { state: 'connecting', reasons: downReasons(silent) }
      : figures.judge(now, minuteAgo(), shares, points.at(-1), agents);
  at('verdict').dataset.state = state;
  document.body.classList.toggle('stale', down && history.length > 0);
  say(at('word'), { well: 'The hub is well', attention: 'The hub needs attention', down: 'The hub is down', connecting: 'Connecting' }[state]);
  document.title = `${{ well: '✓', attention: '!', down: '×', connecting: '…' }[state]} patchbay`;
  const lines = reasons.length ? reasons : [summary(now)];
  const shown = at('reasons');
  while (shown.children.length > lines.length) shown.lastChild.remove();
  lines.forEach((line, index) => say(shown.children[index] ?? shown.appendChild(make('li')), line));
}

function downReasons(silent) {
  if (!heard) return ['No answer from the hub yet.'];
  return [`No answer for ${figures.duration(silent)}. The page goes on trying; what it shows is from before.`];
}

function summary({ stats }) {
  const latest = points.at(-1);
  const rate = latest ? `${figures.short(latest.received)} messages a second, ` : '';
  return `${rate}${figures.count(stats.connections)} connections, memory at ${figures.percent(figures.memory(stats) / stats.memory_bytes_max)} of its bound.`;
}

const minuteAgo = () => history[Math.max(0, history.length - 61)];

// --- Tiles

const tiles = new Map();
function tile(title, value, more, extra) {
  let shown = tiles.get(title);
  if (!shown) {
    shown = { value: make('p', { class: 'value' }), more: make('p', { class: 'more' }), extra: make('div') };
    at('tiles').append(make('div', { class: 'tile' }, make('h3', { text: title }), shown.value, shown.extra, shown.more));
    tiles.set(title, shown);
  }
  say(shown.value, value);
  say(shown.more, more);
  if (extra) shown.extra.replaceChildren(extra);
}

// A rate is known with the second answer.
function showRates(latest) {
  const known = (write) => (latest ? write(latest) : '–');
  tile('Messages / s', known(({ received }) => figures.short(received)), `in; ${known(({ sent }) => figures.short(sent))} out`);
  tile('Bytes / s', known(({ bytesIn }) => figures.bytes(bytesIn)), `in; ${known(({ bytesOut }) => figures.bytes(bytesOut))} out`);
  tile('Latency', known(({ p99 }) => `≤ ${figures.micros(p99)}`), `of 99 %; half ${known(({ p50 }) => `≤ ${figures.micros(p50)}`)}`);
}

function showTiles({ stats }) {
  const used = figures.memory(stats), share = used / stats.memory_bytes_max;
  showRates(points.at(-1));
  tile('Pending', figures.count(stats.pending), `${figures.count(stats.requests_timed_out)} timed out`);
  tile('Connections', figures.count(stats.connections), `of ${figures.count(stats.connections_max)}`);
  tile('Agents', figures.count(stats.agents), `${figures.count(stats.per_shard.reduce((sum, one) => sum + one.subscriptions, 0))} subscriptions`);
  tile('In queues', figures.bytes(stats.queued_bytes), `${figures.count(stats.queued_frames)} frames`);
  tile('Memory', figures.bytes(used), `${figures.percent(share)} of ${figures.bytes(stats.memory_bytes_max)}`,
    meter(share, `memory: ${figures.percent(share)} of its bound`));
}

// --- Charts

const charts = [
  { title: 'Messages a second', series: [{ name: 'in', key: 'received' }, { name: 'out', key: 'sent' }], write: figures.short },
  { title: 'Bytes a second', series: [{ name: 'in', key: 'bytesIn' }, { name: 'out', key: 'bytesOut' }], write: figures.bytes, base: 1024 },
  { title: 'Latency in the hub', series: [{ name: '99 % ≤', key: 'p99' }, { name: '50 % ≤', key: 'p50' }], write: (us) => figures.micros(us) },
  { title: 'Memory', series: [{ name: 'used', key: 'memory' }], write: figures.bytes, base: 1024 },
].map((chart) => new Chart(at('charts'), chart));

// --- Lists

function showTransports({ stats }) {
  const all = Math.max(1, stats.connections);
  list(at('transports'), [{ title: 'transport' }, { title: 'connections', number: true }, { title: 'share' }],
    Object.entries(stats.by_transport).map(([name, number]) =>
      [name, figures.count(number), meter(number / all, `${figures.percent(number / all)} of all`, 'well')]), 'Connections by transport');
}

function showShards(now, before) {
  const seconds = Math.max((now.at - before.at) / 1000, 0.001), known = now !== before;
  fill(at('shards'), [{ title: 'shard' }, { title: 'processor' }, { title: 'connections', number: true },
    { title: 'frames/s', number: true }, { title: 'bytes out/s', number: true, wide: true },
    { title: 'pending', number: true, wide: true }, { title: 'queued', number: true, wide: true }],
  now.stats.per_shard.map((shard, index) => {
    const was = before.stats.per_shard[index] ?? shard, share = shares[index];
    const rate = (name) => Math.max(0, (shard[name] - was[name]) / seconds);
    return [String(index), share !== null ? make('div', { class: 'share' }, meter(share, 'of its processor'), make('span', { text: figures.percent(share) })) : '–', figures.count(shard.connections),
      known ? figures.short(rate('frames_received')) : '–', known ? figures.bytes(rate('bytes_sent')) : '–', figures.count(shard.pending),
      figures.bytes(shard.queued_bytes)];
  }));
}

function showSurveys({ stats }) {
  const who = { title: 'agents', name: true }, number = true;
  list(at('slowest'), [who, { title: 'owes since', number }, { title: 'pending', number }],
    stats.slowest_targets.map((row) => [figures.nameOf(row), figures.duration(row.oldest_ms), figures.count(row.pending)]),
    'Nobody owes an answer.');
  list(at('deepest'), [who, { title: 'waits', number }, { title: 'frames', number }],
    stats.deepest_queues.map((row) => [figures.nameOf(row), figures.bytes(row.bytes), figures.count(row.frames)]),
    'Nothing waits in a queue.');
}

function showLosses(now, minute) {
  const { stats } = now, rows = figures.lossNames(stats).filter((name) => stats[name] > 0)
    .map((name) => [figures.words(name), figures.inMinute(name, now, minute), figures.count(stats[name])]);
  list(at('losses'), [{ title: 'reason', name: true }, { title: 'last minute', number: true }, { title: 'in all', number: true }], rows,
    'Nothing was dropped or refused.');
}

// How many of a session's clients keep up is its level.
function showSessions({ stats }) {
  const number = true, rows = stats.sessions.map((row) => {
    const behind = row.over + row.stuck, share = row.clients ? behind / row.clients : 0;
    const level = make('div', { class: 'share' }, meter(share, 'clients that are behind', share > 0.5 ? 'down' : share > 0 ? 'attention' : 'well'),
      make('span', { text: `${figures.count(behind)} behind` }));
    return [row.agents.join(', ') || '–', row.state, figures.count(row.clients), level, figures.count(row.seq), figures.bytes(row.history_bytes)];
  });
  list(at('sessions'), [{ title: 'producer', name: true }, { title: 'state' }, { title: 'clients', number }, { title: 'level' },
    { title: 'seq', number, wide: true }, { title: 'history', number, wide: true }], rows, 'No session is open.');
  say(at('sessions-count'), stats.hcs_sessions ? `${figures.count(stats.hcs_sessions)} open, ${figures.count(stats.hcs_sessions_paused)} paused, ${figures.count(stats.hcs_clients)} clients of which ${figures.count(stats.hcs_clients_over)} read too slowly` : '');
}

// Servers of MCP, where the hub keeps programs.
function showServers(now, before) {
  const { stats } = now, number = true, { servers = [], slowest_tools: tools = [] } = stats.mcp ?? {};
  at('mcp').hidden = servers.length === 0;
  at('mcp-tools').hidden = tools.length === 0;
  list(at('servers'), [{ title: 'server', name: true }, { title: 'legacy', number }, { title: 'modern', number }, { title: 'sessions', number }, { title: 'restarts', number }],
    servers.map((row) => [row.name, ...[row.legacyClients, row.modernClients, row.sessions, row.restarts].map(figures.count)]), 'There is no server.');
  list(at('tools'), [{ title: 'tool', name: true }, { title: 'server' }, { title: 'calls', number }, { title: 'errors', number }, { title: 'mean', number }, { title: 'most', number, wide: true }],
    tools.map((row) => [row.tool, row.server, figures.count(row.calls), figures.count(row.errors), figures.duration(row.meanMs), figures.duration(row.maxMs)]), 'No tool was called.');
  const calls = ({ stats: all }) => figures.CALLS.reduce((sum, name) => sum + (all[name] ?? 0), 0);
  const rate = before && now.at > before.at ? (1000 * (calls(now) - calls(before))) / (now.at - before.at) : 0;
  say(at('servers-count'), servers.length ? `${figures.count(stats.mcp_sessions)} sessions, ${figures.count(Math.round(rate))} calls of tools a second` : '');
}

// --- Agents

const columns = [
  { title: 'agent', name: true, sort: (left, right) => (left.agentId < right.agentId ? -1 : 1) },
  { title: 'level', sort: (left, right) => LEVELS.indexOf(left.governanceLevel) - LEVELS.indexOf(right.governanceLevel) },
  { title: 'owes', number: true, sort: (left, right) => left.pending - right.pending },
  { title: 'connected for', number: true, wide: true, sort: (left, right) => right.connectedSince - left.connectedSince },
  { title: 'child', wide: true, sort: (left, right) => figures.isDown(right) - figures.isDown(left) },
  { title: 'hub', wide: true, sort: (left, right) => ((left.hubName ?? '') < (right.hubName ?? '') ? -1 : 1) },
  { title: 'capabilities', long: true, wide: true },
];
const LEVELS = ['autonomous', 'supervised', 'human-in-the-loop', 'manual'];

function sortBy(index) {
  order.down = order.index === index ? !order.down : index === 2;
  order.index = index;
  showAgents();
}

function showAgents() {
  const wanted = at('search').value.trim().toLowerCase();
  const found = agents.filter(({ text }) => text.includes(wanted));
  const { sort } = columns[order.index];
  found.sort((left, right) => (order.down ? -1 : 1) * sort(left, right) || (left.agentId < right.agentId ? -1 : 1));
  const shown = found.slice(0, AGENTS_SHOWN);
  say(at('found'), found.length > shown.length ? `${shown.length} of ${figures.count(found.length)} shown`
    : `${figures.count(found.length)}${wanted ? ` of ${figures.count(agents.length)}` : ''}`);
  fill(at('agent-table'), columns, shown.map((agent) => [agent.agentId, agent.governanceLevel, figures.count(agent.pending),
    figures.duration(Math.max(0, Date.now() - agent.connectedSince)), agent.child?.state ?? '–', agent.hubName ?? '–', JSON.stringify(agent.capabilities)]),
  { ...order, by: sortBy });
}

async function askAgents() {
  const joined = history.at(-1)?.stats.cluster_links_opened > 0;
  const every = Math.max(AGENTS_EVERY.find(([size]) => agentBytes <= size)[1], joined ? CLUSTER_EVERY : 1);
  if (agentTurn++ % every) return;
  const { result, bytes } = await link.ask('hub/agents', joined ? { cluster: true } : undefined);
  agentBytes = bytes;
  agents = result.agents.map((agent) => ({
    ...agent,
    text: `${agent.agentId} ${agent.governanceLevel} ${agent.hubName ?? ''} ${JSON.stringify(agent.capabilities)}`.toLowerCase(),
  }));
  showAgents();
}

// --- Counters

const counters = new Map();
function showCounters({ stats }) {
  for (const [name, value] of Object.entries(stats)) {
    if (typeof value !== 'number') continue;
    if (!counters.has(name)) {
      const shown = make('dd', { 'data-counter': name });
      at('counter-list').append(make('div', {}, make('dt', { text: name }), shown));
      counters.set(name, shown);
    }
    say(counters.get(name), String(value));
  }
}

// --- Once a second

// Another process is another hub: what was before is no part of its history.
function take(stats) {
  const before = history.at(-1), now = { at: performance.now(), stats };
  if (before && (before.stats.pid !== stats.pid || before.stats.uptime_ms > stats.uptime_ms)) history.length = points.length = 0;
  history.push(now);
  if (history.length > 1) points.push(figures.point(now, history.at(-2)));
  if (history.length > figures.HISTORY) history.shift();
  if (points.length > figures.HISTORY) points.shift();
  shares = figures.processors(stats);
  heard = Date.now();
  return now;
}

function show(now) {
  const minute = minuteAgo();
  say(at('who'), `${now.stats.version} · ${now.stats.io} · process ${now.stats.pid} · up ${figures.duration(now.stats.uptime_ms)}`);
  showTiles(now);
  charts.forEach((chart) => chart.draw(points));
  showTransports(now);
  showShards(now, history.at(-2) ?? now);
  showSurveys(now);
  showLosses(now, minute);
  showSessions(now);
  showServers(now, history.at(-2));
  showCounters(now);
}

let timer = 0;
async function ask() {
  const since = performance.now();
  clearTimeout(timer);
  timer = 0;
  try {
    if (link.open) {
      const now = take((await link.ask('hub/stats')).result);
      show(now);
      await approvals.ask(now.stats);
      await requests.ask();
      await askAgents();
    }
  } catch (error) {
    console.info(`patchbay: ${error.message}`);
  }
  showVerdict();
  timer = setTimeout(ask, Math.max(50, ASK_MS - (performance.now() - since)));
}

// At once, unless it is being asked: then that goes on.
function askNow() {
  approvals.connected();
  requests.connected();
  if (timer) ask();
}

at('search').addEventListener('input', showAgents);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !(event.target instanceof HTMLInputElement) && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    at('search').focus();
  } else if (event.key === 'Escape' && event.target === at('search')) {
    at('search').value = '';
    showAgents();
  }
});

const link = new Link({ onOpen: askNow, onClosed: () => showVerdict(), onHeard: (body) => requests.heard(body) });
const approvals = new Approvals(at('held'), link);
const requests = new Requests(at('requests'), link);
ask();
