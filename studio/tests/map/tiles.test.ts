import { describe, expect, it } from 'vitest';
import { clipPlace } from '../../src/maths/colour_gpu';
import {
  bytesOf, cellsOf, centred, CLOSEST, deepestLevel, fitView, fitZoom, labelsAlong, levelFor, LruCache, massShare, panBy, positionAt, seen,
  spanAt, tileAt, tilesFor, viewOn, wholeLevel, zoomAt,
} from '../../src/maths/tiles'; // prettier-ignore

const pane = { width: 700, height: 700 };
const small = { rows: 16, columns: 14 };
const large = { rows: 100_000, columns: 100_000 };

describe('levels', () => {
  it('gives every cell at least a pixel and fewer than two', () => {
    expect(levelFor(1, 9)).toBe(0);
    expect(levelFor(40, 9)).toBe(0);
    expect(levelFor(0.5, 9)).toBe(1);
    expect(levelFor(0.4, 9)).toBe(2);
    expect(levelFor(0.0001, 9)).toBe(9);
    for (const zoom of [0.9, 0.37, 0.011]) {
      const pixels = zoom * 2 ** levelFor(zoom, 30);
      expect(pixels).toBeGreaterThanOrEqual(1);
      expect(pixels).toBeLessThan(2);
    }
  });
  it('ends where a map fits in one tile', () => {
    expect(deepestLevel(small)).toBe(0);
    expect(deepestLevel({ rows: 257, columns: 3 })).toBe(1);
    expect(deepestLevel(large)).toBe(9);
  });
  it('makes no tile of more than the server computes at once', () => {
    for (let level = 0; level <= 20; level++)
      expect(spanAt(level)).toBeLessThanOrEqual(Math.max(32_768, 2 ** level));
  });
  it('shares mass by rows', () => {
    expect(massShare(3, 'mass')).toBe(1 / 8);
    expect(massShare(3, 'max')).toBe(1);
  });
});

describe('all of a map', () => {
  const screens = [320, 790, 1150, 1310, 1870, 2510, 3790].map((width) => ({
    width,
    height: Math.round(width * 0.56),
  }));
  screens.push({ width: 1140, height: 1140 });
  it('is less than a megabyte of numbers on every screen, however long the text', () => {
    for (const pane of screens)
      for (const count of [4096, 16_384, 20_000, 66_000, 100_000, 131_072, 400_000])
        for (const causal of [true, false]) {
          const size = { rows: count, columns: count };
          const [level, view] = [wholeLevel(size, pane, causal), fitView(size, pane)];
          const levels = [level, deepestLevel(size)];
          const numbers = bytesOf(levels.flatMap((one) => tilesFor(one, view, size, pane, causal)));
          expect(numbers + 2 * 4096 * 4).toBeLessThan(1_000_000);
          expect(level - levelFor(view.zoom, 30)).toBeLessThanOrEqual(2);
        }
  });
  it('is as fine as the screen where that is little', () => {
    const pane = { width: 640, height: 640 };
    expect(wholeLevel(large, pane, true)).toBe(levelFor(fitZoom(large, pane), 9));
    expect(wholeLevel(small, pane, false)).toBe(0);
    expect(wholeLevel({ rows: 1000, columns: 1000 }, { width: 1100, height: 1100 }, false)).toBe(0);
  });
  it('counts a tile once, and four bytes for an exact weight', () => {
    const tile = tileAt(0, 0, 0, small);
    expect(bytesOf([tile, tile])).toBe(4 * small.rows * small.columns);
    expect(bytesOf([tileAt(1, 0, 0, large)])).toBe(2 * 256 * 256);
  });
});

