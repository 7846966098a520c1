// The pages: each command and program in them is played, or says that it isn't. Links lead somewhere, and options and
// files that the pages name are there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { blocksOf, faultsOf, PagePlayer } from './page.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

function filesBelow(folder, ending) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(path, ending);
    return entry.name.endsWith(ending) ? [path] : [];
  });
}

const pagesBelow = (folder) => filesBelow(folder, '.md');
const sourcesBelow = (folder) => filesBelow(folder, '.c');

const PAGES = ['README.md', ...['.github', 'bench', 'core', 'io', 'router', 'tests', 'tools'].filter((folder) => existsSync(join(ROOT, folder))).flatMap(pagesBelow)];
// The pages whose blocks are marked.
const PLAYED = PAGES.filter((page) => page === 'README.md' || page.startsWith('router/'));
const read = (page) => readFileSync(join(ROOT, page), 'utf8');

const anchorsOf = (page) => [...page.matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
  text.toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-'));

for (const page of PAGES) {
  test(`${page}: its links lead somewhere`, () => {
    const prose = read(page).replace(/^```[\s\S]*?^```$/gm, '');
    for (const [link, path, anchor] of prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)) {
      const target = path ? join(dirname(page), path) : page;
      assert.ok(existsSync(join(ROOT, target)), `${link} leads nowhere`);
      if (anchor) assert.ok(anchorsOf(read(target)).includes(anchor), `${link}: there is no such heading`);
    }
  });
}

for (const page of PLAYED) {
  test(`${page}: each program is played or says that it isn't`, () => assert.deepEqual(faultsOf(read(page)), []));
  if (blocksOf(read(page)).some((block) => block.words.includes('run'))) test(`${page}: what it shows is so`, () => new PagePlayer().play(read(page)));
}

test('the page on profiling names functions that there are', () => {
  const section = read('router/docs/profiling.md').split(/^## /m).find((one) => one.startsWith('Where the CPU time goes'));
  const named = [...section.matchAll(/`([a-z0-9]+(?:_[a-z0-9]+)+)`/g)].map(([, name]) => name);
  const counters = read('router/engine/shard/stats.h');
  const sources = ['core', 'io', 'router'].flatMap(sourcesBelow).map(read).join('\n');
  const kernels = /^(tcp_|io_uring_)/;
  const missing = named.filter((name) => !kernels.test(name) && !counters.includes(`"${name}"`)
    && !new RegExp(`^[a-z].*\\b${name}\\([^;]*\\{$`, 'm').test(sources));
  assert.ok(named.length > 10);
  assert.deepEqual(missing, []);
});

test('README.md lists each command of the client', () => {
  const help = execFileSync(process.env.PATCHBAY, ['--help'], { encoding: 'utf8' });
  const commands = [...help.matchAll(/^ {2}([a-z]+) +[a-z]/gm)].map(([, name]) => name);
  const listed = /Commands of the client: ([^.]*)\./.exec(read('README.md').replaceAll('\n', ' '))[1];
  assert.ok(commands.length > 10);
  assert.deepEqual([...listed.matchAll(/`([a-z]+)`/g)].map(([, name]) => name), commands);
});

test('the page of errors has every code of the hub, under its name', () => {
  const rows = [...read('core/base/errors.h').matchAll(/X\(ERROR_\w+, (-\d+), "([^"]+)"\)/g)].map(([, code, text]) => `${code} ${text}`);
  const headings = [...read('router/docs/errors.md').matchAll(/^### (-\d+ .*)$/gm)].map(([, text]) => text);
  assert.ok(rows.length >= 20);
  assert.deepEqual(headings.sort(), rows.sort());
});

test('a page that is wrong fails', async () => {
  const fence = '```';
  const block = (info, text) => `${fence}${info}\n${text}\n${fence}\n`;
  assert.equal(faultsOf(block('sh', 'true')).length, 1);
  assert.equal(faultsOf(block('sh run not-run', 'true')).length, 1);
  assert.equal(faultsOf(block('text output', 'x')).length, 1);
  assert.equal(faultsOf('text\n\n    $ true\n').length, 1);
  assert.equal(faultsOf(block('sh run', 'echo x') + block('text output', 'x')).length, 0);
  assert.throws(() => blocksOf(`${fence}sh\n`), /no end/);
  const plays = (page) => new PagePlayer().play(page);
  await plays(block('sh run', 'echo one two three') + block('text output', 'one … three'));
  await assert.rejects(plays(block('sh run', 'echo one') + block('text output', 'two')), /what it prints/);
  await assert.rejects(plays(block('sh run', 'false')), /said/);
  await assert.rejects(plays(block('sh run status=1', 'true')), /said/);
  await assert.rejects(plays(block('sh run background', 'true')), /before it was ready/);
  await assert.rejects(plays(block('python run', 'raise SystemExit(3)')), /said/);
  await plays(block('sh run background', 'patchbayd') + block('sh run', 'patchbay agents'));
});
