import { describe, expect, it } from 'vitest';
import { fitView, fitZoom, panBy, viewOn } from '../../src/maths/tiles';
import { Fingers, keyMove, pinch, wheelFactor, type Around } from '../../src/views/map/gestures';
import { columnLabel, rowLabel, shortened } from '../../src/views/map/labels';
import { groundOf, layoutOf, miniSizeOf } from '../../src/views/map/layout';
import { barsAlong, closePart } from '../../src/views/map/marginals';

const small = { rows: 14, columns: 16 };
const large = { rows: 100_000, columns: 100_000 };

describe('the layout', () => {
  it('leaves room for words, and fits on a screen', () => {
    const wide = layoutOf(800, 900, large);
    expect(wide.pane.width + wide.left + wide.over).toBe(800);
    expect(wide.pane.height + wide.top).toBeLessThanOrEqual(900);
    const phone = layoutOf(320, 700, large);
    expect([phone.narrow, wide.narrow]).toEqual([true, false]);
    expect(phone.pane.width).toBeGreaterThan(200);
    const room = phone.left - phone.strip - 6 - 4; // beside a row
    expect(room).toBeGreaterThan(7.2 * '100,000'.length);
    expect(layoutOf(320, 700, small).left).toBe(80);
  });
  it('gives a short map no more height than it has rows', () => {
    const { pane } = layoutOf(2000, 2000, { rows: 3, columns: 3 });
    expect(pane.height).toBe(192);
    expect(groundOf(fitView({ rows: 3, columns: 3 }, pane), { rows: 3, columns: 3 }, pane)).toEqual({
      width: 192,
      height: 192,
    });
  });
  it('keeps the proportions of a map in its corner', () => {
    expect(miniSizeOf({ rows: 10, columns: 20 }, false)).toEqual({ width: 108, height: 54 });
    expect(miniSizeOf({ rows: 20, columns: 10 }, false)).toEqual({ width: 54, height: 108 });
    expect(miniSizeOf(large, true)).toEqual({ width: 64, height: 64 });
  });
});

describe('the marginals', () => {
  it('are bars as long as their bins say, where they are seen', () => {
    const values = new Float32Array([0, 1, 2, 4, NaN]);
    const bars = barsAlong(values, [0, 10], [10, 50], [0, 35], (position) => position - 10);
    expect(bars.map((bar) => bar.share)).toEqual([0.25, 0.5, 1]);
    expect(bars.map(({ from, to }) => [from, to])).toEqual([
      [0, 10],
      [10, 20],
      [20, 30],
    ]);
    expect(barsAlong(values, [0, 10], [35, 50], [0, 15], (position) => position - 35)).toEqual([
      { from: 0, to: 5, share: 1 },
    ]);
    expect(barsAlong(new Float32Array(3), [0, 1], [0, 3], [0, 3], (position) => position)).toEqual([]);
  });
});

describe('the marginals of a long text', () => {
  it('are one bar for each row and column once these are looked at closely', () => {
    expect(closePart(null, large)).toBeNull();
    expect(closePart({ row: 9, column: 9, zoom: 4 }, small)).toBeNull();
    expect(closePart({ row: 50_000, column: 9, zoom: 0.9 }, large)).toBeNull();
    const part = { rows: [47_616, 51_712], columns: [0, 4096] };
    expect(closePart({ row: 50_000, column: 9, zoom: 4 }, large)).toEqual(part);
    expect(closePart({ row: 50_100, column: 90, zoom: 40 }, large)).toEqual(part);
    expect(closePart({ row: 99_999, column: 0, zoom: 4 }, large)?.rows).toEqual([97_792, 100_000]);
  });
  it('begin where their part begins', () => {
    const bars = barsAlong(new Float32Array([1, 2]), [100, 1], [90, 102], [0, 12], (place) => place - 90);
    expect(bars).toEqual([
      { from: 10, to: 11, share: 0.5 },
      { from: 11, to: 12, share: 1 },
    ]);
  });
});

describe('words', () => {
  const width = (text: string) => text.length * 7;
  const words = (place: number, count: number) =>
    ['the', 'cat', 'sat', 'down'].slice(place, place + count).join(' ');
  const named = (screen: number, size = small) => ({
    layout: layoutOf(screen, 900, size), size, rowWords: words, columnWords: words,
  }); // prettier-ignore
  it('stand beside both axes at every zoom', () => {
    expect([rowLabel(named(800), 1, true), columnLabel(named(800), 1, true)]).toEqual(['cat', 'cat']);
    expect([rowLabel(named(800), 1, false), columnLabel(named(800), 1, false)]).toEqual([
      '1 cat sat down',
      '1 cat sat down',
    ]);
  });
  it('are one on a small screen', () => {
    expect([rowLabel(named(320), 1, false), columnLabel(named(320), 1, false)]).toEqual(['cat', '1 cat']);
    expect(rowLabel(named(320, large), 1, false)).toBe('1');
  });
  it('are cut to the room there is', () => {
    expect(shortened('street', 42, width)).toBe('street');
    expect(shortened('street', 35, width)).toBe('stre…');
    expect(shortened('street', 1, width)).toBe('s…');
  });
});

