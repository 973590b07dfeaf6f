// Where the points of a scatter plot lie, and which of them is pointed at.

export interface Extent {
  low: number;
  high: number;
}

const ALIKE = 1e-6; // of their size: what differs by less differs by how sums of float32 were rounded

/** From the smallest to the largest, with a little room; one value alone stands in the middle. */
export function extentOf(values: readonly number[], room = 0.06): Extent {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return { low: 0, high: 1 };
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  const wide = high - low > ALIKE * size ? high - low : size || 1;
  return { low: low - room * wide, high: high + room * wide };
}

/** Round numbers inside an extent, at most about so many. */
export function roundTicks({ low, high }: Extent, count: number): number[] {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5].find((one) => one * unit >= raw * (1 - 1e-12)) ?? 10);
  const ticks: number[] = [];
  for (
    let index = Math.ceil(low / step - 1e-9);
    index * step <= high * (1 + 1e-12) + 1e-300 && ticks.length < 50;
    index++
  ) {
    ticks.push(Number((index * step).toPrecision(12)) + 0); // never -0
  }
  return ticks;
}

export const placeIn = (value: number, { low, high }: Extent, from: number, to: number): number =>
  from + ((value - low) / (high - low || 1)) * (to - from);

/** The nearest point within reach; null where there is none. */
export function nearestPoint(
  points: readonly { x: number; y: number }[],
  x: number,
  y: number,
  reach: number,
): number | null {
  let best: number | null = null;
  let closest = reach * reach;
  points.forEach((point, index) => {
    const far = (point.x - x) ** 2 + (point.y - y) ** 2;
    if (far <= closest) [best, closest] = [index, far];
  });
  return best;
}

/** Points drawn over each other are read from the keyboard in the order of x, then y. */
export function readingOrder(points: readonly { x: number; y: number }[]): number[] {
  return points
    .map((_, index) => index)
    .sort((a, b) => points[a].x - points[b].x || points[a].y - points[b].y);
}
