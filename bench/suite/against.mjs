// Two versions of the hub: each hub of a comparison beside the same one of another build.
import { labelOf } from './report.mjs';

const ALWAYS = ['cpuUs', 'messagesPerSecond', 'latencyUs.p50', 'latencyUs.p99'];

// The comparisons that this one becomes: one for each of its sides that is a hub. There are no bounds; what has no figures
// has no ratio.
export function paired({ sides, aims, ...comparison }, commit, build) {
  return sides.flatMap((side, index) => {
    if (side.server !== 'hub') return [];
    const paths = new Set([...ALWAYS, ...aims.flatMap(({ of, over }) => [of, over]).filter((one) => one?.[0] === index).map(([, path]) => path)]);
    const name = side.label ? `${comparison.name} (${labelOf(side)})` : comparison.name;
    return [{
      ...comparison, name, sides: [{ ...side, label: 'this' }, { ...side, label: commit, build }],
      aims: [...paths].map((path) => ({ of: [0, path], over: [1, path] })),
    }];
  });
}
