// The whole view: which head is open, which tokens are in focus, and everything that follows from it.
import { remember, wanted } from "./address.js";
import { Chart } from "./chart.js";
import { palette } from "./colours.js";
import { frame } from "./frame.js";
import { compass, overview } from "./overview.js";
import { Tile } from "./pictures.js";
import { about, lists, sentence, tellMeasure, tellScale, tellTruth } from "./telling.js";
import { Threads } from "./threads.js";
import { clamp, element, isPlace } from "./tools.js";

const LONG = 256; // tokens from which on most weights are so small that rows are coloured by their own largest
const AROUND = 48; // tokens to each side of what is looked at closer

export class Look {
  // `ask(question)`, where Python is behind the page, promises exact weights; `address` keeps a document's state.
  constructor(root, told, sites, { ask = null, address = false } = {}) {
    Object.assign(this, { root, told, ask, address, pinned: null, hovered: null, tile: null, remembered: "all" });
    this.sites = sites.filter((site) => !site.closer);
    this.finer = sites.filter((site) => site.closer);
    const longest = Math.max(...sites.flatMap((site) => [site.rowText.tokens.length, site.columnText.tokens.length]));
    this.scale = longest > LONG ? "row" : "root";
    this.row = told.row;
    this.by = told.by;
    for (const site of sites) {
      site.turn(this.row);
      site.weigh(this.by);
    }
    const open = (site, place) => this.open(site, place);
    const hear = [(focus) => this.hover(focus), (focus, keep) => this.pick(focus, keep)];
    Object.assign(this, { overview: overview(this.sites, open), compass: compass(this.sites, open) });
    Object.assign(this, { chart: new Chart(...hear), threads: new Threads(...hear) });
    this.parts = frame(this);
    root.addEventListener("keydown", (event) => this.key(event));
    if (address) window.addEventListener("hashchange", () => this.restore());
    this.restore();
  }

  // Which head

  overall() {
    this.view = "all";
    this.changed();
  }

  open(site = this.site ?? this.sites[0], place = this.place ?? 0) {
    const sameText = this.site?.rowText === site.rowText && this.site?.columnText === site.columnText;
    if (!sameText) this.pinned = null;
    Object.assign(this, {
      view: "one",
      site,
      place: clamp(place, 0, site.heads.length - 1),
      tile: null,
      hovered: null,
    });
    this.changed();
  }

  // The next head, over the ends of a site into the next.
  step(by) {
    const all = this.sites.flatMap((site) => site.heads.map((_, place) => [site, place]));
    const at = all.findIndex(([site, place]) => site === this.site && place === this.place);
    this.open(...all[(at + by + all.length) % all.length]);
  }

  // Whose rows they are: of the tokens that were written, or of those that were read.
  turn(row) {
    this.row = row;
    for (const site of [...this.sites, ...this.finer]) site.turn(row);
    this.threads.picture = null; // its tokens are others now
    this.update();
  }

  // By weight or by value. What is pooled Python can give by the other measure; until it has, it stays as it is.
  async weigh(by) {
    if (this.by !== by && this.tile) Object.assign(this, { tile: null, pinned: null, hovered: null });
    this.by = by;
    const sites = [...this.sites, ...this.finer];
    for (const site of sites) site.weigh(by);
    this.changed();
    if (!this.ask) return;
    for (const site of sites.filter((one) => one.by !== by && one.norms)) {
      for (const [place, head] of site.heads.entries()) {
        const cells = await this.asked({ site: site.site, head, cell: site.cell, by });
        if (!cells || this.by !== by) return;
        site.take(by, place, cells);
      }
      site.weigh(by);
      this.update();
    }
  }

  able(by) {
    return [...this.sites, ...this.finer].some((site) => site.able(by) || (this.ask && site.norms));
  }

  // Why a map is not shown by this measure.
  why(site, by) {
    if (!site.norms) return "The values were not kept: record with values=True.";
    if (this.ask) return "Python is being asked.";
    return `The cells of this long text were pooled by ${site.told.by}: write the page with by="${by}" for the others.`;
  }

  rescale(scale) {
    this.scale = scale;
    this.update();
  }

  // The picture that is open: a tile, the finer of two, or the one of the site.
  picture() {
    if (this.tile) return this.tile;
    const head = this.site.heads[this.place];
    const finer = this.finer.find((site) => site.site === this.site.site && site.heads.includes(head));
    return finer ? finer.picture(finer.heads.indexOf(head)) : this.site.picture(this.place);
  }

  whole() {
    if (this.tile) this.letGo();
    this.chart.magnify(0);
  }

  letGo() {
    Object.assign(this, { tile: null, pinned: null, hovered: null });
    this.changed();
  }

  // Which tokens

  hover(focus) {
    if (focus && this.hovered?.row === focus.row && this.hovered?.column === focus.column) return;
    this.hovered = focus;
    this.follow();
    if (focus) this.threads.reveal(focus);
  }

