// The status page in a real browser, over the hub's own WebSocket, and the metrics as Prometheus' own tool reads them.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Broker, joining, linked } from '../e2e/cluster.mjs';
import { Hub } from '../e2e/hub.mjs';
import { Chromium, chromiumIsThere } from './chromium.mjs';

const program = process.env.PATCHBAY;
const pictures = process.env.PICTURES; // a folder for them
const promtool = spawnSync('promtool', ['--version']).status === 0;
let browser;
before(async () => { if (chromiumIsThere) browser = await Chromium.start(); });
after(() => browser?.stop());

const say = (name, why) => console.error(`${name} is missing: ${why} was NOT tested`);
const start = (options = []) => Hub.start(['--shards', '2', '--http', '127.0.0.1:0', ...options]);
const page = (hub) => hub.uri('http');

function get(url) {
  return new Promise((resolve, reject) => {
    http.get(url, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => { text += part; });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    }).on('error', reject);
  });
}

// A hub with load on it, and what ends that.
async function busy(hub) {
  const load = spawn(program, ['--hub', hub.uri(), 'bench', '2', '2', '4', '256', '60'], { stdio: 'ignore' });
  return () => new Promise((resolve) => {
    load.on('close', resolve);
    load.kill('SIGKILL');
  });
}

async function withHub(run, options) {
  const hub = await start(options), failures = [];
  await Promise.resolve(run(hub)).catch((error) => failures.push(error));
  await hub.stop().catch((error) => failures.push(error));
  if (failures.length) throw failures[0];
}

if (!promtool) say('promtool', 'the form of the metrics');
else {
  test('promtool finds nothing to say of the metrics', () => withHub(async (hub) => {
    const peer = await hub.agent('a');
    await peer.ask('hub/ping');
    const { status, headers, text } = await get(`${page(hub)}/metrics`);
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    const check = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    assert.deepEqual([check.status, check.stdout, check.stderr], [0, '', '']);
    assert.match(text, /^patchbay_agents 1$/m);
  }));
}

