// What a page brings along, read: tests/golden/look_page.json, which Python reads too.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { largestCells, poolGrid } from '../../src/maths/pool';
import { foundPositions } from '../../src/maths/search';
import { KernelSource, type Answered } from '../../src/widget/kernelSource';
import { PageSource } from '../../src/widget/pageSource';
import { fromLetters, openPayload, type Description } from '../../src/widget/payload';

interface GoldenHead {
  numbers: number[][];
  exact: number[][];
}
interface GoldenPage {
  name: string;
  description: Description;
  levels: string;
  exact: string;
  norms: string;
  maps: GoldenHead[][];
  shares: number[];
}
const golden = JSON.parse(readFileSync('../tests/golden/look_page.json', 'utf8')) as GoldenPage[];
const [causal, , closer, byValue] = golden;
const SITE = 'layers.0.attn';

const opened = (page: GoldenPage) =>
  openPayload(
    page.description,
    [page.levels, page.exact, page.norms].map((text) => fromLetters(text)),
  );
const sourceOf = async (page: GoldenPage) =>
  new PageSource(page.description, await opened(page), page.description.row);
const close = (found: ArrayLike<number>, expected: number[]) => {
  expect(found.length).toBe(expected.length);
  expected.forEach((value, at) => expect(found[at]).toBeCloseTo(value, 6));
};

describe('letters', () => {
  it('are bytes, five for four', () => {
    expect(Array.from(fromLetters('009C6'))).toEqual([0, 1, 2, 3]);
    expect(Array.from(fromLetters('{{I0'))).toEqual([254, 255, 1]);
    expect(fromLetters('')).toHaveLength(0);
  });
  it('that are none are said', () => {
    expect(() => fromLetters('00<00')).toThrow('<');
  });
});

describe.each(golden)('$name', (page) => {
  it('has the numbers that Python reads in it, and knows which are exact', async () => {
    const plates = await opened(page);
    expect(plates).toHaveLength(page.maps.length);
    plates.forEach((plate, place) =>
      page.maps[place].forEach((head, at) => {
        const { data, exact } = plate.numbers(at);
        close(data, head.numbers.flat());
        const wide = head.numbers[0].length;
        const known = head.exact.flatMap((columns, row) => columns.map((column) => row * wide + column));
        expect(Array.from(exact.keys()).filter((cell) => exact[cell])).toEqual(known);
      }),
    );
  });
});

describe('a page', () => {
  it('that was cut short is not shown', async () => {
    const cut = { ...causal, norms: golden[1].norms };
    await expect(opened(cut)).rejects.toThrow('not all there');
  });

  it('has norms as shares of the largest', async () => {
    const [first] = await opened(causal);
    const largest = causal.description.maps[0].norms!.largest;
    close(
      first.norms(1),
      causal.shares.slice(7, 14).map((share) => (share / 65535) * largest[1]),
    );
  });

  it('is a look: sites, sides and what a query may see', async () => {
    const { look } = await sourceOf(causal);
    expect(look.sites.map((one) => one.site)).toEqual([SITE, 'layers.1.attn']);
    expect(look.sites[0]).toMatchObject({ queries: 7, keys: 7, causal: true, values: true, writes: true });
    expect(look.target.slice(0, 2)).toEqual([' word0', ' word1']);
    expect(look.written.slice(0, 2)).toEqual([' word1', ' word2']);
    expect([look.source_count, look.target_count]).toEqual([0, 7]);
  });

  it('weighs by value with the norms', async () => {
    const source = await sourceOf(causal);
    const [weights, products] = [await source.head(SITE, 1), await source.head(SITE, 1, 'value')];
    const norms = source.plate(SITE, 1).norms(1);
    close(
      products.data,
      Array.from(weights.data, (weight, at) => weight * norms[at % 7]),
    );
    expect(products.meta).toEqual({ site: SITE, head: 1, by: 'value' });
  });

  it('says a number as far as it is known', async () => {
    const source = await sourceOf(causal);
    const { exact } = source.plate(SITE, 0).numbers(0);
    expect(exact[0]).toBe(1);
    expect(source.can.figure!(SITE, 0, 0, 0, 'weight')).toBe('1.0000');
    const [head] = golden[1].maps[0];
    const cells = head.numbers.flatMap((row, r) => row.map((value, c) => ({ value, r, c })));
    const rounded = cells.find(({ value, r, c }) => value > 0 && !head.exact[r].includes(c))!;
    const other = await sourceOf(golden[1]);
    const figure = other.can.figure!(SITE, 0, rounded.r, rounded.c, 'weight');
    expect(figure).toBe(`≈ ${rounded.value.toFixed(3)} ± 0.002`);
  });

  it('is pooled where its text is long, and finer where it was asked for', async () => {
    const source = await sourceOf(closer);
    expect([source.can.finest(SITE, 0), source.can.finest(SITE, 1)]).toEqual([2, 0]);
    expect([source.can.pools(SITE, 0), source.can.pools(SITE, 1)]).toEqual([
      ['max'],
      ['mass', 'max', 'mean'],
    ]);
    const [coarse, fine] = [0, 1].map((head) => source.tile(SITE, head, [0, 13], [0, 13], [13, 13], 'max'));
    expect((await coarse).shape).toEqual([4, 4]);
    expect((await fine).shape).toEqual([13, 13]);
    const whole = await source.tile(SITE, 1, [0, 13], [0, 13], [4, 4], 'max');
    expect([whole.shape, whole.meta]).toEqual([[4, 4], { cell: [4, 4] }]);
    close(whole.data, closer.maps[0][1].numbers.flat().map((value, at) => (
      Math.max(...blockOf(closer.maps[1][0].numbers, at)) || value
    ))); // prettier-ignore
  });

  it('pooled by value has products, and says how they are meant', async () => {
    const source = await sourceOf(byValue);
    const largest = byValue.description.maps[0].norms!.largest[0];
    const { data } = await source.head(SITE, 0);
    close(
      data,
      byValue.maps[0][0].numbers.flat().map((share) => share * largest),
    );
    const { wide, words } = source.plate(SITE, 0);
    const best = data.indexOf(Math.max(...data));
    const [row, column] = [words.cell[0] * Math.floor(best / wide), words.cell[1] * (best % wide)];
    expect(source.can.figure!(SITE, 0, row, column, 'weight')).toMatch(/^≈ [\d.]+ ± [\d.]+$/);
  });

  it('finds the strongest cells but for the diagonal and the first key', async () => {
    const source = await sourceOf(golden[1]);
    const [best] = await source.strongest(SITE, 0, 3, {});
    const all = golden[1].maps[0][0].numbers.flatMap((row, r) => row.filter((_, c) => c > 0 && c !== r));
    expect(best.weight).toBeCloseTo(Math.max(...all), 6);
    const [every] = await source.strongest(SITE, 0, 1, { all: true });
    expect(every.weight).toBeCloseTo(Math.max(...golden[1].maps[0][0].numbers.flat()), 6);
  });
});

