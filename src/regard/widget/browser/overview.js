// Every head at a glance: a row for each site, a column for each head, sites of a kind together.
import { coarser, paint, tints } from "./colours.js";
import { element } from "./tools.js";

const KINDS = {
  self: "Self-attention",
  encoder: "Encoder: the source looks at itself",
  decoder: "Decoder: the target looks at itself",
  cross: "Cross-attention: the target looks at the source",
};
const SMALL = 88; // pixels of a side that a small map has, or so
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// Sites by kind, in the order of the model.
export function grouped(sites) {
  const groups = new Map();
  for (const site of sites.filter((one) => !one.closer)) {
    if (!groups.has(site.kind)) groups.set(site.kind, []);
    groups.get(site.kind).push(site);
  }
  return groups;
}

export const layer = (site) => (/^\d+$/.test(site.short) ? `layer ${site.short}` : site.short);

export function described(site, place) {
  const measure = site.measures?.[place];
  const numbers = measure
    ? ` · means over its rows: entropy ${measure[0].toFixed(2)} nats, largest weight ${measure[1].toFixed(2)}`
    : "";
  return `${site.site}, head ${site.heads[place]}${numbers}`;
}

// The grid of small maps; `onOpen(site, place)` when one is chosen.
export function overview(sites, onOpen) {
  const groups = grouped(sites);
  const widest = Math.max(...sites.map((site) => site.heads.length));
  const frame = element("div", { class: "overview", style: `--widest: ${widest}` });
  const canvases = [];
  for (const [kind, members] of groups) {
    const heading = groups.size > 1 ? element("h2", {}, KINDS[kind]) : null;
    frame.append(element("section", { class: "card" }, ...[heading].filter(Boolean), table(members, onOpen, canvases)));
  }
  const draw = (colours) =>
    canvases.forEach(({ canvas, site, place }) => miniature(canvas, site, site.picture(place), colours));
  return { frame, draw };
}

function table(members, onOpen, canvases) {
  const most = Math.max(...members.map((site) => site.heads.length));
  const numbers = members.find((site) => site.heads.length === most).heads;
  const top = element("div", { class: "line", "aria-hidden": true }, element("span", { class: "name" }, "head"));
  top.append(...numbers.map((head) => element("span", { class: "number" }, head)));
  const lines = members.map((site) => line(site, onOpen, canvases));
  const grid = element("div", { class: "maps", style: `--heads: ${most}` }, top, ...lines);
  roving(grid, ".map");
  return element("div", { class: "sideways" }, grid);
}

function line(site, onOpen, canvases) {
  const name = element("span", { class: "name", title: site.site }, layer(site));
  const heads = site.heads.map((head, place) => {
    const canvas = element("canvas", { style: `aspect-ratio: ${site.wide} / ${site.high}` });
    canvases.push({ canvas, site, place });
    const told = described(site, place);
    const onclick = () => onOpen(site, place);
    return element("button", { class: "map", type: "button", title: told, "aria-label": told, onclick }, canvas);
  });
  return element("div", { class: "line" }, name, ...heads);
}

function miniature(canvas, site, picture, colours) {
  const factor = Math.ceil(Math.max(picture.high, picture.wide) / (SMALL * (window.devicePixelRatio || 1)));
  paint(canvas, coarser(tints(picture, colours), picture.high, picture.wide, factor), colours, (i, j) =>
    site.hidden(i * factor + factor - 1, j * factor),
  );
}

// A grid of buttons that is one stop for the tab key; arrows move within it.
export function roving(grid, buttons, onMove = null) {
  const lines = [...grid.querySelectorAll(".line")]
    .map((one) => [...one.querySelectorAll(buttons)])
    .filter((one) => one.length);
  const all = lines.flat();
  const choose = (button) => all.forEach((one) => (one.tabIndex = one === button ? 0 : -1));
  choose(all[0]);
  grid.addEventListener("focusin", (event) => all.includes(event.target) && choose(event.target));
  grid.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    const row = lines.findIndex((one) => one.includes(event.target));
    if (!step || row < 0) return;
    event.preventDefault();
    const next = lines[row + step[0]] ?? lines[row];
    const button = next[Math.min(lines[row].indexOf(event.target) + step[1], next.length - 1)];
    if (!button) return;
    button.focus();
    onMove?.(button);
  });
  return choose;
}

// Where one is among all heads: a small square for each, as strong as its rows are sharp.
export function compass(sites, onOpen) {
  const squares = new Map();
  const frame = element("nav", { class: "compass", "aria-label": "Heads" });
  for (const [kind, members] of grouped(sites)) {
    const lines = members.map((site) => {
      const buttons = site.heads.map((head, place) => {
        const told = described(site, place);
        const button = element("button", { class: "square", type: "button", title: told, "aria-label": told });
        button.addEventListener("click", () => onOpen(site, place));
        squares.set(button, { site, place });
        return button;
      });
      return element(
        "div",
        { class: "line" },
        element("span", { class: "name", title: site.site }, site.short),
        ...buttons,
      );
    });
    frame.append(element("p", { class: "kind" }, { cross: "cross", self: "layers" }[kind] ?? kind), ...lines);
  }
  const choose = roving(frame, ".square", (button) => button.click());
  const mark = (site, place, colours) => {
    for (const [button, one] of squares) {
      const here = one.site.site === site.site && one.site.heads[one.place] === site.heads[place];
      button.style.setProperty("--heat", colours.css[sharpness(one.site, one.place)]);
      button.setAttribute("aria-current", here);
      if (here) choose(button);
    }
  };
  return { frame, mark };
}

// The mean over rows of their largest byte.
function sharpness(site, place) {
  const picture = site.picture(place);
  if (picture.sharpness === undefined) {
    const { bytes, high, wide } = picture;
    let sum = 0;
    for (let i = 0; i < high; i++) {
      let most = 0;
      for (let at = i * wide; at < (i + 1) * wide; at++) if (bytes[at] > most) most = bytes[at];
      sum += most;
    }
    picture.sharpness = Math.round(sum / Math.max(1, high));
  }
  return picture.sharpness;
}
