// The pauses between attempts: 0.1 s doubling to 5 s, each less up to a quarter by chance, so that the clients of a hub
// that comes back don't all come at once.
const FIRST_MS = 100, LAST_MS = 5000, CHANCE = 0.25;

export class Pauses {
  #next = 0;

  // `first` is the length of the first pause: none, where the first attempt is made at once.
  constructor(first = FIRST_MS) {
    this.first = first;
    this.reset();
  }

  reset() {
    this.#next = this.first;
  }

  // The next pause in milliseconds.
  next() {
    const pause = this.#next;
    this.#next = pause === 0 ? FIRST_MS : Math.min(2 * pause, LAST_MS);
    return pause * (1 - CHANCE * Math.random());
  }
}
