// Where the parts of a map lie: words and marginals to the left of the tiles and above them.

import { CLOSEST, type MapSize, type MapView, type Pane } from '../../maths/tiles';
import { counted } from './place';

const LETTER = 8; // pixels of a digit at most, in the letters of labels

export interface StageLayout {
  /** A small screen. */
  narrow: boolean;
  /** Pixels before the pane of tiles. */
  left: number;
  top: number;
  /** How far the words of the last columns reach beyond it. */
  over: number;
  /** Of a marginal. */
  strip: number;
  pane: Pane;
}

/** The layout for a width and the height of the window. */
export function layoutOf(width: number, tall: number, size: MapSize): StageLayout {
  const narrow = width < 560;
  const [top, over, strip] = narrow ? [78, 12, 18] : [104, 28, 30];
  const number = counted(size.rows).length * LETTER + strip + 12; // the widest that stands beside a row
  const left = narrow ? Math.max(80, number) : 132;
  const wide = Math.max(120, width - left - over);
  const most = Math.min(Math.max(240, tall - top), CLOSEST * size.rows);
  const high = Math.max(160, Math.min(wide * (size.rows / size.columns), most));
  return {
    narrow,
    left,
    top,
    over,
    strip,
    pane: { width: wide, height: Math.round(Math.min(high, wide * 1.25)) },
  };
}

/** Where there are weights: a small map does not fill its pane. */
export function groundOf(view: MapView, size: MapSize, pane: Pane): Pane {
  return {
    width: Math.min(pane.width, (size.columns - view.column) * view.zoom),
    height: Math.min(pane.height, (size.rows - view.row) * view.zoom),
  };
}

const [MINI, NARROW] = [108, 64]; // pixels of the longer side of the small map

export function miniSizeOf({ rows, columns }: MapSize, narrow: boolean): Pane {
  const side = narrow ? NARROW : MINI;
  const share = rows / columns;
  return {
    width: Math.round(share > 1 ? side / share : side),
    height: Math.round(share > 1 ? side : side * share),
  };
}
