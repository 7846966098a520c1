// The page of the configuration beside the hub: the same options and defaults, bounds that hold, and examples that can
// be used. Also what SIGHUP takes up.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Hub } from './hub.mjs';
import { within } from './peer.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');
const page = readFileSync(join(ROOT, 'router/docs/configuration.md'), 'utf8');
const program = process.env.PATCHBAYD;

// {name, default, bounds, sighup, example} of each heading `--NAME`.
const options = page.split(/^### /m).slice(1).map((section) => {
  const item = (label) => new RegExp(`^- ${label}: (.*)$`, 'm').exec(section)?.[1];
  return {
    name: /^`--([a-z-]+)/.exec(section)[1],
    default: item('Default'),
    bounds: item('Bounds'),
    sighup: item('SIGHUP'),
    example: item('Example')?.replace(/^`|`$/g, ''),
  };
});
const optionOf = (name) => options.find((one) => one.name === name) ?? assert.fail(`the page has no --${name}`);

const shown = [...execFileSync(program, ['--help'], { encoding: 'utf8' }).matchAll(/^ {2}--([a-z-]+)(?: +|\n +)(.*)$/gm)]
  .filter(([, name]) => name !== 'help' && name !== 'version')
  .map(([, name, help]) => ({ name, help }));

const check = (...args) => spawnSync(program, ['--check', '--sandbox', 'off', ...args], { encoding: 'utf8' });

test('the page has the options of --help', () => {
  assert.ok(shown.length > 40);
  assert.deepEqual(options.map((one) => one.name).sort(), shown.map((one) => one.name).sort());
});

test('its defaults are those of --help', () => {
  const said = shown.flatMap(({ name, help }) => {
    const value = /\(([a-zA-Z0-9-]+)\)(?:;.*)?$/.exec(help)?.[1];
    return value ? [{ name, value }] : [];
  });
  assert.ok(said.length > 20);
  // A sanitized build has no sandbox by default.
  for (const { name, value } of said.filter((one) => one.name !== 'sandbox' || one.value !== 'off')) {
    const stated = optionOf(name).default;
    assert.ok(stated.startsWith(`\`${value}\``) || (value === 'off' && stated.startsWith('off')), `--${name}: --help says ${value}, the page ${stated}`);
  }
});

const UNITS = { '': 1n, K: 1n << 10n, M: 1n << 20n, G: 1n << 30n, us: 1n, ms: 1000n, s: 1000000n, m: 60000000n, h: 3600000000n };

// The value one step below or above a bound: 1 less or more of its base unit, of times a millisecond.
function beyond(value, step) {
  const [, digits, unit] = /^(\d+)([A-Za-z]*)$/.exec(value);
  const time = ['us', 'ms', 's', 'm', 'h'].includes(unit);
  const moved = BigInt(digits) * UNITS[unit] + BigInt(step) * (time ? 1000n : 1n);
  return moved < 0n ? null : `${moved}${time ? 'us' : ''}`;
}

for (const { name, bounds } of options) {
  const [, least, most] = /^`(\w+)`(?: to|, up to) `(\w+)`/.exec(bounds ?? '') ?? [];
  if (!least) continue;
  test(`--${name} is from ${least} to ${most}`, () => {
    const takes = (value) => check(`--${name}`, value, ...(name === 'shards' || name === 'max-memory' ? [] : ['--shards', '1'])).stderr;
    const refused = /within its bounds|expected|bounds/;
    assert.doesNotMatch(takes(least), refused);
    assert.doesNotMatch(takes(most), refused);
    for (const value of [least === 'off' ? null : beyond(least, -1), beyond(most, 1)]) if (value) assert.match(takes(value), refused, `--${name} ${value}`);
  });
}

test('each example can be used', () => {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-configuration-'));
  try {
    for (const { name, example } of options) {
      if (!example) continue;
      assert.equal(/^[a-z-]+/.exec(example)[0], name, example);
      // An option that needs others, or names files that aren't here, is judged as far as it is read.
      const whole = { nats: 'cluster = x\ninsecure = yes', cluster: 'nats = nats://127.0.0.1:4222', 'nats-credentials': 'nats = nats://127.0.0.1:4222\ncluster = x', 'nats-ca': 'nats = nats://127.0.0.1:4222\ncluster = x', 'tls-key': 'tls-certificate = /etc/patchbay/tls/hub.pem', 'tls-clients': 'tls-certificate = /etc/patchbay/tls/hub.pem' }[name] ?? '';
      writeFileSync(join(folder, 'one.ini'), `${example}\n${whole}\n`);
      // The default addresses may be another program's at the moment, and so may the addresses of examples.
      const own = ['listen', 'http'].includes(name) ? [] : ['--listen', 'tcp://127.0.0.1:0', '--http', '127.0.0.1:0'];
      const { status, stderr } = check('--config', join(folder, 'one.ini'), ...own);
      const files = name.startsWith('tls-') || ['audit', 'users', 'nats-credentials', 'nats-ca', 'user'].includes(name);
      if (files) assert.match(stderr, /No such file|expected a file that is there|there is no such user/, example);
      else if (own.length > 0 || !/expected a free (port|path)/.test(stderr)) assert.equal(status, 0, `${example}: ${stderr}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('what counts at the next start is what SIGHUP names so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-configuration-'));
  const file = join(folder, 'hub.ini');
  writeFileSync(file, 'spin = off\n');
  const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--config', file]);
  try {
    writeFileSync(file, 'spin = 50us\n');
    hub.process.kill('SIGHUP');
    await within((async () => {
      while (!/read again/.test(hub.stderr)) await new Promise((resolve) => { hub.process.stderr.once('data', resolve); });
    })(), 'the configuration to be read again');
    const line = /^.*next start.*$/m.exec(hub.stderr)[0];
    for (const [, name] of line.matchAll(/--([a-z-]+)/g)) assert.match(optionOf(name).sighup, /at the next start/, `--${name}`);
  } finally {
    await hub.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
