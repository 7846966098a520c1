// The requests that have been under way for longest, and the last ones that ended with an error. The first cost the hub a
// question a second. For the second the hub notes each request while somebody watches, and has a line in its journal.
import * as figures from './status-figures.js';
import { list, say, visible } from './status-view.js';

const UNDER_WAY_SHOWN = 10, ERRORS_SHOWN = 20, ERRORS_A_SECOND = 50;

export class Requests {
  #may = true;
  #wanted = false; // somebody watches
  #tap = 0; // its number at this connection; 0: there is none
  #isFollowing = false;
  #errors = [];
  #missed = 0;

  constructor(section, link) {
    this.section = section;
    this.link = link;
    this.button = section.querySelector('button');
    this.said = section.querySelector('[role=status]');
    this.button.addEventListener('click', () => this.#toggle());
    // Nobody looks at a page that is hidden.
    document.addEventListener('visibilitychange', () => this.#follow());
    this.#show();
  }

  // Another connection may be another user's, and has no tap.
  connected() {
    this.#may = true;
    this.#tap = 0;
    this.#follow();
  }

  async ask() {
    if (!this.#may) return;
    try {
      const { result } = await this.link.ask('hub/pending', { limit: UNDER_WAY_SHOWN });
      this.section.hidden = false;
      const number = true;
      list(this.section.querySelector('.under-way'), [{ title: 'method', name: true }, { title: 'from', name: true }, { title: 'to', name: true },
        { title: 'for', number }, { title: 'left', number, wide: true }, { title: 'state', wide: true }],
      result.pending.map((row) => [row.method, row.source, row.target, figures.duration(row.ageMs),
        row.leftMs === undefined ? '–' : figures.duration(row.leftMs), row.state].map((text) => visible(text ?? '–'))),
      'No request is under way.');
      say(this.section.querySelector('.more'), result.total > result.pending.length ? `${figures.count(result.total - result.pending.length)} more` : '');
    } catch (error) {
      if (!this.link.open) throw error;
      this.#may = false;
      this.section.hidden = true;
    }
  }

  // A notification of the hub's.
  heard({ method, params }) {
    if (method !== 'hub/tapped' || params.tap !== this.#tap) return;
    this.#errors = [...params.entries.filter(({ kind }) => kind === 'request').reverse(), ...this.#errors].slice(0, ERRORS_SHOWN);
    this.#missed += params.missed;
    this.#show();
  }

  #toggle() {
    this.#wanted = !this.#wanted;
    this.button.setAttribute('aria-pressed', String(this.#wanted));
    say(this.said, '');
    this.#follow();
  }

  // Begins the tap or ends it, until it is as it is wanted.
  async #follow() {
    const wants = () => this.#wanted && !document.hidden;
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    while (this.link.open && wants() !== this.#tap > 0) {
      try {
        if (wants()) await this.#begin();
        else await this.#end();
      } catch (error) {
        if (!this.link.open) break;
        this.#wanted = false;
        this.button.setAttribute('aria-pressed', 'false');
        say(this.said, `Errors can't be watched: ${error.message}.`);
      }
    }
    this.#isFollowing = false;
    this.#show();
  }

  async #begin() {
    this.#tap = (await this.link.ask('hub/tap', { errors: true, rate: ERRORS_A_SECOND })).result.tap;
  }

  async #end() {
    const tap = this.#tap;
    this.#tap = 0;
    await this.link.ask('hub/untap', { tap });
  }

  #show() {
    const none = this.#tap ? 'No request has failed since.' : 'Nobody watches.';
    list(this.section.querySelector('.errors'), [{ title: 'when' }, { title: 'code', number: true }, { title: 'ended', wide: true }, { title: 'method', name: true },
      { title: 'from', name: true, wide: true }, { title: 'to', name: true }, { title: 'user', wide: true }],
    this.#errors.map((entry) => [new Date(entry.time).toLocaleTimeString(), entry.code, entry.outcome, entry.method, entry.source, entry.target, entry.user]
      .map((text) => visible(String(text ?? '–')))), none);
    say(this.section.querySelector('.missed'), this.#missed ? `${figures.count(this.#missed)} were too many to be shown.` : '');
  }
}
