// A headless Chromium, driven through its DevTools protocol: what a test of a page needs, and no more.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';

const PATIENCE_MS = 20000;
const program = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export const chromiumIsThere = Boolean(program);

export class Chromium {
  #asked = new Map();
  #id = 0;
  #listeners = [];

  static async start() {
    const browser = new Chromium();
    browser.directory = mkdtempSync(join(tmpdir(), 'patchbay-chromium-'));
    browser.process = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--remote-debugging-port=0', `--user-data-dir=${browser.directory}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
    browser.exit = once(browser.process, 'exit');
    const address = await new Promise((resolve, reject) => {
      let said = '';
      const timer = setTimeout(() => reject(new Error(`chromium did not start: ${said}`)), PATIENCE_MS);
      browser.process.stderr.setEncoding('utf8').on('data', (text) => {
        const found = /DevTools listening on (\S+)/.exec(said += text);
        if (found) {
          clearTimeout(timer);
          resolve(found[1]);
        }
      });
    });
    browser.socket = new WebSocket(address, { perMessageDeflate: false, maxPayload: 1 << 28 });
    await once(browser.socket, 'open');
    browser.socket.on('message', (text) => browser.#take(JSON.parse(text)));
    return browser;
  }

  #take({ id, result, error, method, params, sessionId }) {
    if (!id) {
      for (const listener of this.#listeners) listener(method, params, sessionId);
      return;
    }
    const { resolve, reject } = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#id;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  // Opens a page of this size. Whatever it says to its console as an error, and what it throws, is in `errors`.
  async open(url, { width = 1280, height = 900, mobile = false, dark = false } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.#listeners.push((method, params, from) => from === sessionId && page.heard(method, params));
    await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile });
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
    for (const domain of ['Page', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
    const loaded = new Promise((resolve) => { page.onLoad = resolve; });
    await page.send('Page.navigate', { url });
    await loaded;
    return page;
  }

  async stop() {
    this.socket.close();
    this.process.kill('SIGTERM');
    await this.exit;
    // Helpers of the browser may write to its folder for a moment after the browser has ended. The retries of rmSync itself
    // don't look for new files.
    for (let left = 100; ; left--) {
      try {
        rmSync(this.directory, { recursive: true, force: true });
        return;
      } catch (error) {
        if (error.code !== 'ENOTEMPTY' || left === 0) throw error;
        await pause(100);
      }
    }
  }
}

class Page {
  errors = [];

  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  heard(method, params) {
    if (method === 'Page.loadEventFired') this.onLoad();
    if (method === 'Runtime.exceptionThrown') this.errors.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Runtime.consoleAPICalled' && params.type === 'error') this.errors.push(JSON.stringify(params.args));
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.errors.push(`${params.entry.text} ${params.entry.url ?? ''}`);
  }

  // The value of an expression in the page.
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // Waits until the expression is true.
  async until(expression, what = expression) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const value = await this.value(expression);
      if (value) return value;
      if (Date.now() > end) throw new Error(`waited in vain for ${what}; the page says: ${await this.value('document.body.innerText')}`);
      await this.value('new Promise((resolve) => setTimeout(resolve, 50))');
    }
  }

  close() {
    return this.browser.send('Target.closeTarget', { targetId: this.target });
  }

  async key(key, code = key) {
    const text = key === 'Enter' ? '\r' : key.length === 1 ? key : undefined;
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, code, text });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, code });
  }

  // A picture of all of it, as PNG.
  async picture() {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true });
    return Buffer.from(data, 'base64');
  }
}
