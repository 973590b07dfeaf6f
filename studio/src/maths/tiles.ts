// A map of any size in tiles: which level, which tiles, and where they lie. A cell of level L is 2^L positions wide and high.

/** What is seen: the position in the upper left corner, and how many pixels a position takes. */
export interface MapView {
  row: number;
  column: number;
  zoom: number;
}
export interface MapSize {
  rows: number;
  columns: number;
}
export interface Pane {
  width: number;
  height: number;
}
export interface Tile {
  level: number;
  rows: [number, number];
  columns: [number, number];
  key: string;
}

export const SIDE = 256; // cells of a tile's side
const COMPUTED = 32_768; // positions of a tile's side at most: what the server computes for one answer
export const CLOSEST = 64; // pixels of a position at most

/** Cells of level L have at least one pixel each, and fewer than two. */
export function levelFor(zoom: number, deepest: number): number {
  return Math.min(deepest, Math.max(0, Math.ceil(-Math.log2(zoom) - 1e-9)));
}

/** The level at which a whole map fits in one tile. */
export function deepestLevel({ rows, columns }: MapSize): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(rows, columns, 1) / SIDE)));
}

/** Positions of a tile's side at a level. */
export function spanAt(level: number): number {
  return Math.min(SIDE * 2 ** level, Math.max(COMPUTED, 2 ** level));
}

/** The zoom that shows all of a map. */
export function fitZoom(size: MapSize, pane: Pane): number {
  return Math.min(CLOSEST, pane.width / Math.max(1, size.columns), pane.height / Math.max(1, size.rows));
}

export function fitView(size: MapSize, pane: Pane): MapView {
  return centred({ row: 0, column: 0, zoom: fitZoom(size, pane) }, size, pane);
}

/** The view moved back to where the map is; a map smaller than the pane begins in its corner. */
export function centred(view: MapView, size: MapSize, pane: Pane): MapView {
  const zoom = Math.min(CLOSEST, Math.max(fitZoom(size, pane), view.zoom));
  const inside = (first: number, seen: number, count: number) =>
    Math.min(Math.max(0, count - seen), Math.max(0, first));
  return {
    zoom,
    row: inside(view.row, pane.height / zoom, size.rows),
    column: inside(view.column, pane.width / zoom, size.columns),
  };
}

/** Nearer or further, while what lies under the pixel (x, y) stays there. */
export function zoomAt(
  view: MapView,
  factor: number,
  x: number,
  y: number,
  size: MapSize,
  pane: Pane,
): MapView {
  const zoom = Math.min(CLOSEST, Math.max(fitZoom(size, pane), view.zoom * factor));
  const moved = {
    zoom,
    row: view.row + y / view.zoom - y / zoom,
    column: view.column + x / view.zoom - x / zoom,
  };
  return centred(moved, size, pane);
}

export function panBy(view: MapView, dx: number, dy: number, size: MapSize, pane: Pane): MapView {
  return centred(
    { ...view, row: view.row - dy / view.zoom, column: view.column - dx / view.zoom },
    size,
    pane,
  );
}

/** The view with a place in its middle. */
export function viewOn(row: number, column: number, zoom: number, size: MapSize, pane: Pane): MapView {
  const near = Math.min(CLOSEST, Math.max(fitZoom(size, pane), zoom));
  const moved = {
    zoom: near,
    row: row + 0.5 - pane.height / near / 2,
    column: column + 0.5 - pane.width / near / 2,
  };
  return centred(moved, size, pane);
}

/** The position under a pixel; null beside the map. */
export function positionAt(
  view: MapView,
  x: number,
  y: number,
  size: MapSize,
): { row: number; column: number } | null {
  const [row, column] = [Math.floor(view.row + y / view.zoom), Math.floor(view.column + x / view.zoom)];
  return row >= 0 && column >= 0 && row < size.rows && column < size.columns ? { row, column } : null;
}

/** Positions that are seen, at least in part. */
export function seen(
  view: MapView,
  size: MapSize,
  pane: Pane,
): { rows: [number, number]; columns: [number, number] } {
  const range = (first: number, wide: number, count: number): [number, number] => [
    Math.max(0, Math.floor(first)),
    Math.min(count, Math.ceil(first + wide / view.zoom)),
  ];
  return {
    rows: range(view.row, pane.height, size.rows),
    columns: range(view.column, pane.width, size.columns),
  };
}

