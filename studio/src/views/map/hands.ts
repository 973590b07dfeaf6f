// Whoever moves about a map, by wheel, finger, mouse or keys: what they do ends in a view, a cell they point at, or one they pick.

import { panBy, positionAt, zoomAt, type MapView } from '../../maths/tiles';
import { Fingers, keyMove, wheelFactor, type Around, type Point } from './gestures';
import type { MapCell } from './place';

export interface Handled {
  /** What is seen now. */
  around: () => Around;
  /** Pixels from the corner of the tiles. */
  inside: (event: MouseEvent) => Point;
  onview: (view: MapView) => void;
  onwhole: () => void;
  onpoint: (cell: MapCell | null) => void;
  onpick: (cell: MapCell) => void;
}

/** Listens on an element, for as long as it is there. */
export function handsOn(handled: Handled): (stage: HTMLElement) => () => void {
  return (stage) => {
    const control = new AbortController();
    const { signal } = control;
    const fingers = new Fingers();
    const lift = (event: PointerEvent) => lifted(handled, fingers, event);
    const leave = () => handled.onpoint(null);
    stage.addEventListener('wheel', (event) => turned(handled, event), { passive: false, signal });
    stage.addEventListener('pointerdown', (event) => pressed(handled, fingers, stage, event), { signal });
    stage.addEventListener('pointermove', (event) => moved(handled, fingers, event), { signal });
    stage.addEventListener('pointerup', lift, { signal });
    stage.addEventListener('pointercancel', lift, { signal });
    stage.addEventListener('pointerleave', leave, { signal });
    stage.addEventListener('blur', leave, { signal });
    stage.addEventListener(
      'dblclick',
      (event) => zoomed(handled, event.shiftKey ? 0.4 : 2.5, handled.inside(event)),
      { signal },
    );
    stage.addEventListener('keydown', (event) => keyed(handled, event), { signal });
    return () => control.abort();
  };
}

/** Nearer or further, around a pixel. */
function zoomed({ around, onview }: Handled, factor: number, [x, y]: Point): void {
  const { view, size, pane } = around();
  onview(zoomAt(view, factor, x, y, size, pane));
}

function turned(handled: Handled, event: WheelEvent): void {
  const further = event.deltaY > 0 && !event.ctrlKey && !event.metaKey;
  if (further && handled.around().whole) return; // the page scrolls on
  event.preventDefault();
  const at = handled.inside(event);
  zoomed(handled, wheelFactor(event), at);
  pointed(handled, at); // the pointer stays, and the map moves below it
}

/** What is below a pixel. */
function pointed({ around, onpoint }: Handled, [x, y]: Point): void {
  const { view, size, pane } = around();
  const beside = x < 0 || y < 0 || x > pane.width || y > pane.height;
  onpoint(beside ? null : positionAt(view, x, y, size));
}

function pressed(handled: Handled, fingers: Fingers, stage: HTMLElement, event: PointerEvent): void {
  if (event.button !== 0) return;
  stage.setPointerCapture(event.pointerId);
  fingers.press(event.pointerId, handled.inside(event));
}

function moved(handled: Handled, fingers: Fingers, event: PointerEvent): void {
  const at = handled.inside(event);
  const { view, size, pane } = handled.around();
  const drag = fingers.move(event.pointerId, at);
  if (drag === undefined) pointed(handled, at);
  else if (drag) {
    const along = panBy(view, drag.dx, drag.dy, size, pane);
    handled.onview(drag.factor === 1 ? along : zoomAt(along, drag.factor, ...drag.at, size, pane));
  }
}

function lifted(handled: Handled, fingers: Fingers, event: PointerEvent): void {
  if (!fingers.lift(event.pointerId) || event.type !== 'pointerup') return;
  const { view, size } = handled.around();
  const cell = positionAt(view, ...handled.inside(event), size);
  if (cell) handled.onpick(cell);
}

function keyed(handled: Handled, event: KeyboardEvent): void {
  const around = handled.around();
  const meant = keyMove(event, around);
  if (!meant) return;
  event.preventDefault();
  const { view, size, pane, pointed } = around;
  const pan = (dx: number, dy: number) => handled.onview(panBy(view, dx, dy, size, pane));
  if (meant.kind === 'zoom') zoomed(handled, meant.factor, [pane.width / 2, pane.height / 2]);
  else if (meant.kind === 'pan') pan(meant.dx, meant.dy);
  else if (meant.kind === 'point') {
    if (meant.dx || meant.dy) pan(meant.dx, meant.dy);
    handled.onpoint(meant.cell);
  } else if (meant.kind === 'all') handled.onwhole();
  else if (meant.kind === 'leave') handled.onpoint(null);
  else if (pointed) handled.onpick(pointed);
}
