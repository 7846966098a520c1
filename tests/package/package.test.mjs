// The Debian packages of tools/package: what is in them, that two runs make the same bytes, and what the tools that judge
// such files say. The programs are those of this build, so nothing is compiled.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { PATCHBAYD, PATCHBAY } = process.env;
// Whoever owns the checkout: it is cloned, nothing of it is run by git.
Object.assign(process.env, { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' });
const work = mkdtempSync(join(tmpdir(), 'patchbay-package-'));
const unpacked = join(work, 'root');
const units = join(unpacked, 'lib/systemd/system');
const share = join(unpacked, 'usr/share');
let made;
after(() => rmSync(work, { recursive: true, force: true }));

const run = (command, args, options = {}) =>
  spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
const named = (pattern) => Object.keys(made).find((name) => pattern.test(name));
const read = (...path) => readFileSync(join(...path), 'utf8');

// A clone of the last commit in a folder of its own, with the working tree's packaging, which is what is tested.
function clone(name) {
  const folder = join(work, name);
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, folder]);
  const changed = execFileSync('git', ['-C', root, 'status', '--porcelain'], { encoding: 'utf8' });
  if (changed) {
    for (const path of ['tools/package', 'tools/packaging', 'tools/clients', 'router/docs', 'CMakeLists.txt'])
      cpSync(join(root, path), join(folder, path), { recursive: true });
    execFileSync('git', ['-C', folder, 'add', '--all']);
    execFileSync('git', ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@test', 'commit', '--quiet', '--allow-empty', '-m', 'test'],
      { env: { ...process.env, GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z', GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z' } });
  }
  return folder;
}

// The programs of this build where tools/package looks for them.
function programs() {
  const folder = join(work, 'programs');
  for (const [path, from] of [['router/patchbayd', PATCHBAYD], ['tools/patchbay', PATCHBAY]]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(from, join(folder, path));
  }
  return folder;
}

function packages(name, environment, umask) {
  const folder = clone(name);
  const command = `umask ${umask} && exec '${folder}/tools/package' --no-setup --programs '${join(work, 'programs')}'`;
  const result = run('bash', ['-c', command], { env: { ...process.env, ...environment } });
  assert.equal(result.status, 0, result.stderr);
  const out = join(folder, 'build/package');
  return Object.fromEntries(readdirSync(out).map((file) => [file, readFileSync(join(out, file))]));
}

before(() => {
  programs();
  made = packages('first', { TZ: 'UTC', LC_ALL: 'C' }, '022');
  for (const [name, bytes] of Object.entries(made)) writeFileSync(join(work, name), bytes);
  execFileSync('dpkg-deb', ['--extract', join(work, named(/^patchbay_.*\.deb$/)), unpacked]);
});

test('there are a package, its symbols, an SPDX document and the clients, and nothing else', () => {
  const names = Object.keys(made).sort();
  assert.equal(names.length, 5, names.join(' '));
  assert.match(names.join(' '), new RegExp('^patchbay-client-\\S+\\.tgz patchbay-dbgsym_\\S+\\.d?deb patchbay_\\S+\\.deb ' +
    'patchbay_\\S+\\.spdx\\.json python3-patchbay_\\S+_all\\.deb$'));
});

test('the client for Python is a module of the system when its package is unpacked', () => {
  const folder = join(work, 'python');
  execFileSync('dpkg-deb', ['--extract', join(work, named(/^python3-patchbay/)), folder]);
  const modules = join(folder, 'usr/lib/python3/dist-packages');
  const result = run('python3', ['-B', '-c', 'import patchbay; print(patchbay.__file__)'], { env: { PATH: process.env.PATH, PYTHONPATH: modules } });
  assert.ok(result.stdout.startsWith(modules), result.stderr);
  assert.ok(existsSync(join(modules, 'patchbay/py.typed')));
});

