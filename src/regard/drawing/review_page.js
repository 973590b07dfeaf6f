"use strict";
const body = document.querySelector("tbody");
const rows = [...body.querySelectorAll("tr")];
const only = document.getElementById("only");
const find = document.getElementById("find");
const buttons = [...document.querySelectorAll("[data-sort]")];
document.querySelector(".tools").hidden = false;

function shown() {
  return [...body.querySelectorAll("tr:not(.words)")].filter((row) => !row.hidden);
}

function sortBy(name) {
  close();
  for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.sort === name));
  const key = (row) => (name === "doubt" ? -Number(row.dataset.doubt) : 0);
  const order = (one, other) => key(one) - key(other) || one.dataset.number - other.dataset.number;
  body.append(...rows.slice().sort(order));
  reachable();
}

function filter() {
  close();
  const text = find.value.trim().toLowerCase();
  for (const row of rows) {
    const old = only.checked && Number(row.dataset.doubt) < 0;
    row.hidden = old || !row.textContent.toLowerCase().includes(text);
  }
  reachable();
}

function reachable() {
  rows.forEach((row) => (row.tabIndex = -1));
  const first = shown()[0];
  if (first) first.tabIndex = 0;
}

function focusRow(row) {
  rows.forEach((other) => (other.tabIndex = -1));
  row.tabIndex = 0;
  row.focus();
}

function close() {
  const open = body.querySelector("tr.words");
  if (!open) return null;
  const owner = open.previousElementSibling;
  owner.removeAttribute("aria-expanded");
  open.remove();
  return owner;
}

function toggle(row) {
  if (close() === row || !row.dataset.links) return;
  const line = document.createElement("tr");
  line.className = "words";
  const cell = line.insertCell();
  cell.colSpan = 4;
  row.after(line);
  row.setAttribute("aria-expanded", "true");
  draw(cell, JSON.parse(row.dataset.words), row.dataset.links.split(" ").map((link) => link.split("-").map(Number)));
}

function draw(cell, sides, links) {
  const box = document.createElement("div");
  box.className = "align";
  const spans = sides.map((words) => {
    const line = box.appendChild(document.createElement("div"));
    return words.map((word) => {
      const span = line.appendChild(document.createElement("span"));
      span.textContent = word;
      return span;
    });
  });
  cell.append(box);
  const svg = box.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  svg.setAttribute("aria-hidden", "true");
  const zero = box.getBoundingClientRect();
  const paths = links.map(([source, target]) => {
    const from = spans[0][source].getBoundingClientRect();
    const to = spans[1][target].getBoundingClientRect();
    const [x1, y1] = [from.left + from.width / 2 - zero.left, from.bottom - zero.top + 2];
    const [x2, y2] = [to.left + to.width / 2 - zero.left, to.top - zero.top - 2];
    const middle = (y1 + y2) / 2;
    const path = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
    path.setAttribute("d", `M${x1},${y1} C${x1},${middle} ${x2},${middle} ${x2},${y2}`);
    return path;
  });
  spans.forEach((words, side) => words.forEach((span, place) => {
    span.onmouseenter = () => choose(box, spans, paths, links, side, place);
    span.onmouseleave = () => choose(box, spans, paths, links, side, -1);
  }));
}

function choose(box, spans, paths, links, side, place) {
  spans.flat().forEach((span) => span.classList.remove("on"));
  box.classList.toggle("chosen", place >= 0);
  if (place >= 0) spans[side][place].classList.add("on");
  links.forEach((link, number) => {
    const on = link[side] === place;
    paths[number].classList.toggle("on", on);
    if (on) link.forEach((word, other) => spans[other][word].classList.add("on"));
  });
}

for (const button of buttons) button.onclick = () => sortBy(button.dataset.sort);
only.onchange = filter;
find.oninput = filter;
body.onclick = (event) => {
  const row = event.target.closest("tr:not(.words)");
  if (row && !String(getSelection())) { focusRow(row); toggle(row); }
};
document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === find) return;
  const all = shown();
  const here = all.indexOf(document.activeElement);
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step && all.length) {
    event.preventDefault();
    focusRow(all[Math.min(Math.max(here + step, 0), all.length - 1)]);
  } else if ((event.key === "Enter" || event.key === " ") && here >= 0) {
    event.preventDefault();
    toggle(all[here]);
  } else if (event.key === "Escape") {
    close();
  } else if (event.key === "d" && event.target.tagName !== "INPUT") {
    sortBy(buttons[0].getAttribute("aria-pressed") === "true" ? "doubt" : "number");
    if (shown()[0]) focusRow(shown()[0]);
  }
};
