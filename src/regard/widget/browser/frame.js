// The elements around the maps: what they are and where they stand. What happens is told to a `Look`.
import { SCALES } from "./colours.js";
import { heading } from "./telling.js";
import { element } from "./tools.js";

function button(text, onclick, name = null) {
  return element("button", { type: "button", onclick, "aria-label": name, title: name }, text);
}

// All parts of a view by name, put into its root.
export function frame(look) {
  const parts = { ...bar(look), ...oneHead(look) };
  parts.badge = element("section", { class: "badge", "aria-label": "How true this is" });
  parts.stamp = element("span", { class: "stamp", "aria-hidden": true });
  const title = heading(look.told.title, look.sites);
  look.root.append(title, parts.badge, parts.bar, parts.measure, look.overview.frame, parts.one, parts.stamp);
  return parts;
}

function bar(look) {
  const views = { all: button("All heads", () => look.overall()), one: button("One head", () => look.open()) };
  const site = element("select", { "aria-label": "Site", onchange: () => look.open(look.sites[site.value], 0) });
  const head = element("select", { "aria-label": "Head", onchange: () => look.open(look.site, Number(head.value)) });
  site.append(...look.sites.map((one, at) => element("option", { value: at }, one.site)));
  const back = button("‹", () => look.step(-1), "Previous head");
  const on = button("›", () => look.step(1), "Next head");
  const steps = element("div", { class: "steps" }, back, site, head, on);
  const choice = element("div", { class: "choice" }, views.all, views.one);
  const { legend, ramp, scales } = legendOf(look);
  const { by, measures } = measuresOf(look);
  const measure = element("p", { class: "measure soft", role: "status" });
  return {
    bar: element("div", { class: "bar" }, choice, steps, by, legend),
    views,
    steps,
    site,
    head,
    ramp,
    scales,
    measures,
    measure,
  };
}

// Weights, or what they bring: a switch where some map can be shown both ways.
function measuresOf(look) {
  const titles = { weight: "How much each token is looked at", value: "Each weight times the norm of its value" };
  const measures = {};
  for (const [by, title] of Object.entries(titles)) {
    measures[by] = button(by, () => look.weigh(by));
    measures[by].disabled = !look.able(by);
    measures[by].title = look.able(by) ? title : look.why(look.sites[0], by);
  }
  const named = { class: "choice by", role: "group", "aria-label": "Shown by" };
  const by = element("div", named, ...Object.values(measures));
  return { by, measures };
}

function legendOf(look) {
  const options = Object.entries(SCALES).map(([scale, { name }]) =>
    element("option", { value: scale, selected: scale === look.scale }, name),
  );
  const onchange = (event) => look.rescale(event.target.value);
  const choice = element("select", { "aria-label": "Colour scale", onchange }, ...options);
  const ramp = element("div", { class: "ramp", "aria-hidden": true });
  return { legend: element("div", { class: "legend" }, choice, ramp), ramp, scales: choice };
}

function oneHead(look) {
  const [name, about, said] = [element("h2"), element("p", { class: "soft" }), element("output", { class: "said" })];
  const says = element("p", { class: "says" });
  const rows = rowsOf(look);
  const zoom = element(
    "div",
    { class: "zoom" },
    rows,
    button("−", () => look.chart.magnify(1 / 1.5), "Farther"),
    button("+", () => look.chart.magnify(1.5), "Closer"),
    button("whole", () => look.whole(), "The whole map"),
  );
  const title = element("div", { class: "title" }, name, zoom);
  const main = element("section", { class: "card main" }, title, says, about, said, look.chart.frame);
  const [lists, sides] = [element("div", { class: "lists" }), element("p", { class: "sides soft" })];
  const side = element("section", { class: "card side" }, lists, sides, look.threads.frame);
  const one = element("div", { class: "one" }, look.compass.frame, main, side);
  return { one, name, about, said, says, rows, lists, sides };
}

// A row of a decoder belongs to two tokens.
function rowsOf(look) {
  const names = { output: "rows: the token written", input: "rows: the token read" };
  const options = Object.entries(names).map(([row, name]) =>
    element("option", { value: row, selected: row === look.row }, name),
  );
  return element("select", { "aria-label": "Rows", onchange: (event) => look.turn(event.target.value) }, ...options);
}
