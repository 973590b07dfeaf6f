// Numbers of a grid made fewer: what lies in a cell becomes its sum, its largest or its mean.

export interface Grid {
  data: Float32Array;
  rows: number;
  columns: number;
}

/** A part of a grid in cells of `factor` numbers a side; the last ones may hold fewer. */
export function poolGrid(
  grid: Grid,
  rows: readonly [number, number],
  columns: readonly [number, number],
  factor: number,
  by: 'mass' | 'max' | 'mean',
): Grid {
  const [high, wide] = [rows, columns].map(([first, last]) => Math.ceil((last - first) / factor));
  const data = new Float32Array(high * wide);
  const counts = by === 'mean' ? new Uint32Array(high * wide) : null;
  for (let row = rows[0]; row < rows[1]; row++) {
    const base = Math.floor((row - rows[0]) / factor) * wide;
    for (let column = columns[0]; column < columns[1]; column++) {
      const at = base + Math.floor((column - columns[0]) / factor);
      const value = grid.data[row * grid.columns + column];
      if (by === 'max') data[at] = Math.max(data[at], value);
      else data[at] += value;
      if (counts) counts[at]++;
    }
  }
  if (counts) for (let at = 0; at < data.length; at++) data[at] /= counts[at] || 1;
  return { data, rows: high, columns: wide };
}

/** The largest numbers of a part, the largest first; `skip` says which do not count. */
export function largestCells(
  grid: Grid,
  count: number,
  rows: readonly [number, number],
  columns: readonly [number, number],
  skip: (row: number, column: number) => boolean = () => false,
): { row: number; column: number; value: number }[] {
  const best: { row: number; column: number; value: number }[] = [];
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let column = columns[0]; column < columns[1]; column++) {
      const value = grid.data[row * grid.columns + column];
      if (!(value > 0) || (best.length === count && value <= best[count - 1].value) || skip(row, column))
        continue;
      let place = best.length;
      while (place > 0 && best[place - 1].value < value) place--;
      best.splice(place, 0, { row, column, value });
      if (best.length > count) best.pop();
    }
  }
  return best;
}
