import { describe, expect, it } from 'vitest';
import {
  alignTokens,
  difference,
  firstShared,
  largestChanges,
  pairName,
} from '../../src/views/compare/align';

const words = (text: string) => text.split(' ');

describe('two lines of tokens', () => {
  it('are paired where they are the same, and where one word stands for another', () => {
    const pairs = alignTokens(words('it was too tired .'), words('it was too wide .'));
    expect(pairs).toEqual([0, 1, 2, 3, 4].map((index) => ({ left: index, right: index })));
    expect(pairName(pairs[3], words('it was too tired .'), words('it was too wide .'))).toBe('tired / wide');
  });
  it('leave alone what has no partner, and lose nothing', () => {
    const [left, right] = [words('the cat sleeps'), words('the old grey cat sleeps here')];
    const pairs = alignTokens(left, right);
    expect(pairs.filter((pair) => pair.left !== null)).toHaveLength(left.length);
    expect(pairs.filter((pair) => pair.right !== null)).toHaveLength(right.length);
    expect(pairs[1]).toEqual({ left: null, right: 1 });
    expect(pairs.at(-1)).toEqual({ left: null, right: 5 });
    expect(pairName(pairs[1], left, right)).toBe('old');
  });
  it('may be empty', () => {
    expect(alignTokens([], [])).toEqual([]);
    expect(alignTokens(['a'], [])).toEqual([{ left: 0, right: null }]);
  });
  it('are compared by "it" where both say it', () => {
    expect(firstShared(words('the cat it'), words('the dog it'))).toEqual({ left: 2, right: 2 });
    expect(firstShared(words('a b'), words('c d'))).toBeNull();
  });
});

describe('the difference', () => {
  const matrix = (rows: number[][]) => ({
    data: Float32Array.from(rows.flat()),
    rows: rows.length,
    columns: rows[0].length,
  });
  it('is right minus left over what both have', () => {
    const rows = alignTokens(['x', 'y'], ['x', 'y']);
    const columns = alignTokens(['a', 'b'], ['a', 'new', 'b']);
    const found = difference(matrix([[0.25, 0.75], [1, 0]]), matrix([[0.5, 0.25, 0.25], [0, 0, 1]]), rows, columns); // prettier-ignore
    expect([...found]).toEqual([0.25, NaN, -0.5, -1, NaN, 1]);
    expect(largestChanges(found, columns.length, 2)).toEqual([
      { row: 1, column: 0, value: -1 },
      { row: 1, column: 2, value: 1 },
    ]);
  });
});
