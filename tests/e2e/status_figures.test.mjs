// The status page's verdict from the hub's figures, and figures that the page can't know yet.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { scenario } from './hub.mjs';
import { WAIT_MS } from './peer.mjs';

const source = readFileSync(new URL('../../router/features/page/status-figures.js', import.meta.url), 'utf8');
const figures = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const directory = mkdtempSync(join(tmpdir(), 'patchbay-status-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function config(text) {
  const path = join(directory, 'hub.ini');
  writeFileSync(path, text);
  return ['--config', path];
}

const ONE = { transports: ['tcp'], shards: [2] };
const answer = async (peer, at) => ({ at, stats: (await peer.ask('hub/stats')).result });
const verdict = (now, minute, agents) => figures.judge(now, minute, figures.processors(now.stats), undefined, agents);

scenario('a program that stays down needs somebody', { ...ONE, options: config('[child broken]\ncommand = false\nrestart-delay = 1ms\nrestart-limit = 1\n') }, async (hub) => {
  const peer = await hub.peer();
  let now;
  for (const end = Date.now() + WAIT_MS; !now || now.stats.children_down !== 1;) {
    assert.ok(Date.now() < end, 'it is down');
    now = await answer(peer, 0);
  }
  const { agents } = (await peer.ask('hub/agents')).result;
  assert.deepEqual(agents.map(figures.isDown), [true]);
  for (const [known, names] of [[agents, ' (broken)'], [[], '']]) {
    const { state, reasons } = verdict(now, now, known);
    assert.deepEqual([state, reasons], ['attention', [`Programs that stay down: 1${names}.`]]);
  }
});

scenario('a hub of which nothing is known but one answer is well, and tells no last minute', ONE, async (hub) => {
  const peer = await hub.agent('deaf');
  const source = await hub.peer();
  const before = await answer(source, 0);
  source.send({ jsonrpc: '2.0', id: 'late', method: 'work', params: { targetAgent: 'deaf' } }, 'Custom-Timeout-Ms: 1');
  await source.find(({ json }) => json.id === 'late', 'its end');
  const now = await answer(source, 5000), later = await answer(source, 65000);
  assert.equal(now.stats.requests_timed_out, 1);
  assert.deepEqual(verdict(now, now).state, 'well');
  assert.deepEqual(verdict(now, before).reasons, ['Requests that timed out: 1 in the last minute.']);
  const told = (one, oldest) => figures.inMinute('requests_timed_out', one, oldest);
  assert.deepEqual([told(now, now), told(now, before), told(later, now), told(later, before)], ['–', '1', '0', '1']);
  peer.drop();
});