if (!chromiumIsThere) say('chromium', 'the status page');
else {
  test('the page shows what hub/stats tells', () => withHub(async (hub) => {
    const peer = await hub.agent('<img src=x onerror=alert(1)>'.replaceAll(/[^a-z]/g, '-').replaceAll(/^-+|-+$/g, ''), { '<b>bold</b>': '<script>throw 1</script>' });
    const shown = await browser.open(page(hub));
    await shown.until("document.getElementById('verdict').dataset.state === 'well'", 'the verdict');
    await shown.until("document.querySelectorAll('#agent-table tbody tr').length === 1", 'the agent');
    assert.match(await shown.value("document.querySelector('#agent-table tbody').textContent"), /\{"<b>bold<\/b>":"<script>throw 1<\/script>"\}/);
    assert.equal(await shown.value("document.querySelectorAll('main b, main script, main img').length"), 0);
    const steady = ['connections', 'agents', 'connections_opened', 'requests_forwarded', 'memory_bytes_max', 'framing_errors', 'pid'];
    await shown.value("document.getElementById('counters').open = true");
    const { result } = await peer.ask('hub/stats');
    for (const name of steady) {
      assert.equal(await shown.value(`document.querySelector('[data-counter="${name}"]').textContent`), String(result[name]), name);
    }
    assert.deepEqual(await shown.value("[...document.querySelectorAll('#transports tbody tr')].map((row) => row.cells[0].textContent + ' ' + row.cells[1].textContent)"),
      Object.entries(result.by_transport).map(([name, count]) => `${name} ${count}`));
    assert.deepEqual(shown.errors, []);
    await shown.close();
  }));

  test('the page under load, on a desk, in the dark and on a phone', () => withHub(async (hub) => {
    const quiet = await busy(hub), silent = await hub.agent('silent'), asking = await hub.peer();
    asking.send({ jsonrpc: '2.0', id: 1, method: 'm', params: { targetAgent: 'silent' } });
    await silent.next();
    try {
      for (const [name, how] of Object.entries({ desktop: {}, dark: { dark: true }, phone: { width: 390, height: 844, mobile: true } })) {
        const shown = await browser.open(page(hub), how);
        await shown.until("Number(document.querySelector('[data-counter=requests_forwarded]')?.textContent) > 1000", 'load');
        await shown.until("document.querySelector('#slowest tbody')?.textContent.startsWith('silent')", 'who owes for longest');
        await shown.until("document.querySelectorAll('#shards tbody tr').length === 2", 'the shards');
        await shown.until("document.querySelector('.series.one').getAttribute('d').split('L').length > 2", 'a chart');
        assert.ok(await shown.value('document.documentElement.scrollWidth <= innerWidth'), `${name}: nothing is wider than the screen`);
        const back = await shown.value('getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]');
        assert.equal(back < 100, name === 'dark');
        if (pictures) {
          mkdirSync(pictures, { recursive: true });
          writeFileSync(`${pictures}/${name}.png`, await shown.picture());
        }
        assert.deepEqual(shown.errors, []);
        await shown.close();
      }
    } finally {
      await quiet();
    }
  }));

  test('the page calls hubs of a cluster by their names', async () => {
    const broker = await Broker.start();
    const named = (name) => [...joining(broker), '--hub-name', name];
    await withHub((here) => withHub(async (there) => {
      await Promise.all([linked(here), linked(there)]);
      await here.agent('alpha');
      await there.agent('beta');
      const shown = await browser.open(page(here));
      const rows = "[...document.querySelectorAll('#agent-table tbody tr')].map((row) => `${row.cells[0].textContent} ${row.cells[5].textContent}`).join()";
      await shown.until(`${rows} === 'alpha first,beta second'`, 'both hubs');
      assert.deepEqual(shown.errors, []);
      await shown.close();
    }, named('second')), named('first'));
    await broker.kill();
  });

  test('the page is found through by keyboard', () => withHub(async (hub) => {
    for (const id of ['alpha', 'beta', 'gamma']) await hub.agent(id);
    const shown = await browser.open(page(hub));
    const rows = "[...document.querySelectorAll('#agent-table tbody tr')].map((row) => row.cells[0].textContent).join()";
    await shown.until(`${rows} === 'alpha,beta,gamma'`, 'the agents');
    await shown.key('/');
    for (const key of 'et') await shown.key(key);
    assert.equal(await shown.value(rows), 'beta');
    assert.equal(await shown.value("document.getElementById('found').textContent"), '1 of 3');
    await shown.key('Escape');
    assert.equal(await shown.value(rows), 'alpha,beta,gamma');
    await shown.value("document.querySelector('#agent-table button').focus()");
    for (const sorted of ['ascending', 'descending']) {
      await shown.key('Enter');
      await shown.until(`document.querySelector('#agent-table th').getAttribute('aria-sort') === '${sorted}'`, sorted);
    }
    await shown.until(`${rows} === 'gamma,beta,alpha'`, 'the other order');
    await shown.value("document.querySelector('.chart svg').focus()");
    await shown.until("document.querySelector('.series.one').getAttribute('d').split('L').length > 1", 'two points');
    await shown.key('ArrowLeft');
    assert.match(await shown.value("document.querySelector('.chart .when').textContent"), / s ago$/);
    assert.deepEqual(shown.errors, []);
    await shown.close();
  }));

  test('the page decides on what is held, by keyboard and on a phone', () => withHub(async (hub) => {
    const agent = await hub.agent('deployer'), source = await hub.peer(), titles = "[...document.querySelectorAll('#held h3')].map((title) => title.textContent).join()";
    const send = (id, text) => source.send({ jsonrpc: '2.0', id, method: `deploy${id}`, params: { targetAgent: 'deployer', text } }, 'Governance-Level: manual');
    agent.serve(() => 'done');
    for (const [name, how] of Object.entries({ desktop: {}, phone: { width: 390, height: 844, mobile: true } })) {
      const shown = await browser.open(page(hub), how);
      await shown.until("document.getElementById('verdict').dataset.state === 'well'", 'the verdict');
      assert.ok(await shown.value("document.getElementById('held').hidden"), 'nothing is held');
      send(1, '<b>x</b>\u202e');
      send(2, 'y'.repeat(3000));
      await shown.until(`${titles} === 'deploy1 for deployer,deploy2 for deployer'`, 'what is held');
      assert.match(await shown.value("document.querySelector('#held pre').textContent"), /<b>x<\/b>\\u202e/);
      assert.ok(await shown.value('document.documentElement.scrollWidth <= innerWidth'), `${name}: nothing is wider than the screen`);
      if (pictures) mkdirSync(pictures, { recursive: true });
      if (pictures) writeFileSync(`${pictures}/held-${name}.png`, await shown.picture());
      await shown.value("[...document.querySelectorAll('#held button')].find((button) => button.textContent === 'Show all' && !button.hidden).click()");
      await shown.until("document.querySelectorAll('#held pre')[1].textContent.length > 3000", 'all of it');
      await shown.value("document.querySelector('#held input').focus()");
      for (const key of 'no') await shown.key(key);
      await shown.value("document.querySelector('#held [data-decision=rejected]').focus()");
      await shown.key('Enter');
      const { json } = await source.next();
      assert.deepEqual([json.id, json.error.code, json.error.data.feedback], [1, -32011, 'no']);
      await shown.until(`${titles} === 'deploy2 for deployer'`, 'what is left');
      assert.equal(await shown.value('document.activeElement.dataset.decision'), 'approved', 'the next one has the focus');
      await shown.key('Enter');
      assert.equal((await source.next()).json.result, 'done');
      await shown.until("document.querySelector('#held [role=status]').textContent === 'Approved: deploy2 for deployer.'", 'what was done');
      assert.deepEqual(shown.errors, []);
      await shown.close();
    }
  }, ['--gate', 'manual']));

  test('the page shows the slowest requests, and the last errors while somebody watches', () => withHub(async (hub) => {
    const silent = await hub.agent('silent'), failing = await hub.agent('failing'), asking = await hub.agent('asker');
    asking.send({ jsonrpc: '2.0', id: 1, method: 'm\u202e<b>', params: { targetAgent: 'silent' } });
    await silent.next();
    await sleep(20); // so that their ages differ
    asking.send({ jsonrpc: '2.0', id: 2, method: 'later', params: { targetAgent: 'silent' } });
    await silent.next();
    const shown = await browser.open(page(hub));
    const cells = (part) => `[...document.querySelectorAll('#requests ${part} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`;
    const fail = async (method) => {
      const answer = asking.ask(method, { targetAgent: 'failing' });
      failing.send({ jsonrpc: '2.0', id: (await failing.next()).json.id, error: { code: -4711, message: 'no' } });
      assert.equal((await answer).error.code, -4711);
    };
    await shown.until(`${cells('.under-way')}.map((row) => row.slice(0, 3).join()).join(';') === 'm\\\\u202e<b>,asker,silent;later,asker,silent'`, 'what is under way');
    await fail('before');
    assert.equal(await shown.value("document.querySelector('#requests .errors').textContent"), 'Nobody watches.');
    await shown.value("document.querySelector('#requests button').click()");
    await shown.until("document.querySelector('#requests .errors').textContent === 'No request has failed since.'", 'the tap');
    await fail('one');
    assert.equal((await asking.ask('two', { targetAgent: 'nobody' })).error.code, -32010);
    await shown.until(`${cells('.errors')}.length === 2`, 'the errors');
    assert.deepEqual((await shown.value(cells('.errors'))).map((row) => row.slice(1)),
      [['-32010', 'refused', 'two', 'asker', '–', '–'], ['-4711', 'error', 'one', 'asker', 'failing', '–']]);
    assert.ok(await shown.value('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the screen');
    await shown.value("document.querySelector('#requests button').click()");
    while (!/tap 1 ended/.test(hub.stderr)) await sleep(5);
    await fail('three');
    assert.equal(await shown.value("document.querySelector('#requests button').getAttribute('aria-pressed')"), 'false');
    assert.equal((await shown.value(cells('.errors'))).length, 2);
    assert.deepEqual(shown.errors, []);
    await shown.close();
  }));

  test('the page says what the hub needs attention for', () => withHub(async (hub) => {
    await hub.agent('silent');
    const asking = await hub.peer(), shown = await browser.open(page(hub));
    await shown.until("document.getElementById('verdict').dataset.state === 'well'", 'the verdict');
    const { error } = await asking.ask('m', { targetAgent: 'silent' }, 'Custom-Timeout-Ms: 20');
    assert.equal(error.code, -32051);
    await shown.until("document.getElementById('verdict').dataset.state === 'attention'", 'the other verdict');
    assert.equal(await shown.value("document.getElementById('reasons').textContent"), 'Requests that timed out: 1 in the last minute.');
    assert.match(await shown.value("document.getElementById('losses').textContent"), /requests timed out11/);
    assert.deepEqual(shown.errors, []);
    await shown.close();
    const fresh = await browser.open(page(hub)); // which doesn't know when that was
    await fresh.until("document.getElementById('losses').textContent.includes('requests timed out')", 'the losses');
    assert.match(await fresh.value("document.getElementById('losses').textContent"), /requests timed out–1/);
    assert.deepEqual(fresh.errors, []);
    await fresh.close();
  }));

  test('the page comes back when the hub does', async () => {
    const hub = await start(), port = new URL(page(hub)).port;
    const shown = await browser.open(page(hub));
    await shown.until("document.getElementById('verdict').dataset.state === 'well'", 'the hub');
    await hub.stop();
    await shown.until("document.getElementById('verdict').dataset.state === 'down'", 'its end');
    assert.match(await shown.value("document.getElementById('reasons').textContent"), /^No answer for/);
    const next = await Hub.start(['--http', `127.0.0.1:${port}`]);
    await shown.until("document.getElementById('verdict').dataset.state === 'well'", 'the next hub');
    await shown.until(`document.getElementById('who').textContent.includes('process ${next.process.pid} ')`, 'its process');
    assert.deepEqual(shown.errors.filter((text) => !/WebSocket|ERR_CONNECTION/.test(text)), []);
    await shown.close();
    await next.stop();
  });
}
