// What lies over the tiles: words and marginals around them, and on them the matches, the cross hair, the cell that is picked.

import type { Numbers } from '../../contract/types';
import type { MapSize, MapView } from '../../maths/tiles';
import { scheme } from '../../primitives/scheme.svelte';
import { paintLabels } from './labels';
import type { StageLayout } from './layout';
import { paintMarginals } from './marginals';
import type { MapCell } from './place';

export type Brush = CanvasRenderingContext2D;

/** What is to be drawn. */
export interface CoverScene {
  layout: StageLayout;
  view: MapView;
  size: MapSize;
  marginals: Numbers | null;
  hits: { rows: readonly number[]; columns: readonly number[] };
  pointed: MapCell | null;
  selected: MapCell | null;
  table: Uint8ClampedArray;
  rowWords: (row: number, count: number) => string;
  columnWords: (column: number, count: number) => string;
}

/** The same, and where and in which colours. */
export interface Cover extends CoverScene {
  toX: (column: number) => number;
  toY: (row: number) => number;
  colours: Record<'ink' | 'soft' | 'focus' | 'card' | 'chip', string>;
}

export function paintCover(canvas: HTMLCanvasElement, scene: CoverScene): void {
  const { layout, view, marginals, pointed, selected } = scene;
  const { left, top, over, pane } = layout;
  const sharp = window.devicePixelRatio || 1;
  canvas.width = Math.round((left + pane.width + over) * sharp);
  canvas.height = Math.round((top + pane.height) * sharp);
  const brush = canvas.getContext('2d');
  if (!brush) return;
  brush.setTransform(sharp, 0, 0, sharp, 0, 0);
  const cover: Cover = {
    ...scene,
    toX: (column) => left + (column - view.column) * view.zoom,
    toY: (row) => top + (row - view.row) * view.zoom,
    colours: coloursInForce(),
  };
  if (marginals) paintMarginals(brush, cover, marginals);
  paintLabels(brush, cover);
  brush.save();
  brush.beginPath();
  brush.rect(left, top, pane.width, pane.height);
  brush.clip();
  paintHits(brush, cover);
  if (pointed) paintCross(brush, cover, pointed);
  if (selected) paintFrame(brush, cover, selected);
  brush.restore();
}

function coloursInForce(): Cover['colours'] {
  const [ink, soft, focus, card, chip] = ['--ink', '--soft', '--focus', '--card', '--chip'].map((name) =>
    scheme.colour(name),
  );
  return { ink, soft, focus, card, chip };
}

function paintHits(brush: Brush, { hits, view, layout, toX, toY, colours }: Cover): void {
  const { left, top, pane } = layout;
  const thick = Math.max(1.5, view.zoom);
  brush.fillStyle = colours.focus;
  brush.globalAlpha = 0.18;
  for (const row of hits.rows) brush.fillRect(left, toY(row), pane.width, thick);
  for (const column of hits.columns) brush.fillRect(toX(column), top, thick, pane.height);
  brush.globalAlpha = 1;
}

function paintCross(brush: Brush, { view, layout, toX, toY, colours }: Cover, place: MapCell): void {
  const { left, top, pane } = layout;
  const [x, y] = [toX(place.column) + view.zoom / 2, toY(place.row) + view.zoom / 2];
  brush.strokeStyle = colours.soft;
  brush.globalAlpha = 0.5;
  brush.lineWidth = 1;
  brush.beginPath();
  brush.moveTo(left, y);
  brush.lineTo(left + pane.width, y);
  brush.moveTo(x, top);
  brush.lineTo(x, top + pane.height);
  brush.stroke();
  brush.globalAlpha = 1;
}

/** Around a cell, and never too small to be seen. */
function paintFrame(brush: Brush, { view, toX, toY, colours }: Cover, { row, column }: MapCell): void {
  const side = Math.max(view.zoom, 9);
  const [x, y] = [toX(column) + (view.zoom - side) / 2, toY(row) + (view.zoom - side) / 2];
  for (const [colour, width] of [
    [colours.card, 4],
    [colours.ink, 2],
  ] as const) {
    brush.strokeStyle = colour;
    brush.lineWidth = width;
    brush.strokeRect(x, y, side, side);
  }
}
