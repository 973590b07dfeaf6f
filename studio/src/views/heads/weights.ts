// What the pictures of heads are computed from: pure functions over weights.

import type { HeadRow, SiteInfo } from '../../contract/types';
import { figure } from '../../maths/numbers';

export interface Weights {
  data: Float32Array;
  rows: number;
  columns: number;
}

/** One head's weights out of all of a site; cells after the query's own position are not a number where a site is causal. */
export function headWeights(all: Float32Array, site: SiteInfo, index: number): Weights {
  const size = site.queries * site.keys;
  return shownWeights(all.slice(index * size, (index + 1) * size), site);
}

/** The weights of a head of this site. */
export function shownWeights(data: Float32Array, site: SiteInfo): Weights {
  const [rows, columns] = [site.queries, site.keys];
  return { data: site.causal ? hideFuture(data, rows, columns) : data, rows, columns };
}

/** The last query stands at the last key. */
export function hideFuture(data: Float32Array, rows: number, columns: number): Float32Array {
  const out = data.slice();
  for (let row = 0; row < rows; row++) {
    for (let column = row + columns - rows + 1; column < columns; column++) {
      if (column >= 0 && out[row * columns + column] === 0) out[row * columns + column] = NaN;
    }
  }
  return out;
}

/** How many keys a query may look at. */
export const keysSeen = (site: SiteInfo, row: number): number =>
  site.causal ? Math.max(0, Math.min(site.keys, row + site.keys - site.queries + 1)) : site.keys;

export interface Link {
  row: number;
  column: number;
  weight: number;
}

/** The cells worth a line: the strongest, none that could not be seen; the strongest last, so that it is drawn on top. */
export function strongestLinks(weights: Weights, least = 0.02, most = 600): Link[] {
  const links: Link[] = [];
  for (let row = 0; row < weights.rows; row++) {
    for (let column = 0; column < weights.columns; column++) {
      const weight = weights.data[row * weights.columns + column];
      if (weight >= least) links.push({ row, column, weight });
    }
  }
  links.sort((a, b) => a.weight - b.weight);
  return links.slice(-most);
}

/** The largest weight of a row, and where it is; null for a row that looks nowhere. */
export function topOfRow(weights: Weights, row: number): Link | null {
  let best: Link | null = null;
  for (let column = 0; column < weights.columns; column++) {
    const weight = weights.data[row * weights.columns + column];
    if (weight > (best?.weight ?? 0)) best = { row, column, weight };
  }
  return best;
}

/** Which row looks at this column most: with cross-attention, which written word a source word became. */
export function topOfColumn(weights: Weights, column: number): Link | null {
  let best: Link | null = null;
  for (let row = 0; row < weights.rows; row++) {
    const weight = weights.data[row * weights.columns + column];
    if (weight > (best?.weight ?? 0)) best = { row, column, weight };
  }
  return best;
}

export const rowOf = (weights: Weights, row: number): Float32Array =>
  weights.data.slice(row * weights.columns, (row + 1) * weights.columns);

export function columnOf(weights: Weights, column: number): Float32Array {
  return Float32Array.from(
    { length: weights.rows },
    (_, row) => weights.data[row * weights.columns + column],
  );
}

export interface Product {
  dimension: number;
  query: number;
  key: number;
  product: number;
}

/** The score by dimension, the largest share first, whichever its sign. */
export function products(query: readonly number[], key: readonly number[]): Product[] {
  return query
    .map((value, dimension) => ({
      dimension,
      query: value,
      key: key[dimension],
      product: value * key[dimension],
    }))
    .sort((a, b) => Math.abs(b.product) - Math.abs(a.product) || a.dimension - b.dimension);
}

/** What a measure of heads is called, and which way it is written. */
export const MEASURES = [
  'entropy',
  'top_weight',
  'distance',
  'previous',
  'induction',
  'first',
  'own',
  'effect',
] as const;
export type Measure = (typeof MEASURES)[number];

/** What an axis shows: what is asked for, where it is a measure. */
export const axisOf = (name: string | undefined, otherwise: Measure): Measure =>
  MEASURES.includes(name as Measure) ? (name as Measure) : otherwise;

export function measured(row: HeadRow, measure: Measure, effect: number | undefined): number | null {
  return measure === 'effect' ? (effect ?? null) : row[measure];
}

/** Where two outputs differ, token by token: those of each that the other does not have in the same order. */
export function changedTokens(before: readonly string[], after: readonly string[]): [boolean[], boolean[]] {
  const pairs = commonTokens(before, after);
  const kept = [new Set(pairs.map(([left]) => left)), new Set(pairs.map(([, right]) => right))];
  return [before.map((_, index) => !kept[0].has(index)), after.map((_, index) => !kept[1].has(index))];
}

/** The longest common subsequence of two lines of tokens, as pairs of positions. */
export function commonTokens(left: readonly string[], right: readonly string[]): [number, number][] {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        left[i] === right[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return pairs;
}

/** A weight with four decimals, or with as many as it takes to see it. */
export function weightFigure(weight: number): string {
  if (weight > 0 && weight < 0.00005) return weight.toExponential(2).replace('-', '−');
  return figure(weight, 4);
}
