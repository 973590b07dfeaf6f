// The six steps of attention in float64, every intermediate by its name: what the page Steps shows.
//
//     Attention(Q, K, V) = softmax(Q Kᵀ / √d) V
//
// Held equal to `regard.attend` by tests/golden/studio_steps.json, which both sides read.

export const STEPS = [
  'x', 'positions', 'x_p', 'w_q', 'w_k', 'w_v', 'q', 'k', 'v',
  'scores', 'scaled', 'masked', 'weights', 'output', 'concat', 'w_o', 'z',
] as const; // prettier-ignore
export type StepName = (typeof STEPS)[number];

/** A small matrix; NaN where a number is not known. */
export interface Grid {
  rows: number;
  columns: number;
  data: Float64Array;
}

/** One number's place, counted from 0. */
export interface Cell {
  step: StepName;
  head: number;
  row: number;
  column: number;
}

export interface Inputs {
  /** Matrices taken as they are: X and the W, or later steps where an example begins with them. */
  given: Partial<Record<StepName, Grid>>;
  queries: number;
  keys: number;
  heads: number;
  causal: boolean;
  positions: boolean;
  /** What scores are multiplied by; null: 1 / √d. */
  scale: number | null;
  temperature: number;
  /** The d whose root is taken, where it is not the width of the keys. */
  d?: number | null;
}

/** Every step that can be known: one grid, or one for each head (scores to output). */
export type Attention = Partial<Record<StepName, Grid[]>>;

/** Numbers put in place of computed ones; all that follows goes on from them. */
export type Overrides = ReadonlyMap<string, number>;
export const keyOf = ({ step, head, row, column }: Cell): string => `${step}:${head},${row},${column}`;

export function grid(rows: number, columns: number, fill: (row: number, column: number) => number): Grid {
  const data = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) data[row * columns + column] = fill(row, column);
  }
  return { rows, columns, data };
}

export const fromRows = (rows: readonly (readonly (number | null)[])[]): Grid =>
  grid(rows.length, rows[0]?.length ?? 0, (row, column) => rows[row][column] ?? NaN);

export const at = (matrix: Grid, row: number, column: number): number =>
  matrix.data[row * matrix.columns + column];

export const toRows = (matrix: Grid): number[][] =>
  Array.from({ length: matrix.rows }, (_, row) =>
    Array.from(matrix.data.subarray(row * matrix.columns, (row + 1) * matrix.columns)),
  );

export function multiply(left: Grid, right: Grid): Grid {
  return grid(left.rows, right.columns, (row, column) => {
    let sum = 0;
    for (let index = 0; index < left.columns; index++) sum += at(left, row, index) * at(right, index, column);
    return sum;
  });
}

/** Every left row times every right row: Q Kᵀ. */
export function multiplyTransposed(left: Grid, right: Grid): Grid {
  return grid(left.rows, right.rows, (row, column) => {
    let sum = 0;
    for (let index = 0; index < left.columns; index++) sum += at(left, row, index) * at(right, column, index);
    return sum;
  });
}

/** e^s over the sum of e^s along each row; a row that may look nowhere is all zeros. */
export function softmax(masked: Grid): Grid {
  const out = grid(masked.rows, masked.columns, () => 0);
  for (let row = 0; row < masked.rows; row++) {
    const own = masked.data.subarray(row * masked.columns, (row + 1) * masked.columns);
    const largest = own.reduce((most, score) => Math.max(most, score), -Infinity);
    if (largest === -Infinity) continue;
    let sum = 0;
    for (let column = 0; column < own.length; column++) {
      const power = Math.exp(own[column] - largest);
      out.data[row * masked.columns + column] = power;
      sum += power;
    }
    for (let column = 0; column < own.length; column++) out.data[row * masked.columns + column] /= sum;
  }
  return out;
}

/** PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same). */
export const sinusoids = (count: number, d: number): Grid =>
  grid(count, d, (position, dim) => {
    const angle = position * Math.exp((dim - (dim % 2)) * (-Math.log(10000) / d));
    return dim % 2 ? Math.cos(angle) : Math.sin(angle);
  });

/** The columns of one head. */
export function headColumns(matrix: Grid, head: number, heads: number): Grid {
  const width = matrix.columns / heads;
  return grid(matrix.rows, width, (row, column) => at(matrix, row, head * width + column));
}

