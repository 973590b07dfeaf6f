// A document says in its address what it shows: a link leads there, and back leads back.
import { isPlace } from "./tools.js";

export function remember(look) {
  const { row, column } = look.pinned ?? {};
  const parts = look.view === "one" ? { site: look.site.site, head: look.site.heads[look.place] } : { view: "all" };
  if (look.view === "one" && isPlace(row)) parts.row = row;
  if (look.view === "one" && isPlace(column)) parts.column = column;
  if (look.by !== look.told.by) parts.by = look.by;
  const turned = look.view !== look.remembered;
  look.remembered = look.view;
  history[turned ? "pushState" : "replaceState"](null, "", `#${new URLSearchParams(parts)}`);
}

// What the address asks for; where it asks for nothing, what the page was made to open with.
export function wanted(look) {
  const parts = new URLSearchParams(look.address ? location.hash.slice(1) : "");
  const opened = parts.has("view") ? {} : (look.told.open ?? {});
  const { site, head } = parts.has("site") ? { site: parts.get("site"), head: Number(parts.get("head")) } : opened;
  const only = look.sites.length === 1 && look.sites[0].heads.length === 1 ? look.sites[0] : null;
  const found = look.sites.find((one) => one.site === site) ?? only;
  return {
    site: found,
    place: Math.max(0, found?.heads.indexOf(head) ?? 0),
    row: place(parts, "row"),
    column: place(parts, "column"),
    by: ["weight", "value"].find((by) => by === parts.get("by")) ?? look.told.by,
  };
}

function place(parts, name) {
  return /^\d+$/.test(parts.get(name) ?? "") ? Number(parts.get(name)) : null;
}