/** The tile of a level that holds a position. */
export function tileAt(level: number, row: number, column: number, size: MapSize): Tile {
  const span = spanAt(level);
  const side = (place: number, count: number): [number, number] => {
    const first = Math.floor(place / span) * span;
    return [first, Math.min(count, first + span)];
  };
  const [rows, columns] = [side(row, size.rows), side(column, size.columns)];
  return { level, rows, columns, key: `${level}/${rows[0]}/${columns[0]}` };
}

/** The tiles of a level that a view needs, those nearest to its middle first; none wholly above the diagonal of a causal map. */
export function tilesFor(level: number, view: MapView, size: MapSize, pane: Pane, causal = false): Tile[] {
  const { rows, columns } = seen(view, size, pane);
  const span = spanAt(level);
  const tiles: Tile[] = [];
  for (let row = Math.floor(rows[0] / span) * span; row < rows[1]; row += span) {
    for (let column = Math.floor(columns[0] / span) * span; column < columns[1]; column += span) {
      const tile = tileAt(level, row, column, size);
      if (!causal || tile.columns[0] - (size.columns - size.rows) < tile.rows[1]) tiles.push(tile);
    }
  }
  const [middleRow, middleColumn] = [(rows[0] + rows[1]) / 2, (columns[0] + columns[1]) / 2];
  const far = (tile: Tile) =>
    Math.hypot(
      (tile.rows[0] + tile.rows[1]) / 2 - middleRow,
      (tile.columns[0] + tile.columns[1]) / 2 - middleColumn,
    );
  return tiles.sort((a, b) => far(a) - far(b));
}

/** How many numbers a tile is asked for, so that its cells are 2^L positions also at the edge of a map. */
export function cellsOf(tile: Tile): [number, number] {
  const cell = 2 ** tile.level;
  const count = ([first, last]: [number, number]) => Math.max(1, Math.ceil((last - first) / cell));
  return [count(tile.rows), count(tile.columns)];
}

/** Single weights are exact; where many are one number, half precision is enough. */
export const numberType = (level: number): 'float16' | 'float32' => (level === 0 ? 'float32' : 'float16');

/** Bytes of some tiles on their way; one that stands there twice comes once. */
export function bytesOf(tiles: readonly Tile[]): number {
  const sizes = new Map<string, number>();
  for (const tile of tiles) {
    const [rows, columns] = cellsOf(tile);
    sizes.set(tile.key, rows * columns * (numberType(tile.level) === 'float32' ? 4 : 2));
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

const BEFORE = 900_000; // bytes of numbers that all of a map may take; with its marginals less than a megabyte

/** The level that shows all of a map: on a large screen a coarser one, rather than megabytes before anybody zooms. */
export function wholeLevel(size: MapSize, pane: Pane, causal: boolean): number {
  const [view, deepest] = [fitView(size, pane), deepestLevel(size)];
  const base = tilesFor(deepest, view, size, pane, causal);
  let level = levelFor(view.zoom, deepest);
  if (level === 0) return 0; // every weight has a pixel
  while (level < deepest && bytesOf([...base, ...tilesFor(level, view, size, pane, causal)]) > BEFORE)
    level++;
  return level;
}

/** Mass in a cell sums over its rows: by their number, so that every level shows shares of a row's attention. */
export function massShare(level: number, by: string): number {
  return by === 'mass' ? 1 / 2 ** level : 1;
}

/** Where labels stand along an axis: every position while they have room, else every 1, 2, 5, 10, 20, 50, ... of them. */
export function labelsAlong(
  first: number,
  zoom: number,
  length: number,
  count: number,
  room: number,
): number[] {
  let step = 1;
  const steps = [2, 2.5, 2];
  for (let turn = 0; step * zoom < room; turn++) step *= steps[turn % 3];
  step = Math.round(step);
  const labels: number[] = [];
  for (
    let place = Math.max(0, Math.ceil((first - 0.5) / step) * step);
    place < count && (place - first) * zoom < length;
    place += step
  ) {
    labels.push(place);
  }
  return labels;
}

/** Keeps what was used last; says what it let go. */
export class LruCache<V> {
  readonly #entries = new Map<string, V>();

  constructor(
    private readonly most: number,
    private readonly letGo: (value: V) => void = () => undefined,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): V | undefined {
    const found = this.#entries.get(key);
    if (found === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found;
  }

  set(key: string, value: V): void {
    const old = this.#entries.get(key);
    if (old !== undefined) this.letGo(old);
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const [name, one] of this.#entries) {
      if (this.#entries.size <= this.most) break;
      this.#entries.delete(name);
      this.letGo(one);
    }
  }

  clear(): void {
    for (const value of this.#entries.values()) this.letGo(value);
    this.#entries.clear();
  }
}
