// A page's description as the look that the studio's pictures know.

import type { Look, SiteInfo } from '../contract/types';
import type { Side } from '../views/heads/source';
import type { Description, MapWords, Plate } from './payload';

export type Row = Description['row'];

/** Its sites by name: how fine they are, and a finer one of some heads where one was asked for. */
export interface SitePlates {
  whole: Plate;
  closer: Plate | null;
}

export function platesBySite(plates: readonly Plate[]): Map<string, SitePlates> {
  const found = new Map<string, SitePlates>();
  for (const plate of plates.filter((one) => !one.words.closer))
    found.set(plate.words.site, { whole: plate, closer: null });
  for (const plate of plates.filter((one) => one.words.closer)) {
    const site = found.get(plate.words.site);
    if (site) site.closer = plate;
  }
  return found;
}

/** The texts that stand beside the maps; `row` says whose a decoder's rows are: of what it writes, or of what it has read. */
export function lookOf(description: Description, plates: readonly Plate[], row: Row): Look {
  const { texts, badge, title } = description;
  const tokens = (place: number) => {
    const text = texts[place];
    return text.tokens?.map(String) ?? Array.from({ length: text.count ?? 0 }, (_, at) => String(at));
  };
  const longest = (places: (number | null)[]) =>
    places.reduce<string[]>((best, place) => {
      const found = place === null ? [] : tokens(place);
      return found.length > best.length ? found : best;
    }, []);
  const whole = plates.filter((one) => !one.words.closer);
  const on = (side: Side) =>
    longest(
      whole.flatMap(({ words }) => {
        const [rows, columns] = sidesOf(words, description);
        return [rows === side ? words.rows : null, columns === side ? words.columns : null];
      }),
    );
  const [source, target] = [on('source'), on('target')];
  return {
    id: 'page', model: title, text: title, output: null, task: 'other', source, target,
    written: row === 'output' ? longest(whole.map(({ words }) => words.written)) : [],
    source_count: source.length, target_count: target.length,
    sites: whole.map((plate) => siteOf(plate, description, row)),
    badge: badge.text, true: badge.state !== 'false', next: null, notes: [], alignment: null,
  }; // prettier-ignore
}

function siteOf({ words, queries, columns, hasNorms }: Plate, description: Description, row: Row): SiteInfo {
  const [rowSide, columnSide] = sidesOf(words, description);
  return {
    site: words.site, kind: words.kind, heads: words.heads.length, head_numbers: words.heads, queries,
    keys: columns, rows: rowSide, columns: columnSide,
    causal: words.bound !== null && words.own !== null && words.bound === words.own + 1,
    writes: row === 'output' && words.written !== null, values: hasNorms, pooled: null,
  }; // prettier-ignore
}

function sidesOf(words: MapWords, { texts }: Description): [Side, Side] {
  const [rows, columns] = [texts[words.rows].name, texts[words.columns].name];
  const side: Side = rows === 'target' || words.written !== null ? 'target' : 'source';
  return [side, rows === columns ? side : 'source'];
}
