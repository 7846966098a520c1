// The list of held messages, from which an admin decides. The focus, and a word that somebody is typing, stay where they are
// while the list changes around them.
import * as figures from './status-figures.js';
import { make, say, visible } from './status-view.js';

const DECISIONS = [['approved', 'Approve'], ['needs_revision', 'Needs revision'], ['rejected', 'Reject']];

export class Approvals {
  #shown = new Map(); // by checkpoint
  #may = true;

  constructor(section, link) {
    this.section = section;
    this.link = link;
    this.list = section.querySelector('ul');
    this.said = section.querySelector('[role=status]');
  }

  // Another connection may be another user's.
  connected() {
    this.#may = true;
  }

  // Asks only where something is held, or was.
  async ask(stats) {
    if (!this.#may || (!stats.held && !this.#shown.size)) return this.#show([]);
    try {
      const { result } = await this.link.ask('hub/approvals', {});
      this.#show(result.approvals);
    } catch (error) {
      this.#may = false;
      this.#show([]);
      say(this.said, `This page may not see what is held: ${error.message}.`);
      this.section.hidden = false;
    }
  }

  #show(approvals) {
    const there = new Set(approvals.map(({ checkpoint }) => checkpoint));
    for (const [checkpoint, { item }] of this.#shown) {
      if (there.has(checkpoint) || item.contains(document.activeElement) && document.activeElement.matches('input') && document.activeElement.value) continue;
      const next = item.contains(document.activeElement) && (item.nextElementSibling ?? item.previousElementSibling);
      item.remove();
      this.#shown.delete(checkpoint);
      next?.querySelector('button')?.focus();
    }
    for (const approval of approvals) {
      if (!this.#shown.has(approval.checkpoint)) this.#add(approval);
      const { left } = this.#shown.get(approval.checkpoint);
      say(left, `${figures.duration(Math.max(0, approval.until - Date.now()))} left`);
    }
    if (this.#may) this.section.hidden = !this.#shown.size && !this.said.textContent;
  }

  #add({ checkpoint, artifact }) {
    const target = artifact.targetAgent ?? 'whoever offers it', source = artifact.sourceAgent ?? artifact.user ?? 'a connection without a name';
    const title = visible(`${artifact.method ?? 'a method'} for ${target}`);
    const feedback = make('input', { type: 'text', maxlength: '1000', autocomplete: 'off', 'aria-label': `feedback on ${title}`, placeholder: 'feedback' });
    const body = make('pre', { text: visible(artifact.preview), tabindex: '0', 'aria-label': `body of ${title}` });
    const left = make('span');
    const whole = make('button', { type: 'button', text: 'Show all', hidden: artifact.bytes <= new Blob([artifact.preview]).size });
    whole.addEventListener('click', () => this.#showWhole(checkpoint, body, whole));
    const item = make('li', { 'data-checkpoint': checkpoint },
      make('h3', { text: title }),
      make('p', { class: 'more' }, make('span', { text: visible(`from ${source}${artifact.user ? `, user ${artifact.user}` : ''}, ${artifact.governanceLevel}, ${figures.bytes(artifact.bytes)}, `) }), left),
      body,
      make('p', { class: 'decide' }, ...DECISIONS.map(([decision, word]) => {
        const button = make('button', { type: 'button', text: word, 'data-decision': decision, 'aria-label': `${word}: ${title}` });
        button.addEventListener('click', () => this.#decide(checkpoint, decision, feedback.value, title));
        return button;
      }), feedback, whole));
    this.list.append(item);
    this.#shown.set(checkpoint, { item, left });
  }

  async #showWhole(checkpoint, body, button) {
    try {
      const { result } = await this.link.ask('hub/approvals', { checkpoint });
      if (!result.approvals.length) return;
      body.textContent = visible(result.approvals[0].body);
      body.focus();
      button.hidden = true;
    } catch (error) {
      say(this.said, `All of it can't be shown: ${error.message}.`);
    }
  }

  async #decide(checkpoint, decision, feedback, title) {
    const word = { approved: 'Approved', rejected: 'Rejected', needs_revision: 'Sent back for revision' }[decision];
    try {
      const { result } = await this.link.ask('governance/approval',
        { checkpoint, artifact: {}, approver: 'status page', decision, ...(feedback && { feedback }) });
      say(this.said, result.applied ? `${word}: ${title}.` : `Too late, it isn't held any more: ${title}.`);
    } catch (error) {
      say(this.said, `Not decided: ${error.message}.`);
    }
    const { item } = this.#shown.get(checkpoint) ?? {};
    const next = item?.nextElementSibling ?? item?.previousElementSibling;
    item?.remove();
    this.#shown.delete(checkpoint);
    (next?.querySelector('button') ?? this.section).focus();
  }
}
