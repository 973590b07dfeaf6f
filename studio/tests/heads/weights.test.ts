import { describe, expect, it } from 'vitest';
import type { HeadChange, Look, SiteInfo } from '../../src/contract/types';
import { formatChanges, hasChange, parseChanges, toggled } from '../../src/views/heads/changes';
import { linesSvg } from '../../src/views/heads/linesSvg';
import { pairOf, pairOff, rankHeads, shareOfEffects } from '../../src/views/heads/story';
import { pooled } from '../../src/views/heads/thumbnail';
import { columnName, formatPlace, parsePlace, readable, rowName } from '../../src/views/heads/tokens';
import {
  changedTokens,
  columnOf,
  commonTokens,
  headWeights,
  keysSeen,
  products,
  rowOf,
  strongestLinks,
  topOfColumn,
  topOfRow,
} from '../../src/views/heads/weights';

const site = (changes: Partial<SiteInfo> = {}): SiteInfo => ({
  site: 'decoder.0.cross', kind: 'cross', heads: 1, head_numbers: [0], queries: 2, keys: 2, rows: 'target', columns: 'source',
  causal: false, writes: true, values: true, ...changes,
}); // prettier-ignore

const look = {
  source: ['it', ' sleeps'], target: ['<s>', 'il'], written: ['il', ' dort'], source_count: 2, target_count: 2,
  sites: [site(), site({ site: 'encoder.0.self', kind: 'encoder', rows: 'source', writes: false })],
} as unknown as Look; // prettier-ignore

const numbers: Record<string, Float32Array> = {
  'decoder.0.cross': Float32Array.of(0.6, 0.4, 0.9, 0.1),
  'encoder.0.self': Float32Array.of(0.2, 0.8, 0.5, 0.5),
};
const weightsOf = (name: string) => numbers[name] ?? null;

describe('weights of a head', () => {
  it('takes one head out of all of a site', () => {
    const all = Float32Array.of(1, 0, 0, 1, 0.5, 0.5, 0.25, 0.75);
    expect([...headWeights(all, site({ heads: 2 }), 1).data]).toEqual([0.5, 0.5, 0.25, 0.75]);
  });
  it('counts the keys that a query may look at', () => {
    expect(keysSeen(site({ keys: 5 }), 0)).toBe(5);
    expect([0, 1].map((row) => keysSeen(site({ causal: true, keys: 2 }), row))).toEqual([1, 2]);
    expect([0, 1].map((row) => keysSeen(site({ causal: true, keys: 5 }), row))).toEqual([4, 5]); // after a cache
  });
  it('hides what a causal site may not see', () => {
    const { data } = headWeights(Float32Array.of(1, 0, 0.5, 0.5), site({ causal: true }), 0);
    expect([...data]).toEqual([1, NaN, 0.5, 0.5]);
  });
  it('finds the strongest of a row, of a column and of all', () => {
    const weights = { data: Float32Array.of(0.2, 0.8, 0.01, 0.99), rows: 2, columns: 2 };
    expect(topOfRow(weights, 0)).toMatchObject({ column: 1 });
    expect(topOfColumn(weights, 0)).toMatchObject({ row: 0 });
    expect(strongestLinks(weights).map((link) => [link.row, link.column])).toEqual([[0, 0], [0, 1], [1, 1]]); // prettier-ignore
    expect(strongestLinks(weights, 0.02, 1)).toHaveLength(1);
    expect(topOfRow({ ...weights, data: new Float32Array(4) }, 0)).toBeNull();
    expect(rowOf(weights, 1)[1]).toBeCloseTo(0.99);
    expect(columnOf(weights, 0)[1]).toBeCloseTo(0.01);
  });
  it('pools what is too large for a small picture by the largest', () => {
    const data = Float32Array.from({ length: 16 }, (_, index) => index);
    expect([...pooled({ data, rows: 4, columns: 4 }, 2).data]).toEqual([5, 7, 13, 15]);
  });
});

describe('why a cell', () => {
  it('splits a score by dimension, the largest share first, and loses nothing', () => {
    const parts = products([1, -2, 3], [4, 5, 0.5]);
    expect(parts.map((one) => one.dimension)).toEqual([1, 0, 2]);
    expect(parts.reduce((sum, one) => sum + one.product, 0)).toBeCloseTo(1 * 4 - 2 * 5 + 3 * 0.5);
  });
});

describe('changes in the address', () => {
  const changes: HeadChange[] = [
    { site: 'decoder.1.cross', head: 3, kind: 'silence' },
    { site: 'model.layers.0.self_attn', head: null, kind: 'sharpen', factor: 2.5 },
    { site: 'a', head: 0, kind: 'pin', row: 10, column: 3 },
    { site: 'a', head: 1, kind: 'forbid', row: null, column: 11 },
  ];
  it('says them and reads them again', () => expect(parseChanges(formatChanges(changes))).toEqual(changes));
  it('drops what it cannot read', () =>
    expect(parseChanges('a~0~explode,~~silence,a~x~silence,a~0~pin~1')).toEqual([]));
  it('takes one back, and does not silence and sharpen at once', () => {
    const [silence] = changes;
    expect(toggled([silence], silence)).toEqual([]);
    const sharper = toggled([silence], { ...silence, kind: 'sharpen', factor: 4 });
    expect(sharper.map((one) => one.kind)).toEqual(['sharpen']);
    expect(hasChange(sharper, silence)).toBe(false);
  });
  it('lets no query look at two keys alone, or at one that is forbidden to it', () => {
    const [, , pin] = changes;
    const elsewhere = { ...pin, column: 4 };
    const forbid = { ...pin, kind: 'forbid' as const };
    expect(toggled([pin], elsewhere)).toEqual([elsewhere]);
    expect(toggled([pin], forbid)).toEqual([forbid]);
    expect(toggled([forbid], pin)).toEqual([pin]);
    const apart = [pin, { ...pin, row: 11 }, { ...forbid, column: 4 }, { ...forbid, head: 1 }];
    expect(apart.reduce(toggled, [] as HeadChange[])).toEqual(apart);
  });
});

