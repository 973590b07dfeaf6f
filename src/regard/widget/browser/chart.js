// One head, large: a map that scrolls beneath its tokens, drawn only where it is seen.
import { tints } from "./colours.js";
import { APART, drawCells, drawFocus, drawImage, drawTokens, FONT, READABLE } from "./drawing.js";
import { clamp, element } from "./tools.js";

const FILLING = 36; // pixels of a cell that fills the space
const CLOSEST = 44; // and of one that was zoomed in on
const FLAT = 3; // times as long as wide
const GUTTER = 132; // pixels for tokens at most
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Chart {
  // `onHover(focus)` and `onPick(focus)` with { row, column }, either of which may be null.
  constructor(onHover, onPick) {
    Object.assign(this, { onHover, onPick, zoom: 1, focus: {}, picture: null });
    this.canvas = element("canvas", { "aria-hidden": true });
    this.space = element("div", { class: "space" }, this.canvas);
    this.frame = element("div", { class: "chart", tabindex: 0, role: "application" }, this.space);
    this.frame.addEventListener("scroll", () => this.later(), { passive: true });
    this.canvas.addEventListener("pointermove", (event) => this.onHover(this.under(event)));
    this.canvas.addEventListener("pointerleave", () => this.onHover(null));
    this.canvas.addEventListener("click", (event) => this.onPick(this.under(event)));
    this.frame.addEventListener("keydown", (event) => this.key(event));
    this.frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.layOut()).observe(this.frame);
  }

  show(picture, colours) {
    const fresh = picture.high !== this.picture?.high || picture.wide !== this.picture?.wide;
    Object.assign(this, { picture, colours, tints: tints(picture, colours), images: new Map() });
    this.frame.setAttribute("aria-label", `Map of ${picture.site.site}, head ${picture.head}; arrows choose a cell`);
    if (fresh) this.zoom = 1;
    this.measure();
    this.layOut();
  }

  mark(focus) {
    this.focus = focus ?? {};
    this.later();
  }

  // The tokens' widths decide how much room they get.
  measure() {
    const brush = this.canvas.getContext("2d");
    brush.font = `600 ${FONT}`; // as those in focus are written
    const widest = (side, count) => {
      let most = 0;
      for (let place = 0; place < count; place++)
        most = Math.max(most, brush.measureText(this.picture.label(side, place)).width);
      return Math.min(Math.ceil(most) + 14, GUTTER);
    };
    this.left = Math.min(widest("row", this.picture.high), Math.round(this.frame.clientWidth * 0.3) || GUTTER);
    this.top = widest("column", this.picture.wide);
  }

  layOut() {
    if (!this.picture || !this.frame.clientWidth) return;
    const { high, wide } = this.picture;
    const width = this.frame.clientWidth;
    const tallest = clamp(window.innerHeight - 230, 320, 760);
    const across = Math.min((width - this.left - 1) / wide, FILLING);
    const down = Math.min((tallest - this.top - 1) / high, FILLING);
    // Square cells, unless a map is so long and flat that they would vanish.
    const least = Math.max(high / wide, wide / high) > FLAT ? READABLE : 0;
    this.across = Math.min(across, Math.max(down, least)) * this.zoom;
    this.down = Math.min(down, Math.max(across, least)) * this.zoom;
    const full = [this.left + this.across * wide + 1, this.top + this.down * high + 1];
    this.space.style.width = `${Math.floor(full[0])}px`;
    this.space.style.height = `${Math.floor(full[1])}px`;
    this.size = [Math.min(width, full[0]), Math.min(tallest, full[1])].map(Math.ceil);
    this.frame.style.height = `${this.size[1] + (full[0] > width + 1 ? 14 : 0)}px`;
    this.draw();
  }

  later() {
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.waiting);
    this.waiting = null;
    if (!this.picture || !this.size) return;
    const sharp = window.devicePixelRatio || 1;
    const [width, height] = this.size;
    Object.assign(this.canvas, { width: Math.round(width * sharp), height: Math.round(height * sharp) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const brush = this.canvas.getContext("2d");
    brush.scale(sharp, sharp);
    brush.font = FONT;
    brush.save();
    brush.beginPath();
    brush.rect(this.left, this.top, width - this.left, height - this.top);
    brush.clip();
    if (Math.min(this.across, this.down) >= APART) drawCells(this, brush);
    else drawImage(this, brush);
    drawFocus(this, brush);
    brush.restore();
    drawTokens(this, brush, "row");
    drawTokens(this, brush, "column");
  }

  x(column) {
    return this.left + column * this.across - this.frame.scrollLeft;
  }

  y(row) {
    return this.top + row * this.down - this.frame.scrollTop;
  }

  // The first and the last row and column that can be seen.
  seen() {
    const { scrollLeft, scrollTop } = this.frame;
    const [width, height] = this.size;
    const last = (scrolled, room, cell, count) => Math.min(count, Math.ceil((scrolled + room) / cell));
    return {
      rows: [Math.floor(scrollTop / this.down), last(scrollTop, height - this.top, this.down, this.picture.high)],
      columns: [
        Math.floor(scrollLeft / this.across),
        last(scrollLeft, width - this.left, this.across, this.picture.wide),
      ],
    };
  }

  // The row and column beneath the pointer; a token at the side stands for its row or column alone.
  under(event) {
    const [x, y] = [event.offsetX, event.offsetY];
    const column = Math.floor((x - this.left + this.frame.scrollLeft) / this.across);
    const row = Math.floor((y - this.top + this.frame.scrollTop) / this.down);
    const found = {
      row: y >= this.top && row < this.picture.high ? row : null,
      column: x >= this.left && column < this.picture.wide ? column : null,
    };
    return found.row === null && found.column === null ? null : found;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = MOVES[event.key];
    if (move) {
      const { row, column } = this.focus;
      const next = {
        row: clamp((row ?? -move[0]) + move[0], 0, this.picture.high - 1),
        column: clamp((column ?? -move[1]) + move[1], 0, this.picture.wide - 1),
      };
      this.onPick(next, true);
      this.reveal(next);
    } else if (event.key === "+" || event.key === "=") this.magnify(1.5);
    else if (event.key === "-") this.magnify(1 / 1.5);
    else if (event.key === "0") this.magnify(0);
    else return;
    event.preventDefault();
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.magnify(event.deltaY < 0 ? 1.25 : 0.8);
  }

  // Closer or farther, keeping the focus (else the middle) where it is; 0 shows everything.
  magnify(factor) {
    const base = Math.min(this.across, this.down) / this.zoom;
    const next = clamp(factor ? this.zoom * factor : 1, 1, Math.max(1, CLOSEST / base));
    const [width, height] = this.size;
    const row = this.focus.row ?? (this.frame.scrollTop + (height - this.top) / 2) / this.down;
    const column = this.focus.column ?? (this.frame.scrollLeft + (width - this.left) / 2) / this.across;
    this.zoom = next;
    this.layOut();
    this.frame.scrollTo(
      (column + 0.5) * this.across - (width - this.left) / 2,
      (row + 0.5) * this.down - (height - this.top) / 2,
    );
    this.draw();
  }

  reveal({ row, column }) {
    const [width, height] = this.size;
    const near = (scrolled, start, cell, room) => clamp(scrolled, start + cell - room, start);
    this.frame.scrollTo(
      near(this.frame.scrollLeft, column * this.across, this.across, width - this.left),
      near(this.frame.scrollTop, row * this.down, this.down, height - this.top),
    );
  }
}
