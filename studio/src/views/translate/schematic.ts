// Where things stand in the pictures of 2014, 2015 and 2017: a column of source words, what is between, the words so far.

export interface Schematic {
  width: number;
  height: number;
  row: number; // height of a word
  sourceY: number[]; // the middle of each word
  ownY: number[];
  nowY: number;
  hub: { x: number; y: number };
}

const [ROW, TOP, WIDTH] = [26, 30, 380];

export const PLACES = { left: 8, leftWidth: 104, hub: 190, right: 262, rightWidth: 110 } as const;

/** `own` words are written already; the one that is being written stands below them. */
export function schematic(source: number, own: number): Schematic {
  const rows = Math.max(source, own + 1, 4);
  const middle = (index: number, count: number) => TOP + ((rows - count) / 2 + index + 0.5) * ROW;
  const sourceY = Array.from({ length: source }, (_, index) => middle(index, source));
  const all = Array.from({ length: own + 1 }, (_, index) => middle(index, own + 1));
  const height = TOP + rows * ROW + 10;
  return {
    width: WIDTH,
    height,
    row: ROW,
    sourceY,
    ownY: all.slice(0, own),
    nowY: all[own],
    hub: { x: PLACES.hub, y: TOP + (rows / 2) * ROW },
  };
}

/** Of a long list only what is around the end is drawn: indices, and how many are left out before them. */
export function lastOf(count: number, most: number): { from: number; hidden: number } {
  const from = Math.max(0, count - most);
  return { from, hidden: from };
}

/** Of the source, a window around what matters most. */
export function windowOf(count: number, most: number, around: number): { from: number; to: number } {
  if (count <= most) return { from: 0, to: count };
  const from = Math.min(count - most, Math.max(0, around - Math.floor(most / 2)));
  return { from, to: from + most };
}
