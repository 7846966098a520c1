// The newer Node that some packages need, as npm brings it for this processor.
import { createRequire } from 'node:module';
import process from 'node:process';

export const NODE = (() => {
  try {
    return createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    return undefined; // npm has none for this processor
  }
})();
