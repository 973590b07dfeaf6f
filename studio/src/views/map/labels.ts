// The words beside the rows and above the columns of a map, at every zoom as many as there is room for.

import { labelsAlong } from '../../maths/tiles';
import { FONT } from '../../primitives/svg';
import type { Brush, Cover } from './cover';
import { counted } from './place';

const EVERY = 11; // pixels of a token from which on each of them is named

export function paintLabels(brush: Brush, cover: Cover): void {
  const { view, size, layout, pointed, selected, toX, toY } = cover;
  const { left, top, strip, pane } = layout;
  const every = view.zoom >= EVERY;
  const words = every ? 1 : layout.narrow ? 0 : 3;
  const label = (place: number, text: string) => (every ? text : `${counted(place)} ${text}`.trimEnd());
  const middle = every ? view.zoom / 2 : 0; // of a token that has room of its own
  const right = left - strip - 6;
  brush.textBaseline = 'middle';
  brush.textAlign = 'right';
  for (const row of labelsAlong(view.row, view.zoom, pane.height, size.rows, 15)) {
    const y = toY(row) + middle;
    if (y < top || y > top + pane.height) continue;
    const own = pointed?.row === row || selected?.row === row;
    write(brush, cover, label(row, cover.rowWords(row, words)), right, y, right - 4, own);
  }
  for (const column of labelsAlong(view.column, view.zoom, pane.width, size.columns, 17)) {
    const x = toX(column) + middle;
    if (x < left || x > left + pane.width) continue;
    const own = pointed?.column === column || selected?.column === column;
    brush.save();
    brush.textAlign = 'left';
    brush.translate(x, top - strip - 6);
    brush.rotate(-Math.PI / 3.2);
    write(brush, cover, label(column, cover.columnWords(column, words)), 0, 0, top - strip + 12, own);
    brush.restore();
  }
  // the very row that is pointed at, whatever the zoom
  if (pointed && !every)
    chip(brush, cover, `${counted(pointed.row)} ${cover.rowWords(pointed.row, 2)}`, toY(pointed.row));
}

/** Text in no more than some pixels; the row and the column that are looked at stand out. */
function write(
  brush: Brush,
  { colours }: Cover,
  text: string,
  x: number,
  y: number,
  room: number,
  own: boolean,
): void {
  brush.font = `${own ? 600 : 400} 12px ${FONT}`;
  brush.fillStyle = own ? colours.ink : colours.soft;
  brush.fillText(
    shortened(text, room, (part) => brush.measureText(part).width),
    x,
    y,
  );
}

/** The text, cut to the room there is. */
export function shortened(text: string, room: number, width: (text: string) => number): string {
  let shown = text;
  while (shown.length > 2 && width(shown) > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

function chip(brush: Brush, cover: Cover, text: string, y: number): void {
  const { left, top, strip, pane } = cover.layout;
  const middle = Math.min(top + pane.height - 9, Math.max(top + 9, y));
  brush.fillStyle = cover.colours.chip;
  brush.fillRect(2, middle - 9, left - strip - 4, 18);
  brush.textAlign = 'left';
  write(brush, cover, text, 6, middle, left - strip - 12, true);
}
