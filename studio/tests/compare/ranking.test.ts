import { describe, expect, it } from 'vitest';
import type { Look, Numbers, SiteInfo } from '../../src/contract/types';
import { differingHeads, rankable, type WholeLook } from '../../src/views/compare/ranking';

const encoder = { site: 'e', kind: 'encoder', rows: 'source', columns: 'source', heads: 1, head_numbers: [0], queries: 2, keys: 2, causal: false, writes: false } as unknown as SiteInfo; // prettier-ignore
const cross = { ...encoder, site: 'd', kind: 'cross', rows: 'target', writes: true, heads: 2, head_numbers: [0, 3] } as SiteInfo; // prettier-ignore

function whole(
  source: string[],
  written: string[],
  weights: Record<string, number[]>,
  sites = [encoder, cross],
): WholeLook {
  const look = { source, target: ['<s>', ...written.slice(0, -1)], written, sites } as unknown as Look;
  const numbers = ([site, data]: [string, number[]]): [string, Numbers] => [
    site,
    { data: new Float32Array(data), shape: [], meta: {} },
  ];
  return { look, weights: new Map(Object.entries(weights).map(numbers)) };
}

const tired = whole(['it', 'tired'], ['il', 'dort'], {
  e: [1, 0, 0.5, 0.5],
  d: [1, 0, 1, 0, 0.2, 0.8, 1, 0],
});
const wide = whole(['it', 'wide'], ['elle', 'dort'], {
  e: [0.75, 0.25, 1, 0],
  d: [0.9, 0.1, 0, 1, 0.8, 0.2, 1, 0],
});

describe('the heads that differ most', () => {
  it('are ranked by the row that writes another word, and by the row of the word that is compared', () => {
    const found = differingHeads(tired, wide, [0, 0]);
    expect(found.map((one) => [one.site, one.head])).toEqual([
      ['d', 3],
      ['e', 0],
      ['d', 0],
    ]);
    expect(found[0]).toMatchObject({ query: '→ il / → elle', key: 'it' });
    expect([found[0].left, found[0].right].map((one) => one.toFixed(1))).toEqual(['0.2', '0.8']);
    expect(found[1]).toMatchObject({ query: 'it', left: 1, right: 0.75 });
  });
  it('are ranked by all rows where the same is written', () => {
    const same = whole(['it', 'wide'], ['il', 'dort'], {
      e: [1, 0, 0.5, 0.5],
      d: [1, 0, 0, 1, 0.2, 0.8, 1, 0],
    });
    expect(differingHeads(tired, same, [0, 0])).toMatchObject([
      { site: 'd', head: 0, query: '→ dort', left: 1, right: 0 },
    ]);
  });
  it('are none where nothing differs', () => {
    expect(differingHeads(tired, tired, [0, 0])).toEqual([]);
  });
  it('can be told only where the heads are the same ones, and not too many', () => {
    expect(rankable(tired.look, wide.look)).toBe(true);
    expect(rankable(tired.look, whole([], [], {}, [encoder]).look)).toBe(false);
    const long = whole([], [], {}, [{ ...encoder, queries: 2000, keys: 2000 }]).look;
    expect(rankable(long, long)).toBe(false);
  });
});
