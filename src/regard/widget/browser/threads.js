// Where a token looks, and who looks at it: lines between two columns of tokens, as strong as the weights.
import { tints } from "./colours.js";
import { element, isPlace } from "./tools.js";

const PITCH = 22; // pixels of a token's line
const MOST = 4000; // lines drawn when no token is chosen
const TINT = 78; // percent of colour behind the strongest token

export class Threads {
  // `onHover(focus)` and `onPick(focus)` as those of a chart.
  constructor(onHover, onPick) {
    Object.assign(this, { onHover, onPick, focus: {} });
    this.canvas = element("canvas", { "aria-hidden": true });
    this.lists = { row: this.list("row", "Queries"), column: this.list("column", "Keys") };
    this.weave = element(
      "div",
      { class: "weave" },
      this.lists.row,
      element("div", { class: "between" }, this.canvas),
      this.lists.column,
    );
    this.frame = element("div", { class: "threads" }, this.weave);
    this.frame.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.later()).observe(this.frame);
  }

  list(side, name) {
    const list = element("ol", { class: `tokens ${side}`, role: "listbox", "aria-label": name });
    const place = (event) => [...list.children].indexOf(event.target.closest("li"));
    const tell = (event, listener) => place(event) >= 0 && listener(this.focusOn(side, place(event)));
    list.addEventListener("pointerover", (event) => tell(event, this.onHover));
    list.addEventListener("pointerleave", () => this.onHover(null));
    list.addEventListener("click", (event) => tell(event, this.onPick));
    list.addEventListener("keydown", (event) => this.key(event, side, place(event)));
    return list;
  }

  // A token's row, its column, or both where the text looks at itself.
  focusOn(side, place) {
    const { picture } = this;
    if (side === "row") return { row: place, column: picture.own(place) };
    const row = Array.from({ length: picture.high }, (_, i) => i).find((i) => picture.own(i) === place);
    return { row: row ?? null, column: place };
  }

  key(event, side, place) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const next = this.lists[side].children[place + step];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
    this.onPick(this.focusOn(side, place + step));
  }

  show(picture, colours) {
    const same =
      this.picture?.site === picture.site && this.picture?.constructor === picture.constructor && !picture.from;
    Object.assign(this, { picture, colours, tints: tints(picture, colours) });
    if (!same) {
      this.fill("row", picture.high);
      this.fill("column", picture.wide);
      this.frame.scrollTop = 0;
    }
    this.strong = strongest(picture, this.tints);
    this.tint();
    this.later();
  }

  fill(side, count) {
    const tokens = Array.from({ length: count }, (_, place) => {
      const label = this.picture.label(side, place);
      const text = element("bdi", {}, label);
      const title = `${label} · ${this.picture.position(side, place)}`;
      return element("li", { role: "option", title, tabindex: place ? -1 : 0 }, text);
    });
    this.lists[side].replaceChildren(...tokens);
  }

  mark(focus) {
    this.focus = focus ?? {};
    this.tint();
    this.later();
  }

  // Behind each key how much the chosen query looks at it, behind each query how much it looks at the chosen key.
  tint() {
    const { row, column } = this.focus;
    const { wide } = this.picture;
    const share = (tint) => `${(this.colours.shares[tint] * TINT).toFixed(1)}%`;
    const each = (side, chosen, tint) => {
      [...this.lists[side].children].forEach((item, place) => {
        item.style.setProperty("--heat", tint ? share(tint(place)) : "0%");
        item.setAttribute("aria-selected", place === chosen);
      });
    };
    each("column", column, isPlace(row) ? (j) => this.tints[row * wide + j] : null);
    each("row", row, isPlace(column) ? (i) => this.tints[i * wide + column] : null);
  }

  reveal({ row, column }) {
    const place = row ?? column ?? 0;
    const [top, height] = [place * PITCH, this.frame.clientHeight];
    if (top < this.frame.scrollTop || top > this.frame.scrollTop + height - PITCH)
      this.frame.scrollTop = top - height / 2;
  }

  later() {
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = null;
    const [width, height] = [
      this.canvas.parentElement.clientWidth,
      Math.min(this.frame.clientHeight, this.weave.clientHeight),
    ];
    if (!this.picture || !width || !height) return;
    const sharp = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * sharp), height: Math.round(height * sharp) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const brush = this.canvas.getContext("2d");
    brush.scale(sharp, sharp);
    for (const [i, j, colour] of this.lines()) this.drawLine(brush, width, i, j, colour);
  }

  // Those of the chosen tokens; of all, if none is chosen.
  lines() {
    const { row, column } = this.focus;
    const { high, wide } = this.picture;
    if (!isPlace(row) && !isPlace(column)) return this.strong.map(([i, j]) => [i, j, this.colours.warm]);
    const found = [];
    for (let i = 0; isPlace(column) && i < high; i++) found.push([i, column, this.colours.cold]);
    for (let j = 0; isPlace(row) && j < wide; j++) found.push([row, j, this.colours.warm]);
    return found;
  }

  drawLine(brush, width, i, j, colour) {
    const tint = this.tints[i * this.picture.wide + j];
    if (!tint) return;
    const [from, to] = [i, j].map((place) => (place + 0.5) * PITCH - this.frame.scrollTop);
    if (Math.max(from, to) < 0 || Math.min(from, to) > this.frame.clientHeight) return;
    brush.globalAlpha = this.colours.shares[tint];
    brush.strokeStyle = colour;
    brush.lineWidth = 1 + (2.5 * tint) / 255;
    brush.beginPath();
    brush.moveTo(2, from);
    brush.bezierCurveTo(width * 0.4, from, width * 0.6, to, width - 2, to);
    brush.stroke();
  }
}

// The cells worth a line, strongest last, so that they lie on top.
function strongest({ high, wide }, tints) {
  const counts = new Uint32Array(256);
  for (const tint of tints) counts[tint]++;
  let least = 255;
  for (let sum = counts[255]; least > 1 && sum + counts[least - 1] <= MOST;) sum += counts[--least];
  const found = [];
  for (let i = 0; i < high; i++) {
    for (let j = 0; j < wide; j++) if (tints[i * wide + j] >= least) found.push([i, j, tints[i * wide + j]]);
  }
  return found.sort((a, b) => a[2] - b[2]).slice(-MOST);
}
