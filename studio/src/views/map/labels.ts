// The words beside the rows and above the columns of a map, at every zoom as many as there is room for.

import { labelsAlong } from '../../maths/tiles';
import { FONT } from '../../primitives/svg';
import type { Brush, Cover } from './cover';
import { counted } from './place';

const SLANT = Math.PI / 3.2; // of the words above columns
const LONG = 1000; // rows that are found by their number
const EVERY = 11; // pixels of a token from which on each of them is named

export function paintLabels(brush: Brush, cover: Cover): void {
  const { view, size, layout, pointed, selected, toX, toY } = cover;
  const { left, top, strip, pane } = layout;
  const every = view.zoom >= EVERY;
  const middle = every ? view.zoom / 2 : 0; // of a token that has room of its own
  const right = left - strip - 6;
  brush.textBaseline = 'middle';
  brush.textAlign = 'right';
  for (const row of labelsAlong(view.row, view.zoom, pane.height, size.rows, 15)) {
    const y = toY(row) + middle;
    if (y < top || y > top + pane.height) continue;
    const own = pointed?.row === row || selected?.row === row;
    write(brush, cover, rowLabel(cover, row, every), right, y, right - 4, own);
  }
  for (const column of labelsAlong(view.column, view.zoom, pane.width, size.columns, 17)) {
    const x = toX(column) + middle;
    if (x < left || x > left + pane.width) continue;
    const own = pointed?.column === column || selected?.column === column;
    brush.save();
    brush.textAlign = 'left';
    brush.translate(x, top - strip - 6);
    brush.rotate(-SLANT);
    write(brush, cover, columnLabel(cover, column, every), 0, 0, (top - strip - 12) / Math.sin(SLANT), own);
    brush.restore();
  }
  // the very row that is pointed at, whatever the zoom
  if (pointed && !every)
    chip(brush, cover, `${counted(pointed.row)} ${cover.rowWords(pointed.row, 2)}`, toY(pointed.row));
}

type Named = Pick<Cover, 'layout' | 'size' | 'rowWords' | 'columnWords'>;

/** The word, where each has room; else where the words are, and the first of them. */
export function columnLabel({ layout, columnWords }: Named, column: number, every: boolean): string {
  if (every) return columnWords(column, 1);
  return `${counted(column)} ${columnWords(column, layout.narrow ? 1 : 3)}`.trimEnd();
}

/** On a small screen there is room for one of both: in a long text one wants to know where one is. */
export function rowLabel({ layout, size, rowWords }: Named, row: number, every: boolean): string {
  if (every) return rowWords(row, 1);
  if (layout.narrow) return size.rows > LONG ? counted(row) : rowWords(row, 1);
  return `${counted(row)} ${rowWords(row, 3)}`.trimEnd();
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
