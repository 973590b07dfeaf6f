// Ways in: the elements of a page or a notebook's output, and a widget.
import { unpack } from "./plates.js";
import { Look } from "./look.js";
import { element } from "./tools.js";

const ALIVE = "regard-widgets"; // the names of the widgets that were drawn in this window, and the event of one more
const PATIENCE = 4000; // milliseconds that a page waits for its widget
const PACKED = ["levels", "exact", "norms"];
const DARK = matchMedia("(prefers-color-scheme: dark)");
const TOO_OLD =
  "This browser cannot open the maps: it has no DecompressionStream. " +
  "Chrome or Edge 80, Firefox 113, Safari 16.4 and all later ones have it.";

// Every view in a document that is not open yet; several may stand in one notebook.
function openAll(within) {
  for (const host of within.querySelectorAll(".regard-look:not([data-opened])")) {
    host.dataset.opened = "";
    if ("standby" in host.dataset) standBy(host);
    else openOne(host);
  }
}

function openOne(host) {
  const part = (name) => host.querySelector(`[data-part="${name}"]`);
  const [told, ...packed] = ["description", ...PACKED].map(part);
  const root = rooted(host, "shadow" in host.dataset);
  show(root, JSON.parse(told.textContent), () => packed.map(bytes), { address: "address" in host.dataset });
}

// A page that waits beside a widget: it shows itself only where the widget does not, as in a notebook opened again.
function standBy(host) {
  const alive = () => (window[ALIVE] ?? []).includes(host.dataset.standby);
  const hide = () => (host.hidden = alive());
  window.addEventListener(ALIVE, hide);
  host.hidden = true;
  setTimeout(() => {
    hide();
    if (!host.hidden) openOne(host);
  }, PATIENCE);
}

function announce(name) {
  window[ALIVE] = [...(window[ALIVE] ?? []), name];
  window.dispatchEvent(new Event(ALIVE));
}

// The widget: the same view, with Python to ask.
function render({ model, el }) {
  announce(model.get("name"));
  const root = rooted(el.appendChild(element("div")), true);
  const packed = () => PACKED.map((name) => model.get(name));
  show(root, JSON.parse(model.get("description")), packed, { ask: asking(model) });
}

// Questions over the widget's channel, each answered under its number.
function asking(model) {
  const open = new Map();
  let number = 0;
  model.on("msg:custom", (content, buffers) => {
    const promise = open.get(content.id);
    if (!promise) return;
    open.delete(content.id);
    if (content.error) promise.reject(new Error(content.error));
    else promise.resolve(floats(buffers[0]));
  });
  return (question) =>
    new Promise((resolve, reject) => {
      open.set(++number, { resolve, reject });
      model.send({ id: number, question });
    });
}

function floats(buffer) {
  const view = ArrayBuffer.isView(buffer) ? buffer : new Uint8Array(buffer);
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

// From base64 to the bytes it stands for.
const bytes = (part) => Uint8Array.from(atob(part.textContent), (letter) => letter.charCodeAt(0));

// Where the view is built: in a tree of its own among strangers, whose styles end there.
function rooted(host, shadow) {
  const tree = shadow ? host.attachShadow({ mode: "open" }) : host;
  if (shadow) keepKeys(host);
  else host.replaceChildren();
  const root = element("div", { class: "look" });
  theme(root);
  tree.append(element("style", {}, STYLE), root);
  return root;
}

// Plain keys pressed in here are not for JupyterLab, which listens first; with Ctrl and the like they are.
function keepKeys(host) {
  const decide = (event) =>
    host.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey || event.altKey));
  window.addEventListener("keydown", decide, true);
}

// `packed` gives the three strings of bytes, or fails where a file was cut short.
async function show(root, told, packed, options) {
  if (typeof DecompressionStream === "undefined") return complain(root, told, TOO_OLD);
  try {
    const sites = await unpack(told, packed());
    follow(root, new Look(root, told, sites, options));
  } catch (error) {
    complain(root, told, `The maps cannot be shown: ${error.message}. Was the file cut short? Write it again.`);
  }
  return null;
}

function complain(root, told, words) {
  root.replaceChildren(element("h1", {}, told.title), element("p", { class: "complaint", role: "alert" }, words));
}

// Light or dark as the notebook around it, else as the reader's system.
function theme(root) {
  const { body } = document;
  const named = { true: "light", false: "dark" }[body.dataset.jpThemeLight];
  const coloured = ["dark", "light"].find((name) => body.classList.contains(`vscode-${name}`));
  root.dataset.theme = named ?? coloured ?? (DARK.matches ? "dark" : "light");
}

// And again when that changes.
function follow(root, look) {
  const change = () => {
    theme(root);
    look.update();
  };
  DARK.addEventListener("change", change);
  new MutationObserver(change).observe(document.body, {
    attributes: true,
    attributeFilter: ["class", "data-jp-theme-light"],
  });
}