describe('fingers', () => {
  it('drag once they have moved, and click where they have not', () => {
    const fingers = new Fingers();
    expect(fingers.move(1, [5, 5])).toBeUndefined();
    fingers.press(1, [10, 10]);
    expect(fingers.move(1, [12, 11])).toBeNull();
    expect(fingers.lift(1)).toBe(true);
    fingers.press(1, [10, 10]);
    fingers.move(1, [13, 10]);
    expect(fingers.move(1, [20, 14])).toEqual({ dx: 7, dy: 4, factor: 1, at: [20, 14] });
    expect(fingers.lift(1)).toBe(false);
    expect(fingers.lift(1)).toBe(false);
  });
  it('zoom in twos, around their middle', () => {
    const fingers = new Fingers();
    fingers.press(1, [0, 0]);
    fingers.press(2, [10, 0]);
    expect(fingers.move(2, [20, 0])).toEqual({ dx: 5, dy: 0, factor: 2, at: [10, 0] });
    expect(fingers.lift(2)).toBe(false);
    expect(pinch([[0, 0], [4, 0]], [[0, 0], [2, 0]]).factor).toBe(0.5); // prettier-ignore
  });
  it('turn a wheel by lines or pixels, faster on a touchpad', () => {
    expect(wheelFactor({ deltaY: 0, deltaMode: 0, ctrlKey: false })).toBe(1);
    expect(wheelFactor({ deltaY: -18, deltaMode: 0, ctrlKey: false })).toBeCloseTo(
      wheelFactor({ deltaY: -1, deltaMode: 1, ctrlKey: false }),
    );
    const [plain, pinched] = [false, true].map((ctrlKey) =>
      wheelFactor({ deltaY: -10, deltaMode: 0, ctrlKey }),
    );
    expect(pinched).toBeGreaterThan(plain);
  });
});

describe('keys', () => {
  const pane = { width: 600, height: 500 };
  const press = (key: string, around: Partial<Around> = {}, shiftKey = false) => {
    const size = around.size ?? small;
    const view = around.view ?? fitView(size, pane);
    const whole = view.zoom <= fitZoom(size, pane);
    return keyMove(
      { key, shiftKey, altKey: false },
      { size, pane, view, whole, pointed: null, selected: null, ...around },
    );
  };
  it('walk from token to token where there is room, and no further than the map', () => {
    const selected = { row: 3, column: 15 };
    expect(press('ArrowDown', { selected })).toEqual({
      kind: 'point',
      cell: { row: 4, column: 15 },
      dx: 0,
      dy: 0,
    });
    const pointed = { row: 13, column: 15 };
    for (const key of ['ArrowDown', 'ArrowRight'])
      expect(press(key, { selected, pointed })).toMatchObject({ kind: 'point', cell: pointed });
  });
  it('take the map along at its edge', () => {
    const view = viewOn(50_000, 50_000, 20, large, pane);
    const moved = press('ArrowLeft', {
      size: large,
      view,
      pointed: { row: 50_000, column: Math.ceil(view.column) },
    });
    expect(moved).toMatchObject({ kind: 'point', dx: 20, dy: 0 });
    expect(panBy(view, 20, 0, large, pane).column).toBeLessThan(view.column);
  });
  it('move the map where tokens are too small', () => {
    expect(press('ArrowUp', { size: large })).toEqual({ kind: 'pan', dx: 0, dy: 50 });
    expect(press('ArrowUp', {}, true)).toEqual({ kind: 'pan', dx: 0, dy: 250 });
  });
  it('zoom, show all, pick and leave; others are for the browser', () => {
    expect(press('+')).toEqual({ kind: 'zoom', factor: 1.5 });
    expect(press('0')).toEqual({ kind: 'all' });
    expect(press('Enter')).toBeNull();
    expect(press('Enter', { pointed: { row: 0, column: 0 } })).toEqual({ kind: 'pick' });
    expect(press('Escape')).toEqual({ kind: 'leave' });
    expect(press('Tab')).toBeNull();
  });
});
