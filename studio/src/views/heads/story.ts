// Which heads mattered for a word, and what they looked at: the effect of silencing each, with its strongest key there.

import type { Look, SiteInfo } from '../../contract/types';
import type { Effects } from './reader';
import type { Place } from './tokens';
import { rowName, sideOf } from './tokens';
import { headWeights, topOfRow, type Weights } from './weights';

export interface Ranked {
  site: string;
  head: number;
  /** What its silence does to the log probability of the word. */
  effect: number;
  /** Which word looks: the one that is written, or in the encoder the one of the source that it was written for. */
  query: string | null;
  row: number | null;
  column: number | null;
  key: string | null;
  /** The token after the key: an article without its noun says little. */
  after: string | null;
  weight: number;
}

/**
 * Effects on one token of the output; on the whole of it where the server does not say more. The most needed head first;
 * as long as effects are not known (null), the head that looks most sharply.
 */
export function rankHeads(
  look: Look,
  effects: Effects | null,
  about: WordPair,
  weightsOf: (site: string) => Float32Array | null,
): Ranked[] {
  const index = about.written;
  const unknown = () =>
    look.sites.flatMap((one) =>
      one.head_numbers.map((head) => ({ site: one.site, head, effect: NaN, by_token: undefined })),
    );
  const ranked = (effects?.rows ?? unknown()).map(({ site, head, effect, by_token }) => {
    const exact = index === null ? undefined : by_token?.[index];
    const info = look.sites.find((one) => one.site === site);
    const all = weightsOf(site);
    const place = info?.rows === 'target' ? index : about.source;
    const row = info && place !== null && place < info.queries ? place : null;
    const looking =
      info && all && row !== null
        ? lookingAt(look, info, headWeights(all, info, info.head_numbers.indexOf(head)), row)
        : NOWHERE;
    return { site, head, effect: exact ?? effect, row, ...looking };
  });
  return ranked.sort(effects ? (a, b) => a.effect - b.effect : (a, b) => sharpness(b) - sharpness(a));
}

/** A head that looks at the first key mostly rests there. */
const sharpness = (one: Ranked) => (one.column ? one.weight : 0);

const NOWHERE = { query: null, column: null, key: null, after: null, weight: 0 };

function lookingAt(look: Look, site: SiteInfo, weights: Weights, row: number) {
  const top = topOfRow(weights, row);
  if (!top) return NOWHERE;
  const words = sideOf(look, site.columns);
  return {
    query: rowName(look, site, row),
    column: top.column,
    key: words[top.column] ?? null,
    after: words[top.column + 1] ?? null,
    weight: top.weight,
  };
}

/** The shares of heads in what mattered, from 0 to 1, by `site head`. */
export function shareOfEffects(ranked: readonly Ranked[]): Map<string, number> {
  const most = Math.max(1e-12, ...ranked.map((one) => Math.abs(one.effect)));
  return new Map(ranked.map((one) => [`${one.site} ${one.head}`, Math.abs(one.effect) / most]));
}

/**
 * Which written token each word of the source became. Weights between the two texts are summed over the heads that are
 * known to align words, over all of them where none are known; then they are paired off, the strongest pair first and
 * every word once: so a word that is looked at from everywhere still has one partner.
 */
export function wordPairs(look: Look, weightsOf: (site: string) => Float32Array | null): Map<number, number> {
  const [rows, columns] = [look.written.length, look.source.length];
  const sums = new Float64Array(rows * columns);
  const known = look.sites.some((one) => one.site === look.alignment?.site) ? look.alignment : null;
  const later = known?.row === 'input' ? columns : 0; // the row that reads a token stands after the one that writes it
  for (const site of look.sites) {
    if (known && site.site !== known.site) continue;
    const all = site.rows === 'target' && site.columns === 'source' ? weightsOf(site.site) : null;
    if (!all || site.queries < rows || site.keys !== columns) continue;
    const size = site.queries * columns;
    site.head_numbers.forEach((number, head) => {
      if (known?.heads.length && !known.heads.includes(number)) return;
      for (let at = 0; at < Math.min(sums.length, size - later); at++)
        sums[at] += all[head * size + later + at];
    });
  }
  return pairOff(sums, rows, columns);
}

/** Columns and rows in pairs, the largest number first, each row and each column once. */
export function pairOff(numbers: ArrayLike<number>, rows: number, columns: number): Map<number, number> {
  const order = Array.from({ length: rows * columns }, (_, at) => at)
    .filter((at) => numbers[at] > 0)
    .sort((a, b) => numbers[b] - numbers[a]);
  const pairs = new Map<number, number>();
  const taken = new Set<number>();
  for (const at of order) {
    const [row, column] = [Math.floor(at / columns), at % columns];
    if (taken.has(row) || pairs.has(column)) continue;
    pairs.set(column, row);
    taken.add(row);
  }
  return pairs;
}

/** A word of the source and what it became, as far as there are two texts. */
export interface WordPair {
  source: number | null;
  written: number | null;
}

/** The word that was picked, with its partner in the other text. */
export function pairOf(
  look: Look,
  place: Place | null,
  weightsOf: (site: string) => Float32Array | null,
): WordPair {
  const count = place?.side === 'written' ? look.written.length : look.source.length;
  if (!place || place.index >= count) return { source: null, written: null };
  const pairs = wordPairs(look, weightsOf);
  if (place.side === 'source') return { source: place.index, written: pairs.get(place.index) ?? null };
  const partner = [...pairs].find(([, row]) => row === place.index);
  return { source: partner?.[0] ?? null, written: place.index };
}