/** The numbers of a 13 x 13 grid that lie in a cell of 4 x 4. */
function blockOf(numbers: number[][], at: number): number[] {
  const [down, across] = [Math.floor(at / 4) * 4, (at % 4) * 4];
  return numbers.slice(down, down + 4).flatMap((row) => row.slice(across, across + 4));
}

describe('a kernel', () => {
  const question: Record<string, unknown>[] = [];
  const kernel = async (answer: Partial<Answered>) => {
    question.length = 0;
    const ask = async (asked: Record<string, unknown>) => {
      question.push(asked);
      return { content: { shape: [1, 1], meta: {} }, data: new Float32Array([0.5]), ...answer };
    };
    return new KernelSource(causal.description, await opened(causal), 'output', ask);
  };

  it('is asked once for what it has said already', async () => {
    const source = await kernel({});
    await source.head(SITE, 1);
    await source.head(SITE, 1);
    expect(question).toEqual([{ what: 'weights', site: SITE, head: 1, by: 'weight' }]);
  });

  it('is asked again after it failed', async () => {
    const source = await kernel({});
    Object.assign(source, { ask: () => Promise.reject(new Error('gone')) });
    await expect(source.marginals(SITE, 0, 8, {})).rejects.toThrow('gone');
    Object.assign(source, {
      ask: async () => ({ content: { shape: [2, 1], meta: {} }, data: new Float32Array(2) }),
    });
    expect((await source.marginals(SITE, 0, 8, {})).shape).toEqual([2, 1]);
  });

  it('gives cells their words', async () => {
    const source = await kernel({ content: { cells: [[3, 1, 0.25]] } });
    expect(await source.strongest(SITE, 0, 5, {})).toEqual([
      { row: 3, column: 1, weight: 0.25, row_token: ' word3', column_token: ' word1' },
    ]);
  });
});

describe('grids', () => {
  const grid = { data: Float32Array.from({ length: 15 }, (_, at) => at), rows: 3, columns: 5 };
  it('are pooled in cells, of which the last may be smaller', () => {
    const pooled = (by: 'mass' | 'max' | 'mean') => Array.from(poolGrid(grid, [0, 3], [0, 5], 2, by).data);
    expect(pooled('max')).toEqual([6, 8, 9, 11, 13, 14]);
    expect(pooled('mass')).toEqual([12, 20, 13, 21, 25, 14]);
    expect(pooled('mean')).toEqual([3, 5, 6.5, 10.5, 12.5, 14]);
  });
  it('have largest cells, of equals the first', () => {
    const flat = { data: new Float32Array([1, 3, 3, 0]), rows: 2, columns: 2 };
    expect(largestCells(flat, 3, [0, 2], [0, 2]).map(({ row, column }) => [row, column])).toEqual([
      [0, 1],
      [1, 0],
      [0, 0],
    ]);
  });
});

it('a text is found wherever its tokens are cut', () => {
  const tokens = ['The', ' ani', 'mal', ' and', ' the', ' Animal'];
  expect(foundPositions(tokens, 'animal')).toEqual({ positions: [1, 5], more: false });
  expect(foundPositions(tokens, ' ')).toEqual({ positions: [], more: false });
});
