// The types hold, strictly: on a sample that uses every function, which then does what it says.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Hub, connect, having, within } from './kit.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../../..');
const modules = join(root, 'tests/interop/node_modules');
const tsc = createRequire(join(root, 'tests/interop/package.json')).resolve('typescript/bin/tsc');
const directory = mkdtempSync(join(tmpdir(), 'patchbay-types-'));
after(() => rmSync(directory, { recursive: true }));

// A folder of its own, where the package lies as npm would put it.
mkdirSync(join(directory, 'node_modules/@patchbay'), { recursive: true });
symlinkSync(join(root, 'tools/clients/node'), join(directory, 'node_modules/@patchbay/client'));
mkdirSync(join(directory, 'node_modules/@types'));
symlinkSync(join(modules, '@types/node'), join(directory, 'node_modules/@types/node'));
symlinkSync(join(modules, 'undici-types'), join(directory, 'node_modules/undici-types'));
writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
writeFileSync(join(directory, 'sample.mts'), readFileSync(join(here, 'sample.mts')));

function compile(compilerOptions) {
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({
    files: ['sample.mts', 'node_modules/@patchbay/client/index.d.ts'],
    compilerOptions: { strict: true, exactOptionalPropertyTypes: false, noUnusedLocals: true, noImplicitReturns: true, target: 'es2022', skipLibCheck: false, ...compilerOptions },
  }));
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', directory], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
}

test('tsc --strict holds: a browser, as bundlers resolve modules', () => compile({ module: 'esnext', moduleResolution: 'bundler', types: [], lib: ['es2022', 'dom'], noEmit: true }));

test('tsc --strict holds: Node, as Node resolves modules; and the sample does what it says', () => having(Hub.start(), async (hub) => {
  compile({ module: 'nodenext', types: ['node'], lib: ['es2022'] });
  const { run } = await import(pathToFileURL(join(directory, 'sample.mjs')));
  assert.deepEqual(await within(run(hub.uri('tcp')), 'the sample'),
    ['test-agent', 'of 2', 'passed 2', 'HubError -31000 no x', 'delivered 1', 'build-done 7 0', 'dropped 0', 'false', 'ConnectionLost -32050 0']);
}));

test('every function has a type, and every type a function', () => having(Hub.start(), async (hub) => {
  const declared = readFileSync(join(root, 'tools/clients/node/index.d.ts'), 'utf8'), one = await connect(hub.uri('tcp'));
  const inside = /export interface Hub \{\n(.*?)\n\}/s.exec(declared)[1];
  const names = [...inside.matchAll(/^ {2}(?:readonly )?(\w+)/gm)].map((found) => found[1]);
  assert.deepEqual(names.sort(), Object.getOwnPropertyNames(Object.getPrototypeOf(one)).filter((name) => name !== 'constructor').sort());
  await one.close();
}));