test('the client for Node is installed from its archive without a network', () => {
  const folder = join(work, 'node');
  mkdirSync(folder);
  const installed = run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(work, named(/tgz$/))], { cwd: folder });
  assert.equal(installed.status, 0, installed.stderr);
  const result = run('node', ['--input-type=module', '-e', "import * as patchbay from '@patchbay/client'; console.log(typeof patchbay.connect)"], { cwd: folder });
  assert.equal(result.stdout.trim(), 'function', result.stderr);
});

test('another folder, umask, time zone and language make the same bytes', () => {
  const again = packages('second/elsewhere', { TZ: 'Asia/Kolkata', LC_ALL: 'C.UTF-8', LANG: 'de_DE.UTF-8' }, '077');
  assert.deepEqual(Object.keys(again), Object.keys(made));
  for (const name of Object.keys(made)) assert.ok(made[name].equals(again[name]), `${name} differs`);
});

test('lintian finds no error and no warning', () => {
  const found = run('lintian', ['--allow-root', '--fail-on', 'error,warning', ...Object.keys(made).filter((n) => /deb$/.test(n))],
    { cwd: work });
  assert.equal(found.status, 0, found.stdout);
  assert.ok(!existsSync(join(share, 'lintian')), 'nothing is overridden');
});

test('the package holds each file that an operator expects', () => {
  for (const file of ['usr/sbin/patchbayd', 'usr/bin/patchbay', 'lib/systemd/system/patchbay.service',
    'lib/systemd/system/patchbay.socket', 'lib/systemd/system/patchbay-http.socket', 'usr/lib/sysusers.d/patchbay.conf',
    'etc/patchbay/patchbay.conf', 'etc/logrotate.d/patchbay', 'usr/share/man/man8/patchbayd.8.gz',
    'usr/share/man/man1/patchbay.1.gz', 'usr/share/man/man5/patchbay.conf.5.gz', 'usr/share/man/man5/patchbay-users.5.gz',
    'usr/share/bash-completion/completions/patchbay', 'usr/share/zsh/vendor-completions/_patchbay',
    'usr/share/fish/vendor_completions.d/patchbay.fish', 'usr/share/patchbay/grafana.json',
    'usr/share/patchbay/alerts.yml', 'usr/share/patchbay/alerts.test.yml', 'usr/share/doc/patchbay/OPERATE.md'])
    assert.ok(existsSync(join(unpacked, file)), file);
});

test('the SPDX document has the programs by their SHA-256, and the libraries they take', () => {
  const spdx = JSON.parse(made[named(/spdx/)]);
  assert.equal(spdx.spdxVersion, 'SPDX-2.3');
  const names = spdx.packages.map((one) => one.name);
  for (const library of ['libc6', 'liburing2', 'libssl3', 'libsimdjson14', 'libseccomp2'])
    assert.ok(names.includes(library), library);
  const depends = execFileSync('dpkg-deb', ['--field', join(work, named(/^patchbay_.*deb$/)), 'Depends'], { encoding: 'utf8' });
  for (const [, name] of depends.matchAll(/(?:^|, )([a-z0-9.+-]+)/g)) assert.ok(names.includes(name), `${name} isn't there`);
  for (const path of ['usr/sbin/patchbayd', 'usr/bin/patchbay']) {
    const sum = execFileSync('sha256sum', [join(unpacked, path)], { encoding: 'utf8' }).split(' ')[0];
    const file = spdx.files.find((one) => one.fileName === `./${path}`);
    assert.ok(file.checksums.some((one) => one.algorithm === 'SHA256' && one.checksumValue === sum), path);
  }
});