describe('tiles', () => {
  it('cover what is seen, each place once', () => {
    for (const [size, view] of [
      [small, fitView(small, pane)],
      [large, fitView(large, pane)],
      [large, viewOn(50_000, 31_000, 3, large, pane)],
      [large, viewOn(99_999, 99_999, 0.05, large, pane)],
    ] as const) {
      const level = levelFor(view.zoom, deepestLevel(size));
      const tiles = tilesFor(level, view, size, pane);
      expect(new Set(tiles.map((tile) => tile.key)).size).toBe(tiles.length);
      const area = seen(view, size, pane);
      const covered = tiles.reduce((sum, tile) => {
        const side = (of: 'rows' | 'columns') =>
          Math.min(tile[of][1], area[of][1]) - Math.max(tile[of][0], area[of][0]);
        return sum + side('rows') * side('columns');
      }, 0);
      expect(covered).toBe((area.rows[1] - area.rows[0]) * (area.columns[1] - area.columns[0]));
    }
  });
  it('are few enough: a first look at 100,000 x 100,000 is less than a megabyte', () => {
    const view = fitView(large, pane);
    const tiles = tilesFor(levelFor(view.zoom, deepestLevel(large)), view, large, pane);
    const numbers = tiles.map(cellsOf).reduce((sum, [down, across]) => sum + down * across, 0);
    expect(numbers * 2).toBeLessThan(1_000_000); // float16
  });
  it('are not asked for above the diagonal of a causal map', () => {
    const view = fitView(large, pane);
    const level = levelFor(view.zoom, deepestLevel(large));
    expect(tilesFor(level, view, large, pane, true).length).toBeLessThan(
      tilesFor(level, view, large, pane).length,
    );
    for (const tile of tilesFor(level, view, large, pane, true))
      expect(tile.columns[0]).toBeLessThan(tile.rows[1]);
  });
  it('have whole cells at the edge too', () => {
    const tile = tileAt(3, 1030, 5, { rows: 1034, columns: 1034 });
    expect(tile.rows).toEqual([0, 1034]);
    expect(cellsOf(tile)).toEqual([130, 130]);
    expect(cellsOf(tileAt(0, 15, 13, small))).toEqual([16, 14]);
  });
  it('hold the place they are asked for', () => {
    for (const [row, column] of [[0, 0], [99_999, 3], [32_768, 65_535]]) {
      const tile = tileAt(6, row, column, large);
      expect(tile.rows[0] <= row && row < tile.rows[1]).toBe(true);
      expect(tile.columns[0] <= column && column < tile.columns[1]).toBe(true);
    }
  }); // prettier-ignore
});

describe('moving about', () => {
  it('keeps what is under the pointer where it is', () => {
    const view = viewOn(40_000, 60_000, 0.5, large, pane);
    const before = positionAt(view, 200, 333, large)!;
    const after = positionAt(zoomAt(view, 2, 200, 333, large, pane), 200, 333, large)!;
    expect(Math.abs(after.row - before.row)).toBeLessThanOrEqual(2);
    expect(Math.abs(after.column - before.column)).toBeLessThanOrEqual(2);
  });
  it('stays on the map, and between all of it and one weight', () => {
    const view = fitView(large, pane);
    expect(view.zoom).toBe(fitZoom(large, pane));
    expect(zoomAt(view, 0.01, 0, 0, large, pane).zoom).toBe(view.zoom);
    expect(zoomAt(view, 1e9, 0, 0, large, pane).zoom).toBe(CLOSEST);
    expect(panBy(view, 5000, 5000, large, pane)).toEqual(view);
    const corner = viewOn(99_999, 99_999, 10, large, pane);
    expect(corner.row).toBeCloseTo(100_000 - 70);
    expect(centred({ row: -5, column: -5, zoom: 10 }, large, pane)).toMatchObject({ row: 0, column: 0 });
  });
  it('says where a pixel lies, and that beside the map there is nothing', () => {
    const view = fitView(small, pane);
    expect(positionAt(view, 1, 1, small)).toEqual({ row: 0, column: 0 });
    expect(positionAt(view, 699, 1, small)).toBeNull(); // 14 columns of 43.75 pixels
    expect(positionAt(view, -1, 1, small)).toBeNull();
  });
  it('puts a place in the middle', () => {
    const view = viewOn(500, 700, 8, large, pane);
    expect(positionAt(view, 350, 350, large)).toEqual({ row: 500, column: 700 });
  });
});

describe('labels', () => {
  it('stand at every token while they have room', () =>
    expect(labelsAlong(0, 20, 100, 14, 15)).toEqual([0, 1, 2, 3, 4]));
  it('else at round positions', () => {
    const labels = labelsAlong(0, 0.007, 700, 100_000, 15);
    expect(labels.slice(0, 3)).toEqual([0, 5000, 10_000]);
    expect(labelsAlong(123.4, 2, 100, 1000, 15)).toEqual([130, 140, 150, 160, 170]);
  });
});

describe('what was used last', () => {
  it('is kept; the rest is let go', () => {
    const gone: string[] = [];
    const cache = new LruCache<string>(2, (value) => gone.push(value));
    cache.set('a', 'A');
    cache.set('b', 'B');
    cache.get('a');
    cache.set('c', 'C');
    expect(gone).toEqual(['B']);
    expect(cache.has('a')).toBe(true);
    cache.clear();
    expect(gone).toEqual(['B', 'A', 'C']);
  });
});

describe('clip space', () => {
  it('begins in the upper left corner', () => {
    expect(clipPlace(0, 0, 700, 700, pane)).toEqual([-1, 1, 2, 2]);
    expect(clipPlace(350, 350, 70, 35, pane)).toEqual([0, 0, 0.2, 0.1]);
  });
});
