import { describe, expect, it } from 'vitest';
import { extentOf, nearestPoint, placeIn, readingOrder, roundTicks } from '../../src/maths/scatter';

describe('a scatter plot', () => {
  it('has room around its points, also around a single one', () => {
    const { low, high } = extentOf([1, 3, NaN]);
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(3);
    expect(extentOf([2]).low).toBeLessThan(2);
    expect(extentOf([])).toEqual({ low: 0, high: 1 });
    expect(extentOf([0]).high).toBeGreaterThan(0);
  });
  it('does not look closer than numbers are rounded', () => {
    const extent = extentOf([1, 1 - 2 ** -52]);
    expect(extent.high - extent.low).toBeGreaterThan(0.1);
    const ticks = roundTicks(extent, 5);
    expect(new Set(ticks).size).toBe(ticks.length);
  });
  it('has round ticks inside', () => {
    expect(roundTicks({ low: 0.02, high: 1.01 }, 5)).toEqual([0.2, 0.4, 0.6, 0.8, 1]);
    expect(roundTicks({ low: -0.3, high: 0.1 }, 4)).toEqual([-0.3, -0.2, -0.1, 0, 0.1]);
    expect(roundTicks({ low: 1, high: 1 }, 4)).toEqual([]);
  });
  it('finds the point that is pointed at', () => {
    const points = [{ x: 10, y: 10 }, { x: 50, y: 50 }]; // prettier-ignore
    expect(nearestPoint(points, 14, 10, 8)).toBe(0);
    expect(nearestPoint(points, 30, 30, 8)).toBeNull();
    expect(readingOrder([{ x: 5, y: 0 }, { x: 1, y: 9 }])).toEqual([1, 0]); // prettier-ignore
    expect(placeIn(5, { low: 0, high: 10 }, 100, 0)).toBe(50);
  });
});