test('symbols lie where perf and gdb look for them', () => {
  const folder = join(work, 'symbols');
  execFileSync('dpkg-deb', ['--extract', join(work, named(/^patchbay-dbgsym/)), folder]);
  for (const path of ['usr/sbin/patchbayd', 'usr/bin/patchbay']) {
    const notes = execFileSync('readelf', ['-n', join(unpacked, path)], { encoding: 'utf8' });
    const id = notes.match(/Build ID: ([0-9a-f]+)/)[1];
    assert.ok(existsSync(join(folder, 'usr/lib/debug/.build-id', id.slice(0, 2), `${id.slice(2)}.debug`)), path);
  }
});

test('a program that was not optimised at link time is refused', () => {
  const folder = join(work, 'optimised');
  mkdirSync(folder);
  // Two files with a function of one name each, in as many parts.
  writeFileSync(join(folder, 'a.c'), 'int other(int); static int __attribute__((noinline)) twice(int x) { return other(x) * 2; }\nint a(int x) { return twice(x) + 1; }\nint main(int count, char **words) { (void)words; return a(count) + twice(count); }\n');
  writeFileSync(join(folder, 'b.c'), 'static int __attribute__((noinline)) twice(int x) { return x * x + 3; }\nint other(int x) { return twice(x) + x; }\n');
  for (const [options, status] of [[['-flto', '-flto-partition=max'], 0], [[], 1]]) {
    const program = join(folder, `program${status}`);
    const built = run('gcc', ['-O2', ...options, join(folder, 'a.c'), join(folder, 'b.c'), '-o', program]);
    assert.equal(built.status, 0, built.stderr);
    const judged = run(join(root, 'tools/packaging/optimisation'), [program]);
    assert.equal(judged.status, status, judged.stderr);
    assert.equal(judged.stderr.includes('was not optimised at link time'), status === 1);
  }
  assert.match(read(root, 'tools/packaging/debian/rules'), /^\ttest -n .*tools\/packaging\/optimisation /m);
});

test('man pages are well-formed, and say what --help says', () => {
  const wanted = run(PATCHBAYD, ['--help']).stdout.match(/^ {2}--[a-z-]+/gm).map((line) => line.trim());
  for (const [section, name] of [[8, 'patchbayd'], [1, 'patchbay'], [5, 'patchbay.conf'], [5, 'patchbay-users']]) {
    const page = join(share, `man/man${section}/${name}.${section}.gz`);
    const lint = run('bash', ['-c', `zcat '${page}' | mandoc -Tlint -Wwarning`]);
    assert.equal(lint.stdout + lint.stderr, '', name);
  }
  const shown = run('bash', ['-c', `zcat '${join(share, 'man/man8/patchbayd.8.gz')}' | mandoc -Tutf8 | col -b`]).stdout;
  for (const option of wanted) assert.ok(shown.includes(option), option);
});

