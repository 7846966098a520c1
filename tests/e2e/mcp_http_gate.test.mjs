// MCP over HTTP where the gate holds requests: each request has one end, whatever becomes of its session.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sendModern, Session } from './mcp_web.mjs';
import { WAIT_MS } from './peer.mjs';
import { web } from './web.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-gate-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_server.py', import.meta.url));
const section = (more = '') => `[child server]\ncommand = python3 -S -E ${program} --both\nprotocol = mcp\n${more}`;
const OTHER = '[child other]\ncommand = cat\n', MANUAL = { 'Governance-Level': 'manual' };

async function until(what, look) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`no ${what}`);
}
const held = (peer, count) => until(`${count} held messages`, async () => {
  const { approvals } = (await peer.ask('hub/approvals')).result;
  return approvals.length === count && approvals;
});

for (const [name, more] of [['shared', ''], ['each', 'instances = each\n']]) {
  const file = join(directory, `${name}.ini`), journal = join(directory, `${name}.journal`);
  writeFileSync(file, section(more) + OTHER);
  const how = { shards: [1, 2], options: ['--config', file, '--gate', 'manual', '--audit', journal, '--drain-timeout', '100ms'] };

  web(`what is held is answered when SIGHUP removes the section (instances = ${name})`, how, async (hub) => {
    const session = await Session.open(hub), all = await Session.open(hub, '/mcp'), peer = await hub.peer('tcp');
    const calls = [session.call('wait', {}, MANUAL), session.call('wait', {}, { ...MANUAL, Accept: 'text/event-stream' }),
      sendModern(hub, '/mcp/server', 'where', {}, { fields: MANUAL }), all.call('tools/call', { name: 'server__wait', arguments: {} }, MANUAL)];
    const checkpoints = (await held(peer, calls.length)).map(({ checkpoint }) => checkpoint);
    const waiting = session.call('wait');
    await until('the request', async () => (await session.ask('seen')).result.messages.some(({ method }) => method === 'wait'));
    writeFileSync(file, OTHER);
    hub.process.kill('SIGHUP');
    for (const [at, call] of calls.entries()) {
      const answer = await (await call).end();
      const { error } = answer.answer(at === 1 ? 2 : 1) ?? assert.fail(`no answer: ${answer.status} ${answer.text}`);
      assert.equal(error.code, -31010);
      assert.equal(error.data.agent, 'server');
      assert.ok(checkpoints.includes(error.data.checkpoint));
      assert.equal(answer.status, at === 1 ? 200 : 404);
    }
    assert.equal((await (await waiting).end()).answer(3).error.code, -31050);
    await held(peer, 0);
    const { gate_held: count, gate_target_removed: removed, gate_source_left: left } = (await peer.ask('hub/stats')).result;
    assert.deepEqual([count, removed, left], [calls.length, calls.length, 0]);
    const steps = await until('lines of the journal', () => new Promise(setImmediate).then(() => {
      const found = readFileSync(journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)).filter(({ step }) => step === 'target removed');
      return found.length === calls.length && found;
    }));
    assert.deepEqual(steps.map(({ kind, checkpoint, code }) => [kind, checkpoint, code]).sort(),
      checkpoints.map((checkpoint) => ['gate', checkpoint, -32010]).sort());
    const late = await peer.ask('governance/approval', { checkpoint: checkpoints[0], artifact: {}, approver: 'a', decision: 'approved' });
    assert.equal(late.result.applied, false);
    rmSync(journal);
    writeFileSync(file, section(more) + OTHER); // for the next hub
  });
}

{
  const file = join(directory, 'ending.ini');
  writeFileSync(file, section());
  web('what is held is answered when its client ends the session', { shards: [1, 2], options: ['--config', file, '--gate', 'manual'] }, async (hub) => {
    const session = await Session.open(hub), peer = await hub.peer('tcp'), call = session.call('wait', {}, MANUAL);
    const [{ checkpoint }] = await held(peer, 1);
    await session.close();
    const answer = await (await call).end(), { error } = answer.json;
    assert.deepEqual([answer.status, error.code, error.data.checkpoint], [200, -32800, checkpoint]);
    await held(peer, 0);
  });
}
