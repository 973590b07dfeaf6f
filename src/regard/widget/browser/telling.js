// What is said in words: which tokens, how much, what stands where, and how true it is.
import { SCALES } from "./colours.js";
import { described } from "./overview.js";
import { briefly, counted, element, figure, isPlace, quoted } from "./tools.js";

const LISTED = 5; // tokens in each list
const NAMED = 8; // tokens of a pooled cell that are read out
const HINT =
  "Point at a token to see where it looks and who looks at it; click to keep it. " +
  "Arrow keys move, [ and ] change the head.";
// What is said of a row's token and of a column's, by whose row it is.
const LOOKS = {
  weight: { output: ["is written looking at", "is looked at to write"], input: ["looks at", "is looked at by"] },
  value: { output: ["is written taking from", "gives to write"], input: ["takes from", "gives to"] },
};
const STATES = { true: ["✓", "true"], unchecked: ["?", "not compared"], false: ["!", "not true"] };

export function heading(title, sites) {
  const heads = sites.reduce((sum, site) => sum + site.heads.length, 0);
  const texts = new Map(
    sites.flatMap((site) => [site.rowText, site.columnText]).map((text) => [text.name, text.tokens.length]),
  );
  const tokens = [...texts].map(([text, count]) => `${texts.size > 1 ? `${text}: ` : ""}${counted(count, "token")}`);
  const facts = [counted(sites.length, "site"), counted(heads, "head"), ...tokens].join(" · ");
  return element("header", {}, element("h1", { dir: "auto" }, title), element("p", { class: "soft" }, facts));
}

// The truth badge in full, and as a stamp that stays in sight.
export function tellTruth(badge, stamp, { state, verdict, lines, text }) {
  const [sign, word] = STATES[state];
  const list = element(
    "dl",
    {},
    ...lines.map(([term, said]) => element("div", {}, element("dt", {}, term), " ", element("dd", {}, said))),
  );
  badge.replaceChildren(element("p", { class: "verdict" }, element("b", { "aria-hidden": true }, sign), verdict), list);
  stamp.textContent = `${sign} ${word}, shown to 0.002`;
  for (const one of [badge, stamp]) Object.assign(one, { title: text }).dataset.state = state;
}

// What a cell is, where it is not the weight alone, and which maps cannot show what was asked for.
export function tellMeasure(look) {
  const one = look.view === "one" ? look.picture() : null;
  const sites = one ? [one.site] : look.sites;
  const valued = sites.filter((site) => site.by === "value");
  const others = sites.filter((site) => site.by !== look.by);
  const norms = [...new Set(valued.map((site) => site.norms.of))].join(" or ");
  const largest = one ? `the largest ${Number(one.unit?.toPrecision(3))}` : "each head's largest";
  const told = valued.length ? [`Each cell: weight times ${norms}, of ${largest}.`] : [];
  const named = others.length < sites.length ? `${others.map((site) => site.short).join(", ")}: ` : "";
  return [...told, ...(others.length ? [named + look.why(others[0], look.by)] : [])].join(" ");
}

export function tellScale({ ramp, scales }, colours, by) {
  const { share, marks } = SCALES[colours.scale];
  for (const option of scales.options) option.textContent = SCALES[option.value].name.replace("weight", by);
  ramp.style.background = `linear-gradient(to right, ${colours.ramp})`;
  ramp.replaceChildren(...marks.map((mark) => element("span", { style: `left: ${share(mark) * 100}%` }, mark)));
}

const measureName = ({ unit, site }) => (unit ? `weight × ${site.norms.of}` : "weight");

// What a picture shows, beyond its name.
export function about(picture, site, place, asked) {
  const { broken, cell, pooled } = picture.site;
  const whole = (side, count) => `${picture.position(side, 0)}–${picture.position(side, count - 1)}`;
  const told = [];
  if (picture.from) told.push(`tokens ${whole("row", picture.high)} × ${whole("column", picture.wide)}`);
  else if (pooled) told.push(`each cell is the largest ${measureName(picture)} of ${cell.join(" × ")} tokens`);
  if (pooled && asked) told.push(picture.from ? "weight by weight" : "click a cell to see its weights");
  if (broken) told.push(`${counted(broken, "weight")} not between 0 and 1, and not shown as they are`);
  return [...told, ...described(site, place).split(" · ").slice(1)].join(" · ");
}

// The tokens of a row or column as they read: all of a few, the ends of many.
function reading(picture, side, place) {
  const { first, last, tokens } = picture.span(side, place);
  const told = tokens.slice(first, last + 1).map(String);
  const spaced = told.some((token) => token.startsWith(" ")) ? "" : " ";
  return quoted(told.length > NAMED ? `${told[0]} … ${told[told.length - 1]}` : told.join(spaced));
}

export function sentence(picture, { row, column }) {
  const told = (side, place) => `${reading(picture, side, place)} (${picture.position(side, place)})`;
  if (!isPlace(row)) return isPlace(column) ? `Column ${told("column", column)}` : "";
  if (!isPlace(column)) return `Row ${told("row", row)}`;
  const cell = picture.read(row, column);
  const factors = cell.from ? `${figure(cell.from)} × ${cell.norm.toPrecision(4)} = ` : "";
  const weight = picture.hidden(row, column) ? "may not look there" : factors + figure(cell);
  const what = picture.site.pooled && !picture.from ? `largest ${measureName(picture)} ` : "";
  return `${told("row", row)} → ${told("column", column)}: ${what}${weight}`;
}

// Where the chosen query looks, and who looks at the chosen key; while none is chosen, where this head is surest.
export function lists(picture, { row, column }) {
  const found = [];
  const [looks, lookedAt] = LOOKS[picture.unit ? "value" : "weight"][picture.site.writes ? "output" : "input"];
  if (isPlace(row)) found.push(list("warm", looks, picture.inRow(row, LISTED), reading(picture, "row", row)));
  if (isPlace(column))
    found.push(list("cold", lookedAt, picture.inColumn(column, LISTED), reading(picture, "column", column)));
  if (!found.length) found.push(list("warm", "Strongest of this head", picture.surest(LISTED)));
  if (found.length < 2) found.push(element("p", { class: "soft list" }, HINT));
  return found;
}

function list(colour, title, found, token = "") {
  const items = found.map((one) =>
    element(
      "li",
      { style: `--share: ${(one.weight * 100).toFixed(2)}%` },
      element("bdi", { class: "token", title: one.label }, one.label),
      element("span", { class: "soft" }, one.position),
      element("b", { title: figure(one) }, briefly(one)),
    ),
  );
  const heading = element("h3", { title: `${token} ${title}` }, element("bdi", {}, token), element("span", {}, title));
  return element("div", { class: `list ${colour}` }, heading, element("ol", {}, ...items));
}
