// Fingers, mouse and keys over a map: what each of them means, before anything is done about it.

import { positionAt, seen, type MapSize, type MapView, type Pane } from '../../maths/tiles';
import type { MapCell } from './place';

export type Point = readonly [number, number];

/** How far a map is drawn along, and then made larger around a pixel. */
export interface Drag {
  dx: number;
  dy: number;
  factor: number;
  at: Point;
}

const STILL = 4; // pixels of a hand that only clicks

/** The pointers that are down; what they do together. */
export class Fingers {
  readonly #down = new Map<number, Point>();
  #moved = 0;

  press(id: number, at: Point): void {
    this.#down.set(id, at);
    this.#moved = 0;
  }

  /** Undefined: this pointer is not down; null: it has not moved enough to mean anything. */
  move(id: number, at: Point): Drag | null | undefined {
    const last = this.#down.get(id);
    if (!last) return undefined;
    this.#moved += Math.abs(at[0] - last[0]) + Math.abs(at[1] - last[1]);
    const before = [...this.#down.values()];
    this.#down.set(id, at);
    const after = [...this.#down.values()];
    if (after.length > 1) return pinch([before[0], before[1]], [after[0], after[1]]);
    return this.#moved > STILL ? { dx: at[0] - last[0], dy: at[1] - last[1], factor: 1, at } : null;
  }

  /** Was it a click? */
  lift(id: number): boolean {
    const click = this.#down.size === 1 && this.#down.has(id) && this.#moved <= STILL;
    this.#down.delete(id);
    return click;
  }
}

/** What two fingers did: where they are now, and how much further apart. */
export function pinch(before: readonly [Point, Point], after: readonly [Point, Point]): Drag {
  const spread = ([a, b]: readonly [Point, Point]) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
  const middle = ([a, b]: readonly [Point, Point]): Point => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  const [from, to] = [middle(before), middle(after)];
  return { dx: to[0] - from[0], dy: to[1] - from[1], factor: spread(after) / spread(before), at: to };
}

/** How much nearer a turn of the wheel brings; a pinch on a touchpad comes as a wheel with the control key. */
export function wheelFactor({
  deltaY,
  deltaMode,
  ctrlKey,
}: Pick<WheelEvent, 'deltaY' | 'deltaMode' | 'ctrlKey'>): number {
  const lines = deltaMode === 1 ? 18 : 1;
  return Math.exp(-deltaY * lines * (ctrlKey ? 0.01 : 0.002));
}

export type KeyMove =
  | { kind: 'pan'; dx: number; dy: number }
  | { kind: 'point'; cell: MapCell; dx: number; dy: number }
  | { kind: 'zoom'; factor: number }
  | { kind: 'all' | 'pick' | 'leave' };

export interface Around {
  view: MapView;
  size: MapSize;
  pane: Pane;
  /** All of the map is seen. */
  whole: boolean;
  pointed: MapCell | null;
  selected: MapCell | null;
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [1, 0],
  ArrowRight: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
const WALKED = 6; // pixels of a token from which on arrows walk from one to the next

/** What a key means here; null: nothing. */
export function keyMove(
  { key, shiftKey, altKey }: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'altKey'>,
  around: Around,
): KeyMove | null {
  const arrow = ARROWS[key];
  if (arrow) {
    if (altKey) return null;
    if (around.view.zoom >= WALKED && !shiftKey) return walk(arrow, around);
    const step = shiftKey ? 0.5 : 0.1;
    return { kind: 'pan', dx: arrow[0] * step * around.pane.width, dy: arrow[1] * step * around.pane.height };
  }
  if (key === '+' || key === '=') return { kind: 'zoom', factor: 1.5 };
  if (key === '-') return { kind: 'zoom', factor: 1 / 1.5 };
  if (key === '0' || key === 'Home') return { kind: 'all' };
  if (key === 'Enter' && around.pointed) return { kind: 'pick' };
  return key === 'Escape' ? { kind: 'leave' } : null;
}

/** One token on; the map follows at its edge. */
function walk([across, down]: readonly [number, number], around: Around): KeyMove {
  const { view, size, pane } = around;
  const from = around.pointed ??
    around.selected ??
    positionAt(view, pane.width / 2, pane.height / 2, size) ?? { row: 0, column: 0 };
  const inside = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  const cell = {
    row: inside(from.row - down, size.rows),
    column: inside(from.column - across, size.columns),
  };
  const area = seen(view, size, pane);
  const out =
    cell.row <= area.rows[0] ||
    cell.row >= area.rows[1] - 1 ||
    cell.column <= area.columns[0] ||
    cell.column >= area.columns[1] - 1;
  const follow = out && !around.whole;
  return { kind: 'point', cell, dx: follow ? across * view.zoom : 0, dy: follow ? down * view.zoom : 0 };
}
