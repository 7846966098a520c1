// Reads the figures of hub/stats: rates between two answers, sums by reason, and whether the hub is well. Nothing here
// touches the page.
export const HISTORY = 300; // answers that are kept, one a second

// --- Writing numbers

const steps = (units, base) => (value) => {
  let unit = 0;
  while (Math.abs(value) >= base && unit < units.length - 1) {
    value /= base;
    unit++;
  }
  const digits = unit === 0 ? (value < 10 && value % 1 ? 1 : 0) : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)}${units[unit] && ` ${units[unit]}`}`;
};
export const bytes = steps(['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
export const count = (value) => Math.round(value).toLocaleString('en');
export const short = steps(['', 'k', 'M', 'G'], 1000);
export const micros = (us) => (us < 1000 ? `${us} µs` : us < 1e6 ? `${short(us / 1000)} ms` : `${short(us / 1e6)} s`);
export const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
export function duration(ms) {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

// --- Rates between two answers

export const CALLS = ['mcp_tool_calls_ok', 'mcp_tool_calls_error', 'mcp_tool_calls_cancelled'];
const RECEIVED = ['requests_received', 'notifications_received', 'responses_received', 'hcs_frames_received'];
const SENT = ['requests_forwarded', 'notifications_forwarded', 'responses_forwarded', 'progress_forwarded',
  'cancels_forwarded', 'events_delivered', 'answered_by_hub', 'errors_by_hub', 'hcs_frames_delivered'];
const sum = (stats, names) => names.reduce((all, name) => all + (stats[name] ?? 0), 0);

// An upper bound of the value that this share of what fell into the buckets doesn't exceed.
export function quantile(buckets, share) {
  const all = buckets.reduce((left, right) => left + right, 0);
  if (!all) return 0;
  let seen = 0, index = 0;
  for (; index < buckets.length; index++) {
    seen += buckets[index];
    if (seen > 0 && seen >= share * all) break;
  }
  return index ? 2 ** index : 0;
}

export const lessBuckets = (now, before) => now.map((value, index) => value - (before[index] ?? 0));

// One point of the charts.
export function point(now, before) {
  const seconds = Math.max((now.at - before.at) / 1000, 0.001);
  const rate = (names) => Math.max(0, (sum(now.stats, names) - sum(before.stats, names)) / seconds);
  const latency = lessBuckets(now.stats.latency_us.buckets, before.stats.latency_us.buckets);
  const depth = lessBuckets(now.stats.queue_depth_bytes.buckets, before.stats.queue_depth_bytes.buckets);
  return {
    at: now.at,
    received: rate(RECEIVED),
    sent: rate(SENT),
    bytesIn: rate(['bytes_received']),
    bytesOut: rate(['bytes_sent']),
    p50: quantile(latency, 0.5),
    p99: quantile(latency, 0.99),
    depth99: quantile(depth, 0.99),
    memory: memory(now.stats),
  };
}

export const memory = (stats) => stats.buffer_bytes + stats.kept_bytes;

// How much of a processor each shard uses; null where nobody knows yet.
export const processors = (stats) =>
  stats.per_shard.map((shard) => ('surveyed_ms_ago' in stats ? Math.min(1, shard.cpu_permille / 1000) : null));

// --- Losses, by reason

const LOSS = /^(dropped_|closed_|requests_timed_out|requests_ended_by|requests_abandoned|errors_by_hub|framing_errors|connections_refused|receives_without|accepts_failed|journal_.*(failed|refused)|reloads_failed)/;
export const lossNames = (stats) => Object.keys(stats).filter((name) => LOSS.test(name));
export const words = (name) => name.replaceAll('_', ' ');

// Counters that rise when the hub, or a peer, doesn't keep up. Counters of what peers do wrong, or leave behind by leaving,
// aren't among them.
const ALARMS = {
  dropped_events_overloaded: 'Events dropped because subscribers read too slowly',
  dropped_events_no_memory: 'Events dropped for lack of memory',
  dropped_notifications_overloaded: 'Notifications dropped because queues are full',
  dropped_frames_no_memory: 'Frames dropped for lack of memory',
  closed_slow_readers: 'Connections closed because they read too slowly',
  closed_no_memory: 'Connections closed for lack of memory',
  connections_refused: 'Connections refused',
  receives_without_buffer: 'Receives that waited for memory',
  accepts_failed: 'Connections that the system did not let in',
  requests_timed_out: 'Requests that timed out',
  journal_entries_failed: 'Entries of the audit journal that were not written',
  journal_reopens_failed: 'Times that the audit journal was not opened again',
  reloads_failed: 'Changed configurations that were not taken up',
};

// How much a counter has risen in the last minute, as far as that is known: a dash where no more is known than that it hasn't
// since the page was opened, less than a minute ago.
export function inMinute(name, now, minute) {
  if (now === minute) return '–';
  const risen = now.stats[name] - (minute.stats[name] ?? 0);
  return risen > 0 || now.at - minute.at >= 59000 ? count(risen) : '–';
}

// --- The verdict

// Whether it is a program that the hub keeps, and that isn't started again.
export const isDown = (agent) => agent.child?.state === 'down';

// `minute` is the oldest answer of the last minute, `shares` are processors(), `agents` those of hub/agents, as far as they are
// known. "down" is for who has no answer at all.
export function judge(now, minute, shares, latest, agents = []) {
  const { stats } = now, reasons = [];
  if (stats.phase !== 'serving') reasons.push(`It is ${stats.phase}: it ends, and takes nothing new.`);
  const used = memory(stats) / stats.memory_bytes_max;
  if (used >= 13 / 16) reasons.push(`Memory: ${percent(used)} of ${bytes(stats.memory_bytes_max)} is used.`);
  if (stats.connections >= stats.connections_max * 0.9) {
    reasons.push(`Connections: ${count(stats.connections)} of ${count(stats.connections_max)}.`);
  }
  shares.forEach((share, index) => share > 0.95 && reasons.push(`Shard ${index} uses ${percent(share)} of its processor.`));
  if (latest && latest.p99 > 262144) reasons.push(`Latency: one frame in a hundred takes up to ${micros(latest.p99)} in the hub.`);
  for (const [name, text] of Object.entries(ALARMS)) {
    const risen = stats[name] - (minute.stats[name] ?? 0);
    if (risen > 0) reasons.push(`${text}: ${count(risen)} in the last minute.`);
  }
  if (stats.children_down > 0) {
    const names = agents.filter(isDown).map(({ agentId }) => agentId);
    reasons.push(`Programs that stay down: ${count(stats.children_down)}${names.length ? ` (${names.join(', ')})` : ''}.`);
  }
  const deep = stats.deepest_queues[0];
  if (deep && deep.bytes >= stats.queue_bytes_max / 2) {
    reasons.push(`${nameOf(deep)} doesn't read: ${bytes(deep.bytes)} wait for it.`);
  }
  const slow = stats.slowest_targets[0];
  if (slow && slow.oldest_ms >= 60000) {
    reasons.push(`${nameOf(slow)} has owed an answer for ${duration(slow.oldest_ms)}.`);
  }
  return { state: reasons.length ? 'attention' : 'well', reasons };
}

export const nameOf = (row) => (row.agents.length ? row.agents.join(', ') : `a connection of shard ${row.shard}`);
