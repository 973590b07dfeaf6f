// Two lines of tokens side by side, and the difference of two heads over what they share.

import { commonTokens, type Weights } from '../heads/weights';

export interface Pair {
  left: number | null;
  right: number | null;
}

/**
 * Tokens that are the same are paired in order; between two such pairs, as many others as there are on both sides are paired
 * too ("tired" with "wide"); the rest stand alone.
 */
export function alignTokens(left: readonly string[], right: readonly string[]): Pair[] {
  const plain = (tokens: readonly string[]) => tokens.map((token) => token.trim().toLowerCase());
  const same = [...commonTokens(plain(left), plain(right)), [left.length, right.length] as const];
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  for (const [nextLeft, nextRight] of same) {
    const both = nextLeft - i === nextRight - j;
    while (both && i < nextLeft) pairs.push({ left: i++, right: j++ });
    while (i < nextLeft) pairs.push({ left: i++, right: null });
    while (j < nextRight) pairs.push({ left: null, right: j++ });
    if (nextLeft < left.length) pairs.push({ left: i++, right: j++ });
  }
  return pairs;
}

/** What stands beside a pair: one word where both say it, else both. */
export function pairName(pair: Pair, left: readonly string[], right: readonly string[]): string {
  const [a, b] = [
    pair.left === null ? null : left[pair.left],
    pair.right === null ? null : right[pair.right],
  ];
  if (a === null || b === null || a === b) return a ?? b ?? '';
  return a.trim() === b.trim() ? a : `${a} / ${b}`;
}

/** Right minus left, over pairs of rows and columns; not a number where one of the two has no such cell. */
export function difference(
  left: Weights,
  right: Weights,
  rows: readonly Pair[],
  columns: readonly Pair[],
): Float32Array {
  const out = new Float32Array(rows.length * columns.length).fill(NaN);
  rows.forEach((row, r) => {
    columns.forEach((column, c) => {
      if (row.left === null || row.right === null || column.left === null || column.right === null) return;
      const before = left.data[row.left * left.columns + column.left];
      const after = right.data[row.right * right.columns + column.right];
      out[r * columns.length + c] = after - before;
    });
  });
  return out;
}

export interface Change {
  row: number;
  column: number;
  value: number;
}

/** The cells that changed most, the largest first. */
export function largestChanges(values: ArrayLike<number>, columns: number, count: number): Change[] {
  const cells: Change[] = [];
  for (let at = 0; at < values.length; at++) {
    if (Math.abs(values[at]) > 0)
      cells.push({ row: Math.floor(at / columns), column: at % columns, value: values[at] });
  }
  return cells.sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, count);
}

/** Which word is compared first: "it" where both say it, else the first that both say. */
export function firstShared(
  left: readonly string[],
  right: readonly string[],
): { left: number; right: number } | null {
  const pairs = alignTokens(left, right).filter(
    (pair): pair is { left: number; right: number } =>
      pair.left !== null && pair.right !== null && left[pair.left].trim() === right[pair.right].trim(),
  );
  return pairs.find((pair) => left[pair.left].trim() === 'it') ?? pairs[0] ?? null;
}