  // Keep a focus; the same once more lets it go, unless a key only moved against the edge.
  pick(focus, keep = false) {
    const same = focus && this.pinned?.row === focus.row && this.pinned?.column === focus.column;
    this.pinned = same && !keep ? null : focus;
    if (focus && this.ask && !this.tile && this.picture().site.pooled) this.closer(focus);
    this.follow();
    if (focus) this.threads.reveal(focus);
    if (this.address) remember(this);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.view !== "one") return;
    if (event.key === "[" || event.key === "]") this.step(event.key === "[" ? -1 : 1);
    if (event.key !== "Escape") return;
    if (this.pinned || this.tile) this.letGo();
    else this.overall();
  }

  restore() {
    const { site, place, row, column, by } = wanted(this);
    const { address } = this;
    this.address = false; // what came from the address need not go back to it
    if (by !== this.by) this.weigh(by);
    if (site) this.open(site, place);
    else this.overall();
    const inside = (at, count) => (isPlace(at) && at < count ? at : null);
    const focus = site && { row: inside(row, this.picture().high), column: inside(column, this.picture().wide) };
    if (focus && (isPlace(focus.row) || isPlace(focus.column))) this.pick(focus, true);
    Object.assign(this, { address, remembered: this.view });
  }

  // What Python knows

  // The tokens around a pooled cell, weight by weight.
  async closer({ row, column }) {
    const picture = this.picture();
    const range = (side, place) => {
      const { first, last, tokens } = picture.span(side, place ?? 0);
      const start = clamp(Math.floor((first + last) / 2) - AROUND, 0, Math.max(0, tokens.length - 2 * AROUND));
      return [start, Math.min(tokens.length, start + 2 * AROUND)];
    };
    const [rows, columns] = [range("row", row), range("column", column)];
    const { by } = picture.site;
    const weights = await this.asked({ site: this.site.site, head: picture.head, rows, columns, by });
    if (!weights || picture !== this.picture()) return;
    Object.assign(this, { pinned: null, hovered: null });
    this.tile = new Tile(picture.site, picture.place, rows, columns, weights);
    this.update();
  }

  // Every weight of a row, exact.
  async wholeRow(picture, row) {
    if (!this.ask || !isPlace(row) || picture.rows.has(row) || (picture.site.pooled && !picture.from)) return;
    picture.rows.set(row, null);
    const { first } = picture.span("row", row);
    const by = picture.from ? picture.site.by : "weight";
    const weights = await this.asked({ site: picture.site.site, head: picture.head, row: first, by });
    picture.rows.set(row, weights);
    if (weights && picture === this.picture()) this.follow();
  }

  async asked(question) {
    try {
      return await this.ask(question);
    } catch (error) {
      this.parts.said.textContent = `Python did not answer: ${error.message}`;
      return null;
    }
  }

  // Drawing

  changed() {
    this.update();
    if (this.address) remember(this);
  }

  update() {
    const one = this.view === "one";
    const { parts } = this;
    this.colours = palette(this.root, this.scale);
    this.overview.frame.hidden = one;
    parts.one.hidden = parts.steps.hidden = !one;
    for (const [name, button] of Object.entries(parts.views)) button.setAttribute("aria-pressed", name === this.view);
    for (const [name, button] of Object.entries(parts.measures)) button.setAttribute("aria-pressed", name === this.by);
    parts.measure.textContent = tellMeasure(this);
    tellScale(parts, this.colours, this.by);
    tellTruth(parts.badge, parts.stamp, one ? this.picture().site.badge : this.told.badge);
    if (one) this.updateOne();
    else this.overview.draw(this.colours);
  }

  updateOne() {
    const { parts, site } = this;
    const picture = this.picture();
    const { rowText, columnText } = site;
    parts.site.value = this.sites.indexOf(site);
    parts.head.replaceChildren(...site.heads.map((head, place) => element("option", { value: place }, `head ${head}`)));
    parts.head.value = this.place;
    parts.name.textContent = `${site.site}, head ${picture.head}`;
    parts.about.textContent = about(picture, site, this.place, Boolean(this.ask));
    parts.rows.hidden = site.written === null;
    parts.says.textContent = site.says;
    const named = `queries: ${rowText.name} → keys: ${columnText.name}`;
    parts.sides.textContent = rowText.name === columnText.name ? "queries → keys" : named;
    this.compass.mark(site, this.place, palette(this.root, "root"));
    this.chart.show(picture, this.colours);
    this.threads.show(picture, this.colours);
    this.follow();
  }

  // Chosen or pointed at: everything about those tokens.
  follow() {
    const picture = this.picture();
    const focus = this.hovered ?? this.pinned ?? {};
    this.chart.mark(focus);
    this.threads.mark(focus);
    this.parts.said.textContent = sentence(picture, focus);
    this.parts.lists.replaceChildren(...lists(picture, focus));
    this.wholeRow(picture, focus.row);
  }
}
