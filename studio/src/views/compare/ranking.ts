// Which heads differ most between two looks of one model, in the rows of the words that matter.

import type { Look, Numbers, SiteInfo } from '../../contract/types';
import { columnNames, rowNames } from '../heads/tokens';
import { headWeights } from '../heads/weights';
import { alignTokens, pairName, type Pair } from './align';

export interface DifferingHead {
  site: string;
  head: number;
  /** The cell that changed most, in words, and its weight on both sides. */
  query: string;
  key: string;
  left: number;
  right: number;
}
/** A look, and the weights of each of its sites. */
export interface WholeLook {
  look: Look;
  weights: ReadonlyMap<string, Numbers>;
}
/** The word that is compared, on both sides. */
export type WordPair = readonly [number | null, number | null];

const CELLS = 1 << 20; // of a look, all heads together, that are compared
const LEAST = 0.05; // a smaller change is none

/** Do the heads of both stand for each other, and are they few enough to compare them all? */
export function rankable(left: Look, right: Look): boolean {
  const few = ({ sites }: Look) =>
    sites.reduce((sum, site) => sum + site.heads * site.queries * site.keys, 0) <= CELLS;
  const shapes = ({ sites }: Look) =>
    sites.map((site) => `${site.site} ${site.head_numbers.join()}`).join('|');
  return few(left) && few(right) && shapes(left) === shapes(right);
}

/** One cell for each head that differs, the largest change first. */
export function differingHeads(left: WholeLook, right: WholeLook, word: WordPair): DifferingHead[] {
  const found: DifferingHead[] = [];
  left.look.sites.forEach((site, index) => {
    const other = right.look.sites[index];
    const [before, after] = [left.weights.get(site.site), right.weights.get(site.site)];
    if (!before || !after) return;
    const names = { left: rowNames(left.look, site), right: rowNames(right.look, other) };
    const keys = { left: columnNames(left.look, site), right: columnNames(right.look, other) };
    const rows = rowsThatMatter(alignTokens(names.left, names.right), names, site, word);
    const columns = alignTokens(keys.left, keys.right);
    site.head_numbers.forEach((head, place) => {
      const [a, b] = [headWeights(before.data, site, place), headWeights(after.data, other, place)];
      let best: DifferingHead | null = null;
      for (const row of rows)
        for (const column of columns) {
          if (row.left === null || row.right === null || column.left === null || column.right === null)
            continue;
          const [was, is] = [
            a.data[row.left * a.columns + column.left],
            b.data[row.right * b.columns + column.right],
          ];
          if (!(Math.abs(is - was) > (best ? Math.abs(best.right - best.left) : LEAST))) continue;
          const query = pairName(row, names.left, names.right);
          best = {
            site: site.site,
            head,
            query,
            key: pairName(column, keys.left, keys.right),
            left: was,
            right: is,
          };
        }
      if (best) found.push(best);
    });
  });
  return found.sort((a, b) => Math.abs(b.right - b.left) - Math.abs(a.right - a.left));
}

/** The row of the word that is compared; where words are written, the first that is another; else all. */
function rowsThatMatter(
  pairs: Pair[],
  names: { left: string[]; right: string[] },
  site: SiteInfo,
  word: WordPair,
): Pair[] {
  if (site.rows === 'source') {
    const own = pairs.filter((pair) => pair.left === word[0] && pair.right === word[1]);
    return own.length ? own : pairs;
  }
  const other = pairs.find(
    ({ left, right }) => left !== null && right !== null && names.left[left] !== names.right[right],
  );
  return other ? [other] : pairs;
}