describe('two outputs', () => {
  it('marks the tokens that only one of them has', () => {
    const [before, after] = changedTokens(['qu’', 'il', 'était'], ['qu’', 'elle', 'était']);
    expect(before).toEqual([false, true, false]);
    expect(after).toEqual([false, true, false]);
    expect(commonTokens(['a', 'b', 'a'], ['b', 'a'])).toEqual([[1, 0], [2, 1]]); // prettier-ignore
  });
});

describe('the story of a word', () => {
  it('gives every word one partner, the strongest pair first', () => {
    // both rows look at the first column most: the second column gets the row that is left
    expect([...pairOff([0.6, 0.4, 0.9, 0.1], 2, 2)]).toEqual([[0, 1], [1, 0]]); // prettier-ignore
    expect(pairOf(look, { side: 'source', index: 0 }, weightsOf)).toEqual({ source: 0, written: 1 });
    expect(pairOf(look, { side: 'written', index: 0 }, weightsOf)).toEqual({ source: 1, written: 0 });
    expect(pairOf(look, { side: 'written', index: 9 }, weightsOf)).toEqual({ source: null, written: null });
  });
  it('asks only the heads that align, where it is known which do', () => {
    const misled = Float32Array.of(0.6, 0.4, 0.9, 0.1, 0.9, 0.1, 0.2, 0.8); // two heads: the second one aligns
    const two = { ...look, sites: [site({ heads: 2, head_numbers: [0, 1] })] } as unknown as Look;
    const pairs = (alignment: Partial<Look['alignment']>) =>
      pairOf({ ...two, alignment } as Look, { side: 'source', index: 0 }, () => misled).written;
    expect(pairs({ site: 'decoder.0.cross', heads: [0], row: 'output' })).toBe(1);
    expect(pairs({ site: 'decoder.0.cross', heads: [1], row: 'output' })).toBe(0);
    expect(pairs({ site: 'decoder.0.cross', heads: [0], row: 'input' })).toBe(0); // the row after the one that writes
  });
  it('ranks heads by what their silence costs this very word, and says what each looks at there', () => {
    const rows = [
      { site: 'decoder.0.cross', head: 0, effect: -0.1, by_token: [-0.2, 0] },
      { site: 'encoder.0.self', head: 0, effect: -0.05, by_token: [-3, 0] },
    ];
    const ranked = rankHeads(
      look,
      { baseline: 0, tokens: ['il', ' dort'], rows },
      { source: 0, written: 0 },
      weightsOf,
    );
    expect(ranked.map((one) => [one.site, one.effect, one.key])).toEqual([
      ['encoder.0.self', -3, ' sleeps'],
      ['decoder.0.cross', -0.2, 'it'],
    ]);
    expect(ranked.map((one) => one.query)).toEqual(['it', '→ il']);
    expect(shareOfEffects(ranked).get('decoder.0.cross 0')).toBeCloseTo(0.2 / 3);
  });
  it('has heads in order before effects are known', () => {
    const ranked = rankHeads(look, null, { source: 0, written: 1 }, weightsOf);
    expect(ranked).toHaveLength(2);
    expect(ranked[0].effect).toBeNaN();
  });
});

describe('tokens as labels', () => {
  it('names what cannot be seen, cuts what is endless, and leaves markup text', () => {
    expect(readable(' tired')).toBe('tired');
    expect(readable('\u200b')).toBe('◌');
    expect(readable('\u202eabc')).toBe('◌abc');
    expect(readable(' ')).toBe('␣');
    expect(readable('')).toBe('∅');
    expect(readable('<script>')).toBe('<script>');
    expect([...readable('x'.repeat(10_000))]).toHaveLength(49);
  });
  it('calls a row of a decoder by what it writes', () => {
    expect(rowName(look, look.sites[0], 0)).toBe('→ il');
    expect(rowName(look, look.sites[1], 0)).toBe('it');
    expect(columnName(look, look.sites[0], 1)).toBe('sleeps');
  });
  it('writes a place into the address', () => {
    expect(parsePlace(formatPlace({ side: 'written', index: 10 }))).toEqual({ side: 'written', index: 10 });
    expect(parsePlace('source:x')).toBeNull();
  });
  it('escapes them in a picture', () => {
    const weights = { data: Float32Array.of(1), rows: 1, columns: 1 };
    const picture = { weights, rowLabels: ['<b>'], columnLabels: ['&'], largest: 1, title: '"', ink: '#000', ground: '#fff', line: '#f00' }; // prettier-ignore
    expect(linesSvg(picture)).toContain('&lt;b&gt;');
    expect(linesSvg(picture)).not.toContain('<b>');
  });
});
