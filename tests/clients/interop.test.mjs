// The clients in Python and in Node, each of which calls the other through the hub.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Hub, agent, assertFails, close, failure, having, until, within } from './node/kit.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// A test that fails may leave its agent; it must not outlive the tests.
const programs = new Set();
after(() => programs.forEach((one) => one.kill('SIGKILL')));

async function python(uri) {
  const env = { ...process.env, PATCHBAY_HUB: uri, PYTHONPATH: here('../../tools/clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' };
  const program = spawn('python3', ['-W', 'error', here('interop.py')], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(program, 'close');
  programs.add(program);
  await within(Promise.race([once(program.stdout, 'data'), ended.then(() => { throw new Error('the agent in Python ended'); })]), 'the agent in Python');
  return async () => {
    program.stdin.end();
    assert.deepEqual(await within(ended, 'the agent in Python to end'), [0, null]);
  };
}

for (const [pythons, nodes] of [['tcp', 'unix'], ['tcp-lines', 'tcp'], ['unix', 'ws']]) {
  test(`Python over ${pythons}, Node over ${nodes}`, () => having(Hub.start(['--validate', 'strict', '--shards', '2', '--http', '127.0.0.1:0'], 'tcp-lines'), async (hub) => {
    const end = await python(hub.uri(pythons)), js = await agent(hub.uri(nodes), 'js', { capabilities: { methods: ['js/echo'] }, governanceLevel: 'supervised' });
    js.method('js/echo', async (params, request) => {
      if (params.wait) await new Promise((resolve) => { request.signal.addEventListener('abort', resolve); });
      if (params.fail) throw new RangeError('out of range');
      await request.progress({ n: 1 });
      return { text: params.text, number: params.number };
    });
    js.task('compare', ({ sourceAgent, context, priority }) => ({ sourceAgent, context, priority }));

    const value = { text: 'é€𝄞\u2028\\"\n', number: -1.5e-7 }, progress = [];
    assert.deepEqual(await js.call('py/echo', value, { onProgress: (one) => progress.push(one), timeoutMs: 5000 }), value);
    assert.deepEqual(progress, [{ percentage: 50, text: value.text }]);
    assert.deepEqual(await js.call('py/call', { targetAgent: 'py', params: value, timeout: 5 }), { result: value, progress: [{ n: 1 }] });
    const large = { text: 'ä'.repeat(1_000_000), number: 2 ** 53 - 1 };
    assert.deepEqual(await js.call('py/call', { targetAgent: 'py', params: large }), { result: large, progress: [{ n: 1 }] });

    const own = await assertFails(js.request('py', 'fail', { context: { own: true } }), -31000);
    assert.deepEqual([own.message, own.data], ['no', { why: 'ü' }]);
    assert.match(JSON.stringify((await assertFails(js.request('py', 'fail', { context: {} }), -32603)).toJSON()), /the text/);
    assert.equal((await js.call('py/call', { targetAgent: 'py', params: { fail: true } })).code, -32603);
    assert.equal((await js.call('py/call', { targetAgent: 'py', params: { wait: true }, timeout: 0.1 })).code, -32051);
    if (pythons === 'tcp') assert.deepEqual(await js.call('py/ask', { targetAgent: 'py', task: 'compare', context: { a: [1] } }), { sourceAgent: 'py', context: { a: [1] }, priority: 'high' });

    const events = js.events('py-*'), controller = new AbortController();
    const slow = failure(js.call('py/slow', { targetAgent: 'py', n: 7 }, { signal: controller.signal }));
    await js.call('py/echo', value); // which comes behind
    controller.abort();
    assert.equal((await slow).name, 'AbortError');
    assert.deepEqual((await within(events.next(), 'the cancel')).value, { name: 'py-cancelled', data: { n: 7 }, missed: 0 });

    const collected = js.call('py/collect', { targetAgent: 'py' });
    await until('it is subscribed', async () => await js.publish('js-event', 'begun') === 1);
    assert.equal((await within(events.next(), 'its event')).value.name, 'py-ready');
    for (let n = 0; n < 100; n++) js.publish('js-event', n);
    assert.equal(await js.publish('js-event', 'last'), 1);
    assert.deepEqual(await collected, [...Array.from({ length: 100 }, (_, n) => ['js-event', n, 0]), ['js-event', 'last', 0]]);
    await until('Python has unsubscribed', async () => await js.publish('js-event') === 0);

    await Promise.all(Array.from({ length: 500 }, async (_, number) => assert.equal((await js.call('py/echo', { text: '', number })).number, number)));
    await end();
    assert.deepEqual((await js.call('hub/agents')).agents.map(({ agentId }) => agentId), ['js']);
    await close(js);
  }));
}
