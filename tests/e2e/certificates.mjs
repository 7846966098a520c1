// Keys and certificates for one run of tests: an authority, what it has signed, and a stranger's. Made by openssl, gone
// with the process.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-tls-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

export const file = (name) => join(directory, name);

function openssl(...args) {
  const { status, stderr } = spawnSync('openssl', args, { cwd: directory, encoding: 'utf8' });
  assert.equal(status, 0, `openssl ${args.join(' ')}: ${stderr}`);
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

// An authority: NAME.pem and NAME.key.
export function authority(name) {
  openssl('req', '-x509', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`, '-days', '2');
}

// Returns a certificate that the authority `by` signs; `names` as in subjectAltName, or undefined for none.
export function certificate(name, by = 'authority', names = undefined, days = 2, key = KEY, more = 'basicConstraints=CA:FALSE') {
  openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(file(`${name}.ext`), `${names ? `subjectAltName=${names}\n` : ''}${more}\n`);
  openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial', '-days', `${days}`,
    '-extfile', `${name}.ext`, '-out', `${name}.pem`);
}

// The same, good for so many seconds from now on; when it ends, as Date.now() tells it.
export function certificateFor(seconds, name, by = 'authority') {
  const end = Math.ceil(Date.now() / 1000) + seconds;
  const stamp = `${new Date(end * 1000).toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  openssl('req', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(file('ca.txt'), '');
  writeFileSync(file('ca.cnf'), `[ca]\ndefault_ca = one\n[one]\ndatabase = ${file('ca.txt')}\nnew_certs_dir = ${directory}\n`
    + 'rand_serial = yes\ndefault_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n');
  openssl('ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', `${by}.pem`, '-keyfile', `${by}.key`, '-in', `${name}.csr`,
    '-enddate', stamp, '-out', `${name}.pem`);
  return end * 1000;
}

authority('authority');
certificate('hub', 'authority', 'DNS:localhost,IP:127.0.0.1');

// The authority that its clients trust.
export const trusted = readFileSync(file('authority.pem'));
// Options of a hub that has them.
export const serving = ['--tls-certificate', file('hub.pem'), '--tls-key', file('hub.key')];