test('patchbay-users(5) and patchbay.conf(5) have each key that the hub reads', () => {
  const page = (name) => run('bash', ['-c', `zcat '${join(share, `man/man5/${name}.5.gz`)}'`]).stdout;
  const users = page('patchbay-users');
  const table = [...read(root, 'core/rights/sections.c').matchAll(/^ {4}\{"([a-z-]+)", KEY_/gm)].map((row) => row[1]);
  assert.ok(table.length > 15);
  for (const key of table) assert.match(users, new RegExp(`^\\.It Ic (.*, )?${key}( |$)`, 'm'), key);
  const conf = page('patchbay.conf');
  const source = read(root, 'core/child/child_settings.c');
  const keys = [...source.matchAll(/strcmp\(key, "([a-z-]+)"\)/g), ...source.matchAll(/^ {4}\{"([a-z-]+)", offsetof/gm)];
  assert.ok(keys.length > 15);
  for (const [, key] of keys) assert.match(conf, new RegExp(`^\\.It Ic ${key}( |$)`, 'm'), key);
});

test('the sample of the configuration is one, with every key commented out', () => {
  const sample = join(unpacked, 'etc/patchbay/patchbay.conf');
  const checked = run(PATCHBAYD, ['--check', '--config', sample, '--listen', 'tcp://127.0.0.1:0']);
  assert.equal(checked.status, 0, checked.stderr);
  const set = read(sample).split('\n').filter((line) => line && !line.startsWith(';'));
  assert.deepEqual(set, []);
});

test('promtool passes the alert rules and their tests', () => {
  for (const args of [['check', 'rules', 'alerts.yml'], ['test', 'rules', 'alerts.test.yml']]) {
    const result = run('promtool', args, { cwd: join(share, 'patchbay') });
    assert.equal(result.status, 0, result.stdout + result.stderr);
  }
});

test('each alert has a runbook that the operator finds', () => {
  const page = read(share, 'doc/patchbay/OPERATE.md');
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map((line) => line[1].toLowerCase().replaceAll(' ', '-'));
  const rules = read(share, 'patchbay/alerts.yml');
  const alerts = [...rules.matchAll(/- alert: (\S+)/g)].map((line) => line[1]);
  const runbooks = [...rules.matchAll(/runbook: OPERATE\.md#(\S+)/g)].map((line) => line[1]);
  assert.ok(alerts.length >= 12);
  assert.deepEqual(runbooks, alerts.map((alert) => alert.toLowerCase()));
  assert.deepEqual([...page.matchAll(/^## (Patchbay\S+)$/gm)].map((line) => line[1]), alerts, 'each alert has a runbook, and each runbook an alert');
  for (const runbook of runbooks) assert.ok(headings.includes(runbook), runbook);
  for (const alert of alerts) { // what it means, then what to do
    const [, text] = new RegExp(`^## ${alert}\n\n([\\s\\S]*?)(?=\n## |$(?![\\s\\S]))`, 'm').exec(page);
    assert.match(text, /^[A-Z][^\n]+\.\n\n1\. [\s\S]+\n2\. /, alert);
  }
});

test('each alert is fired, and held back, by a test of the rules', () => {
  const tests = read(share, 'patchbay/alerts.test.yml');
  for (const [, alert] of read(share, 'patchbay/alerts.yml').matchAll(/- alert: (\S+)/g)) {
    assert.match(tests, new RegExp(`alertname: ${alert}, eval_time: \\d+m, exp_alerts: \\[\\]`), alert);
    assert.match(tests, new RegExp(`alertname: ${alert}\n +eval_time: \\d+m\n +exp_alerts:\n +- exp_labels`), alert);
  }
});

// A hub on a free port, for programs that ask one; its end is awaited.
async function withHub(options, use) {
  const hub = spawn(PATCHBAYD, ['--listen', 'tcp://127.0.0.1:0', '--http', '127.0.0.1:0', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  hub.stderr.setEncoding('utf8');
  while (!/listening http:\S+\n/.test(said)) said += (await once(hub.stderr, 'data'))[0];
  try {
    return await use(said.match(/listening (tcp:\S+)/)[1], said.match(/listening (http:\S+)/)[1]);
  } finally {
    hub.kill('SIGTERM');
    await once(hub, 'exit');
  }
}

test('each metric that alerts, the dashboard and the runbook ask for is one that a hub has', async () => {
  await withHub([], async (_, http) => {
    const metrics = await (await fetch(`${http}/metrics`)).text();
    const queries = read(share, 'patchbay/alerts.yml') + read(share, 'patchbay/grafana.json');
    const asked = new Set((queries + read(share, 'doc/patchbay/OPERATE.md')).match(/patchbay_[a-z_]+/g));
    assert.ok(asked.size > 20);
    for (const name of asked) assert.match(metrics, new RegExp(`^${name}[{ ]`, 'm'), name);
    // The labels, too: a reason that no hub counts would never fire an alert.
    const selected = [...read(share, 'patchbay/alerts.yml').matchAll(/(patchbay_[a-z_]+)\{(\w+)=~?"([^"]+)"\}/g)];
    assert.ok(selected.length >= 4);
    for (const [, name, label, values] of selected)
      for (const value of values.split('|')) assert.match(metrics, new RegExp(`^${name}\\{.*\\b${label}="${value}"`, 'm'), `${name} ${label} ${value}`);
    // A label that no metric has makes one line of what should be many.
    const grouped = [...queries.matchAll(/sum by \(([^)]+)\) \((?:rate|increase)?\(?(patchbay_[a-z_]+)/g)];
    assert.ok(grouped.length >= 20);
    for (const [, labels, name] of grouped)
      for (const label of labels.split(', ').filter((one) => one !== 'instance')) assert.match(metrics, new RegExp(`^${name}\\{.*\\b${label}="`, 'm'), `${name} by ${label}`);
  });
});

test('bash completes commands, options, values, and agents of the hub', async () => {
  const file = join(share, 'bash-completion/completions/patchbay');
  const complete = (words, environment = {}) => {
    const script = `. '${file}'; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1};
      _${words[0]}; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const path = `${dirname(PATCHBAY)}:${process.env.PATH}`;
    const result = run('bash', ['-c', script], { env: { ...process.env, PATH: path, ...environment } });
    assert.equal(result.stderr, '');
    return result.stdout.split('\n').filter(Boolean);
  };
  assert.deepEqual(complete(['patchbay', 'se']), ['send']);
  assert.ok(complete(['patchbay', 'send', '--p']).includes('--priority'));
  assert.deepEqual(complete(['patchbay', 'send', 'a', 'b', '--priority', 'h']), ['high']);
  assert.deepEqual(complete(['patchbayd', '--val']), ['--validate']);
  assert.deepEqual(complete(['patchbayd', '--validate', '']), ['lazy', 'strict']);
  assert.deepEqual(complete(['patchbay', 'send', ''], { PATCHBAY_HUB: 'tcp://127.0.0.1:1' }), []);
  await withHub([], async (uri) => {
    const agent = spawn(PATCHBAY, ['--hub', uri, 'echo', 'test-agent'], { stdio: ['ignore', 'pipe', 'inherit'] });
    while (!run(PATCHBAY, ['--hub', uri, 'agents', '--json']).stdout.includes('test-agent'));
    assert.deepEqual(complete(['patchbay', 'send', 'te'], { PATCHBAY_HUB: uri }), ['test-agent']);
    agent.kill('SIGINT');
    await once(agent, 'exit');
  });
});

// What bash offers for a line: it cuts words at `:` and `=` before the function sees them, and puts a choice behind the last cut.
function completeLine(line, environment = {}) {
  const file = join(share, 'bash-completion/completions/patchbay');
  const cut = [...line.match(/[:=]+|[^\s:=]+/g), ...(/\s$/.test(line) ? [''] : [])];
  const script = `. '${file}'; COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'; COMP_LINE=$1; shift; COMP_POINT=\${#COMP_LINE}
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_$1"; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const path = `${dirname(PATCHBAY)}:${process.env.PATH}`;
  const result = run('bash', ['-c', script, 'bash', line, ...cut], { env: { ...process.env, PATH: path, ...environment } });
  assert.equal(result.stderr, '');
  return result.stdout.split('\n').filter(Boolean);
}

test('bash completes what it has cut at colons and equals signs', async () => {
  assert.deepEqual(completeLine('patchbayd --log='), ['text', 'logfmt', 'json']);
  assert.deepEqual(completeLine('patchbayd --gate=m'), ['manual']);
  assert.deepEqual(completeLine('patchbay --framing=l'), ['lines']);
  await withHub([], async (uri) => {
    const agents = ['colon:agent:one', 'colon:agent:two'].map((name) => spawn(PATCHBAY, ['--hub', uri, 'echo', name], { stdio: 'ignore' }));
    while (run(PATCHBAY, ['--hub', uri, 'agents']).stdout.split('colon:agent:').length < 3);
    assert.deepEqual(completeLine(`patchbay --hub ${uri} send colon:agent:o`), ['one']);
    assert.deepEqual(completeLine(`patchbay --hub=${uri} pending co`).sort(), ['colon:agent:one', 'colon:agent:two']);
    assert.deepEqual(completeLine(`patchbay --hub ${uri} connect --agent=colon:agent:t`), ['two']);
    for (const agent of agents) {
      agent.kill('SIGINT');
      await once(agent, 'exit');
    }
  });
});

test('completion offers what a command takes: its actions, its own options, the values that are a set', () => {
  assert.deepEqual(completeLine('patchbay child '), ['list', 'restart', 'stop', 'log']);
  assert.deepEqual(completeLine('patchbay approvals r'), ['reject', 'revise']);
  assert.deepEqual(completeLine('patchbay token '), ['new']);
  assert.deepEqual(completeLine('patchbay top --sort l'), ['level']);
  for (const [command, foreign] of [['record', '--json'], ['approvals', '--gate']]) { // which their help speaks of
    assert.ok(!completeLine(`patchbay ${command} --`).includes(foreign), command);
  }
});

// A shell would run such an agentId, were it among the words that the shell expands.
test('no shell runs what a hub names its agents', async (t) => {
  const list = [];
  const hub = createServer((socket) => socket.once('data', (asked) => {
    const [, id] = /"id":("[^"]*"|\d+)/.exec(asked);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, result: { agents: list } }).replace('"id":0', `"id":${id}`);
    socket.end(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }));
  hub.listen(0, '127.0.0.1');
  t.after(() => hub.close());
  await once(hub, 'listening');
  const mark = join(work, 'was-run');
  const { port } = hub.address();
  list.push(...['honest', `$(touch ${mark})`, `\`touch ${mark}\``, `;touch ${mark};`].map((agentId) => ({ agentId, state: 'connected' })));
  const file = join(share, 'bash-completion/completions/patchbay');
  const script = { bash: `. '${file}'; COMP_WORDS=(patchbay send ''); COMP_CWORD=2; _patchbay; printf '%s\\n' "\${COMPREPLY[@]}"`,
    fish: `source '${join(share, 'fish/vendor_completions.d/patchbay.fish')}'; complete -C 'patchbay send '` };
  for (const shell of ['bash', 'fish']) {
    const environment = { ...process.env, PATH: `${dirname(PATCHBAY)}:${process.env.PATH}`, PATCHBAY_HUB: `tcp://127.0.0.1:${port}` };
    const ran = spawn(shell, ['-c', script[shell]], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    ran.stdout.on('data', (part) => (text += part));
    await once(ran, 'close');
    assert.equal(text.trim(), 'honest', shell);
    assert.ok(!existsSync(mark), shell);
  }
});

test('zsh and fish read their completions', () => {
  assert.equal(run('zsh', ['-n', join(share, 'zsh/vendor-completions/_patchbay')]).status, 0);
  assert.equal(run('fish', ['-n', join(share, 'fish/vendor_completions.d/patchbay.fish')]).status, 0);
});

test('systemd verifies the units, and its exposure level of the service is 2.0 or less', () => {
  const folder = join(work, 'units');
  cpSync(units, folder, { recursive: true });
  const service = join(folder, 'patchbay.service');
  writeFileSync(service, read(service).replace('/usr/sbin/patchbayd', PATCHBAYD));
  const files = readdirSync(folder).map((name) => join(folder, name));
  const verified = run('systemd-analyze', ['verify', '--recursive-errors=no', ...files],
    { env: { ...process.env, MANPATH: join(share, 'man') } });
  assert.equal(verified.stderr.trim(), '');
  assert.equal(verified.status, 0);
  const judged = run('systemd-analyze', ['security', '--offline=yes', '--threshold=20', service]);
  assert.equal(judged.status, 0, judged.stdout.split('\n').slice(-3).join('\n'));
});
