// `test` for files whose tests wait most of their time, each with a hub of its own: four of them run at once.
import { describe, test as run } from 'node:test';

const AT_ONCE = 4;
let tests = [];

export function test(...args) {
  if (tests.length === 0)
    setImmediate(() => {
      const all = tests;
      tests = [];
      describe('at once', { concurrency: AT_ONCE }, () => all.forEach((each) => run(...each)));
    });
  tests.push(args);
}
