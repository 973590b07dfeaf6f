// The marginals of a map: beside each row the entropy of its attention, above each column the attention it received.

import type { Numbers } from '../../contract/types';
import { colourAt, shareOf } from '../../maths/colour';
import { seen, type MapSize } from '../../maths/tiles';
import type { Range, Where } from '../heads/source';
import type { Cover } from './cover';
import type { MapPlace } from './place';

/** How many positions a bin stands for, and of which part of the map; all of it where nothing is said. */
export interface MarginalsMeta {
  row_cell: number;
  column_cell: number;
  rows?: Range;
  columns?: Range;
}

export const BINS = 4096; // of one answer
const STEP = 1024; // so that a small move asks for nothing new

/** The part whose rows and columns are to have a bar each: around what is looked at closely. Null: all of it will do. */
export function closePart(
  at: MapPlace | null,
  { rows, columns }: MapSize,
): Required<Pick<Where, 'rows' | 'columns'>> | null {
  if (!at || at.zoom < 1 || Math.max(rows, columns) <= BINS) return null;
  const around = (middle: number, count: number): Range => {
    const first = Math.min(
      Math.max(0, Math.floor(middle / STEP) * STEP - 1.5 * STEP),
      Math.max(0, count - 1),
    );
    return [first, Math.min(count, first + BINS)];
  };
  return { rows: around(at.row, rows), columns: around(at.column, columns) };
}

export interface Bar {
  /** Pixels along the axis, and how long it is of the longest. */
  from: number;
  to: number;
  share: number;
}

/** The bars along one axis that are seen: one for each bin of `cell` positions, the first of them at `start`, cut to where the pane lies. */
export function barsAlong(
  values: Float32Array,
  [start, cell]: readonly [number, number],
  positions: readonly [number, number],
  pane: readonly [number, number],
  toPixel: (position: number) => number,
): Bar[] {
  const highest = values.reduce((best, value) => (value > best ? value : best), 0) || 1;
  const bars: Bar[] = [];
  const first = Math.max(0, Math.floor((positions[0] - start) / cell));
  for (let bin = first; start + bin * cell < positions[1] && bin < values.length; bin++) {
    const share = shareOf(values[bin], highest, 'weights');
    if (!(share > 0)) continue;
    const from = Math.max(pane[0], toPixel(start + bin * cell));
    const to = Math.min(pane[1], toPixel(start + (bin + 1) * cell));
    bars.push({ from, to, share });
  }
  return bars;
}

/** How thick a bar is drawn: with a gap to the next where there is room, and never too thin to be seen. */
const thickness = ({ from, to }: Bar) => Math.max(0.6, to - from - (to - from > 5 ? 1 : 0));

export function paintMarginals(brush: CanvasRenderingContext2D, cover: Cover, marginals: Numbers): void {
  const { view, size, table, toX, toY } = cover;
  const { left, top, strip, pane } = cover.layout;
  const bins = marginals.shape[1];
  const meta = marginals.meta as unknown as MarginalsMeta;
  const area = seen(view, size, pane);
  const [entropy, received] = [marginals.data.subarray(0, bins), marginals.data.subarray(bins)];
  const colour = (share: number) => `rgb(${colourAt(table, 0.25 + 0.6 * share).join(' ')})`;
  const length = (share: number) => (strip - 6) * share;
  for (const bar of barsAlong(
    entropy,
    [meta.rows?.[0] ?? 0, meta.row_cell],
    area.rows,
    [top, top + pane.height],
    toY,
  )) {
    brush.fillStyle = colour(bar.share);
    brush.fillRect(left - 4 - length(bar.share), bar.from, length(bar.share), thickness(bar));
  }
  for (const bar of barsAlong(
    received,
    [meta.columns?.[0] ?? 0, meta.column_cell],
    area.columns,
    [left, left + pane.width],
    toX,
  )) {
    brush.fillStyle = colour(bar.share);
    brush.fillRect(bar.from, top - 4 - length(bar.share), thickness(bar), length(bar.share));
  }
}
