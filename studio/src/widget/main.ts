// Ways in: the elements of a page or of a notebook's output, and a widget.

import { mount } from 'svelte';
import theme from '../app/theme.css?inline';
import { scheme } from '../primitives/scheme.svelte';
import { BrowserAddress, type Address } from '../state/address.svelte';
import { MemoryAddress } from '../state/memoryAddress.svelte';
import { settings } from '../state/settings.svelte';
import { addText } from '../state/text.svelte';
import * as words from './words';
import type { Answered, Ask } from './kernelSource';
import LookView from './LookView.svelte';
import { fromLetters, openPayload, type Description } from './payload';

const ALIVE = 'regard-widgets'; // the names of the widgets that were drawn in this window, and the event of one more
const PATIENCE = 4000; // milliseconds that a page waits for its widget
const PACKED = ['levels', 'exact', 'norms'] as const;
const DARK = matchMedia('(prefers-color-scheme: dark)');

declare global {
  interface Window {
    [ALIVE]?: string[];
  }
}

/** A widget's model, as anywidget gives it. */
interface Model {
  get(name: string): unknown;
  on(name: 'msg:custom', listener: (content: Record<string, unknown>, buffers: DataView[]) => void): void;
  send(content: Record<string, unknown>): void;
}
interface Way {
  ask: Ask | null;
  address: Address;
  level: 1 | 2;
}

/** Every look of a document that is not open yet; several may stand in one notebook. */
export function openAll(within: Document): void {
  for (const host of within.querySelectorAll<HTMLElement>('.regard-look:not([data-opened])')) {
    host.dataset.opened = '';
    if ('standby' in host.dataset) standBy(host);
    else openOne(host);
  }
}

function openOne(host: HTMLElement): void {
  const part = (name: string) => host.querySelector(`[data-part="${name}"]`)?.textContent ?? '';
  const [description, ...packed] = ['description', ...PACKED].map(part);
  const mine = 'address' in host.dataset; // the document is all ours
  const root = rooted(host, !mine);
  const address = mine ? new BrowserAddress(window) : new MemoryAddress('heads');
  if (mine && address instanceof BrowserAddress && !address.page) address.start('heads');
  void show(root, JSON.parse(description) as Description, () => packed.map(fromLetters), {
    ask: null,
    address,
    level: mine ? 1 : 2,
  });
}

/** A page that waits beside a widget: it shows itself only where the widget does not, as in a notebook opened again. */
function standBy(host: HTMLElement): void {
  const hide = () => (host.hidden = (window[ALIVE] ?? []).includes(host.dataset.standby ?? ''));
  window.addEventListener(ALIVE, hide);
  host.hidden = true;
  setTimeout(() => {
    hide();
    if (!host.hidden) openOne(host);
  }, PATIENCE);
}

/** The widget: the same view, with Python to ask. */
export function render({ model, el }: { model: Model; el: HTMLElement }): void {
  window[ALIVE] = [...(window[ALIVE] ?? []), model.get('name') as string];
  window.dispatchEvent(new Event(ALIVE));
  const root = rooted(el.appendChild(document.createElement('div')), true);
  const packed = () =>
    PACKED.map((name) => {
      const view = model.get(name) as DataView | Uint8Array;
      return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
    });
  const description = JSON.parse(model.get('description') as string) as Description;
  void show(root, description, packed, { ask: asking(model), address: new MemoryAddress('heads'), level: 2 });
}

/** Questions over the widget's channel, each answered under its number; a widget may be shown more than once. */
function asking(model: Model): Ask {
  const open = new Map<unknown, { done: (answer: Answered) => void; fail: (error: Error) => void }>();
  const view = Math.random().toString(36).slice(2);
  let number = 0;
  model.on('msg:custom', (content, buffers) => {
    const waiting = open.get(content.id);
    open.delete(content.id);
    if (content.error) waiting?.fail(new Error(String(content.error)));
    else waiting?.done({ content, data: floats(buffers[0]) });
  });
  return (question, signal) =>
    new Promise((done, fail) => {
      const id = `${view} ${++number}`;
      open.set(id, { done, fail });
      signal?.addEventListener('abort', () => {
        open.delete(id);
        fail(new DOMException('given up', 'AbortError'));
      });
      model.send({ id, question });
    });
}

function floats(view: DataView | undefined): Float32Array {
  if (!view) return new Float32Array();
  return new Float32Array(
    view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer,
  );
}

/** Where the view is built: in a tree of its own among strangers, whose styles end there. */
function rooted(host: HTMLElement, shadow: boolean): HTMLElement {
  const tree = shadow ? host.attachShadow({ mode: 'open' }) : host;
  if (shadow) keepKeys(host);
  else host.replaceChildren();
  const root = document.createElement('div');
  root.className = 'look';
  themed(root);
  const style = document.createElement('style');
  style.textContent = theme;
  tree.append(style, root);
  return root;
}

/** Plain keys pressed in here are not for JupyterLab, which listens first; with Ctrl and the like they are. */
function keepKeys(host: HTMLElement): void {
  const decide = (event: KeyboardEvent) =>
    host.toggleAttribute('data-lm-suppress-shortcuts', !(event.ctrlKey || event.metaKey || event.altKey));
  window.addEventListener('keydown', decide, true);
}

async function show(
  root: HTMLElement,
  description: Description,
  packed: () => Uint8Array<ArrayBuffer>[],
  way: Way,
): Promise<void> {
  try {
    for (const [name, language, dictionary] of words.ALL) addText(name, language, dictionary);
    root.lang = settings.language;
    const plates = await openPayload(description, packed());
    scheme.follow(root);
    follow(root);
    mount(LookView, { target: root, props: { description, plates, ...way } });
  } catch (error) {
    const words_ = `The maps cannot be shown: ${(error as Error).message}. Was the file cut short? Write it again.`;
    complain(root, description.title, words_);
  }
}

function complain(root: HTMLElement, title: string, sentence: string): void {
  const [heading, said] = [document.createElement('h1'), document.createElement('p')];
  heading.textContent = title;
  said.textContent = sentence;
  said.setAttribute('role', 'alert');
  root.replaceChildren(heading, said);
}

/** Light or dark as the notebook around it, else as the reader's system. */
function themed(root: HTMLElement): void {
  const { body } = document;
  const lab = { true: 'light', false: 'dark' }[body.dataset.jpThemeLight ?? ''];
  const coloured = ['dark', 'light'].find((name) => body.classList.contains(`vscode-${name}`));
  root.dataset.theme = lab ?? coloured ?? (DARK.matches ? 'dark' : 'light');
}

/** And again when that changes. */
function follow(root: HTMLElement): void {
  const change = () => themed(root);
  DARK.addEventListener('change', change);
  new MutationObserver(change).observe(document.body, {
    attributes: true,
    attributeFilter: ['class', 'data-jp-theme-light'],
  });
}
