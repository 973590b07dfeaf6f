// The marginals of a map: beside each row the entropy of its attention, above each column the attention it received.

import type { Numbers } from '../../contract/types';
import { colourAt, shareOf } from '../../maths/colour';
import { seen } from '../../maths/tiles';
import type { Cover } from './cover';

export interface Bar {
  /** Pixels along the axis, and how long it is of the longest. */
  from: number;
  to: number;
  share: number;
}

/** The bars along one axis that are seen: one for each bin of `cell` positions, cut to where the pane lies. */
export function barsAlong(
  values: Float32Array,
  cell: number,
  positions: readonly [number, number],
  pane: readonly [number, number],
  toPixel: (position: number) => number,
): Bar[] {
  const highest = values.reduce((best, value) => (value > best ? value : best), 0) || 1;
  const bars: Bar[] = [];
  for (let bin = Math.floor(positions[0] / cell); bin * cell < positions[1] && bin < values.length; bin++) {
    const share = shareOf(values[bin], highest, 'weights');
    if (!(share > 0)) continue;
    const from = Math.max(pane[0], toPixel(bin * cell));
    const to = Math.min(pane[1], toPixel((bin + 1) * cell));
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
  const meta = marginals.meta as { row_cell: number; column_cell: number };
  const area = seen(view, size, pane);
  const [entropy, received] = [marginals.data.subarray(0, bins), marginals.data.subarray(bins)];
  const colour = (share: number) => `rgb(${colourAt(table, 0.25 + 0.6 * share).join(' ')})`;
  const length = (share: number) => (strip - 6) * share;
  for (const bar of barsAlong(entropy, meta.row_cell, area.rows, [top, top + pane.height], toY)) {
    brush.fillStyle = colour(bar.share);
    brush.fillRect(left - 4 - length(bar.share), bar.from, length(bar.share), thickness(bar));
  }
  for (const bar of barsAlong(received, meta.column_cell, area.columns, [left, left + pane.width], toX)) {
    brush.fillStyle = colour(bar.share);
    brush.fillRect(bar.from, top - 4 - length(bar.share), thickness(bar), length(bar.share));
  }
}