/** The heads' outputs side by side. */
export function concat(parts: readonly Grid[]): Grid {
  const width = parts[0].columns;
  return grid(parts[0].rows, width * parts.length, (row, column) =>
    at(parts[Math.floor(column / width)], row, column % width),
  );
}

/** May this query look at this key? The last query is the newest token. */
export const maySee = (inputs: Inputs, row: number, column: number): boolean =>
  !inputs.causal || column <= row + inputs.keys - inputs.queries;

/** What scores are multiplied by, the temperature included. */
export function scaleOf(inputs: Inputs): number {
  const d = rootOf(inputs);
  return (inputs.scale ?? (d === null ? 1 : 1 / Math.sqrt(d))) / inputs.temperature;
}

/** The d whose root scores are divided by; null where another scale is given, or nothing says. */
export function rootOf(inputs: Inputs): number | null {
  if (inputs.scale !== null) return null;
  if (inputs.d) return inputs.d;
  const source = inputs.given.q ?? inputs.given.k ?? inputs.given.w_q ?? inputs.given.w_k;
  return source ? source.columns / inputs.heads : null;
}

export function attend(inputs: Inputs, overrides: Overrides = new Map()): Attention {
  const { given, heads } = inputs;
  const known: Attention = {};
  const put = (step: StepName, grids: (Grid | undefined)[]): void => {
    if (grids.some((one) => one === undefined)) return;
    known[step] = grids.map((one, head) => replaced(one as Grid, step, head, overrides));
  };
  const all = <T>(make: (head: number) => T): T[] => Array.from({ length: heads }, (_, head) => make(head));

  if (given.x) put('x', [given.x]);
  if (inputs.positions && known.x) {
    const x = known.x[0];
    put('positions', [sinusoids(x.rows, x.columns)]);
    const codes = known.positions![0];
    put('x_p', [grid(x.rows, x.columns, (row, column) => at(x, row, column) + at(codes, row, column))]);
  }
  const words = (known.x_p ?? known.x)?.[0];
  for (const name of ['q', 'k', 'v'] as const) {
    const matrix = given[`w_${name}`];
    if (matrix) put(`w_${name}`, [matrix]);
    if (given[name]) put(name, [given[name]]);
    else if (words && matrix) put(name, [multiply(words, known[`w_${name}`]![0])]);
  }
  const of = (step: 'q' | 'k' | 'v', head: number) => known[step] && headColumns(known[step][0], head, heads);
  const [q, k, v] = (['q', 'k', 'v'] as const).map((step) => all((head) => of(step, head)));

  if (given.scores) put('scores', [given.scores]);
  else if (known.q && known.k)
    put(
      'scores',
      all((head) => multiplyTransposed(q[head]!, k[head]!)),
    );
  const scale = scaleOf(inputs);
  if (given.scaled) put('scaled', [given.scaled]);
  else if (known.scores)
    put(
      'scaled',
      known.scores.map((scores) => mapped(scores, (score) => score * scale)),
    );
  if (known.scaled && inputs.causal)
    put(
      'masked',
      known.scaled.map((scaled) => hidden(scaled, inputs)),
    );
  const logits = known.masked ?? known.scaled;
  if (given.weights) put('weights', [given.weights]);
  else if (logits) put('weights', logits.map(softmax));
  if (known.weights && known.v)
    put(
      'output',
      known.weights.map((weights, head) => multiply(weights, v[head]!)),
    );
  if (known.output && heads > 1) {
    put('concat', [concat(known.output)]);
    if (given.w_o) {
      put('w_o', [given.w_o]);
      put('z', [multiply(known.concat![0], known.w_o![0])]);
    }
  }
  return known;
}

function replaced(matrix: Grid, step: StepName, head: number, overrides: Overrides): Grid {
  if (overrides.size === 0) return matrix;
  return grid(
    matrix.rows,
    matrix.columns,
    (row, column) => overrides.get(keyOf({ step, head, row, column })) ?? at(matrix, row, column),
  );
}

const mapped = (matrix: Grid, change: (value: number) => number): Grid =>
  grid(matrix.rows, matrix.columns, (row, column) => change(at(matrix, row, column)));

const hidden = (scaled: Grid, inputs: Inputs): Grid =>
  grid(scaled.rows, scaled.columns, (row, column) =>
    maySee(inputs, row, column) ? at(scaled, row, column) : -Infinity,
  );
