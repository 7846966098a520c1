// Runs tests that wait most of their time, each with a hub of its own, four at once. A file takes `test` from here for single
// tests, and calls `fourAtOnce` before its first scenario for all of its scenarios.
import { describe, test as run } from 'node:test';

const AT_ONCE = 4;
let begins = [];
let scenariosWait = false;

// Calls `begin` later, together with all others that this file gives before its end.
function together(begin) {
  if (begins.length === 0)
    setImmediate(() => {
      const all = begins;
      begins = [];
      describe('at once', { concurrency: AT_ONCE }, () => all.forEach((each) => each()));
    });
  begins.push(begin);
}

export function test(...args) {
  together(() => run(...args));
}

export function fourAtOnce() {
  scenariosWait = true;
}

// Defines the tests of one scenario: each is the arguments of `test`. The tests of a scenario may share files, so one
// runs after another.
export function scenarioTests(name, tests) {
  const define = () => tests.forEach((each) => run(...each));
  if (scenariosWait) together(() => describe(name, { concurrency: 1 }, define));
  else define();
}
