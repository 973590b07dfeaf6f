// From the weights of a site, all heads of it, to what a step looked at; and the lines between two sentences.

import type { Look, ModelInfo, Numbers, SiteInfo, StudioInfo, TokenProbability } from '../../contract/types';

/** All heads averaged, for each row the head with the largest weight, one head, or some of them averaged. */
export type HeadChoice = 'mean' | 'strongest' | number | readonly number[];

/** `usual` are the heads to begin with where the address says nothing: none for all of them. */
export function headChoice(
  text: string | undefined,
  heads: number,
  usual: readonly number[] = [],
): HeadChoice {
  const known = (head: number) => Number.isInteger(head) && head >= 0 && head < heads;
  if (text === 'strongest' || text === 'mean') return text;
  if (text && known(Number(text))) return Number(text);
  const found = usual.filter(known);
  return found.length > 1 ? found : (found[0] ?? 'mean');
}

export interface RowLook {
  weights: Float32Array;
  head: number | null; // null: all of them
}

/** What one row looked at. `numbers` are [heads, queries, keys]. */
export function rowLook(numbers: Numbers, row: number, choice: HeadChoice): RowLook {
  const [heads, queries, keys] = numbers.shape;
  const of = (head: number) => {
    const start = (head * queries + row) * keys;
    return numbers.data.slice(start, start + keys);
  };
  if (row < 0 || row >= queries) return { weights: new Float32Array(keys), head: null };
  if (typeof choice === 'number') return { weights: of(choice), head: choice };
  if (choice === 'strongest') {
    let best = { weights: of(0), head: 0 };
    for (let head = 1; head < heads; head++) {
      const weights = of(head);
      if (largest(weights) > largest(best.weights)) best = { weights, head };
    }
    return best;
  }
  const some = choice === 'mean' ? Array.from({ length: heads }, (_, head) => head) : choice;
  const mean = new Float32Array(keys);
  for (const head of some) of(head).forEach((weight, key) => (mean[key] += weight / some.length));
  return { weights: mean, head: heads === 1 ? 0 : null };
}

/** The whole map, row by row as `rowLook` gives them. */
export function wholeMap(numbers: Numbers, choice: HeadChoice): Float32Array {
  const [, queries, keys] = numbers.shape;
  const map = new Float32Array(queries * keys);
  for (let row = 0; row < queries; row++) map.set(rowLook(numbers, row, choice).weights, row * keys);
  return map;
}

export const largest = (weights: ArrayLike<number>): number => {
  let most = 0;
  for (let index = 0; index < weights.length; index++) if (weights[index] > most) most = weights[index];
  return most;
};

/** The keys with the largest weights of a row, the largest first. */
export function strongest(weights: ArrayLike<number>, count: number, least = 0): number[] {
  const order = Array.from({ length: weights.length }, (_, key) => key).filter(
    (key) => weights[key] >= least,
  );
  return order.sort((a, b) => weights[b] - weights[a]).slice(0, count);
}

/** Of a map, what every row gives one column: who looks at this key. */
export const lookersAt = (map: ArrayLike<number>, rows: number, columns: number, column: number): number[] =>
  Array.from({ length: rows }, (_, row) => map[row * columns + column]);

export interface Link {
  row: number;
  column: number;
  weight: number;
}

/** The lines worth drawing: of each row the few strongest that are not next to nothing. */
export function links(map: ArrayLike<number>, rows: number, columns: number, each = 3, least = 0.12): Link[] {
  const found: Link[] = [];
  for (let row = 0; row < rows; row++) {
    const weights = Array.from({ length: columns }, (_, column) => map[row * columns + column]);
    for (const column of strongest(weights, each, least))
      found.push({ row, column, weight: weights[column] });
  }
  return found;
}

/** The layers of a decoder: what each asks the source, and what it asks of its own words (recurrent ones: nothing). */
export function layersOf(look: Look): { cross: SiteInfo; own: SiteInfo | null }[] {
  const cross = look.sites.filter((site) => site.kind === 'cross');
  const own = look.sites.filter((site) => site.kind === 'decoder');
  return cross.map((site, index) => ({ cross: site, own: own[index] ?? null }));
}

/** Which row of another model writes what stands `letters` letters into the text: tokenizers differ, letters do not. */
export function rowAfter(written: readonly string[], letters: number): number {
  let read = 0;
  for (let row = 0; row < written.length; row++) {
    read += lettersOf(written[row]);
    if (read > letters) return row;
  }
  return Math.max(0, written.length - 1);
}

export const lettersOf = (token: string): number =>
  /^<[^<>]*>$/.test(token) ? 0 : [...token.replace(/[\s▁]/gu, '')].length;

export const lettersBefore = (tokens: readonly string[], step: number): number =>
  tokens.slice(0, step).reduce((sum, token) => sum + lettersOf(token), 0);

/** The position where another word came closest: the first to look at. Other spellings of the same are no other word. */
export function closestCall(
  top: readonly (readonly TokenProbability[])[],
  tokens: readonly string[],
): number {
  const plain = (token: string) => token.trim().toLowerCase();
  const margins = tokens.map((token, position) => {
    if (!/\p{L}/u.test(token) || /^<.*>$/.test(token)) return Infinity;
    const choices = top[position] ?? [];
    const chosen = choices.find((one) => one.token === token)?.probability ?? 1;
    const other = choices.find((one) => plain(one.token) !== plain(token) && /\p{L}/u.test(one.token));
    return other ? Math.log(chosen / other.probability) : Infinity;
  });
  const best = margins.indexOf(Math.min(...margins));
  return Math.max(0, best);
}

export const canTranslate = (model: ModelInfo): boolean => model.task === 'translate' && !model.problem;

/** The translator that the page opens with. */
export function firstModel(studio: StudioInfo): ModelInfo | null {
  const usable = studio.models.filter((model) => canTranslate(model) && model.searches);
  const named = (name: string | null | undefined) => usable.find((model) => model.name === name);
  return named(studio.start.model) ?? named('en-fr') ?? usable[0] ?? null;
}

/** The models that translate between the same languages, by family. */
export function peers(studio: StudioInfo, model: ModelInfo, recurrent: boolean): ModelInfo[] {
  const same = (other: ModelInfo) => String(other.languages) === String(model.languages);
  const family = (other: ModelInfo) => (other.family === 'recurrent') === recurrent;
  const found = studio.models.filter((other) => canTranslate(other) && same(other) && family(other));
  return found.sort((a, b) => Number(b.name === model.name) - Number(a.name === model.name));
}

/** Ids in the address: "333,911". */
export function readIds(text: string | undefined): number[] {
  const ids = (text ?? '').split(',').filter(Boolean).map(Number);
  return ids.every((id) => Number.isInteger(id) && id >= 0) ? ids.slice(0, 512) : [];
}
