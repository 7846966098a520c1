// Figures of several runs in one: median, least, most.

// `latencyUs.p99` of {latencyUs: {p99: 5}}: 5. A name may itself hold a dot (`p99.9`).
export function valueAt(figures, path) {
  const dot = path.indexOf('.');
  if (dot < 0) return figures?.[path] ?? null;
  return figures?.[path.slice(0, dot)]?.[path.slice(dot + 1)] ?? null;
}

export function spread(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1), count: sorted.length };
}

export const spreadOf = (runs, path) => spread(runs.map((run) => valueAt(run, path)));

// An aim of a comparison whose runs are `sides[side][round]`: {of, over, ratio, met}. The ratio is taken of each pair
// of runs of one round; `met` is null where there is no bound or no ratio.
export function judge(aim, sides) {
  const met = (value) => (aim.atMost === undefined || !value ? null : value.median <= aim.atMost);
  const [side, path] = aim.of;
  const of = spreadOf(sides[side], path);
  if (!aim.over) return { of, over: null, ratio: null, met: met(of) };
  const [otherSide, otherPath] = aim.over;
  const pairs = sides[side].map((run, round) => {
    const [one, other] = [valueAt(run, path), valueAt(sides[otherSide][round], otherPath)];
    return one === null || other === null ? null : one / other; // null / 2 would be 0
  });
  const ratio = spread(pairs);
  return { of, over: spreadOf(sides[otherSide], otherPath), ratio, met: met(ratio) };
}
