// Every word of the page, in English and French. A page's words come with the page: text/{en,fr}/<page>.ts.

import { settings, type Language } from './settings.svelte';

export type Dictionary = Record<string, string>;
export type TextLoader = () => Promise<{ default: Dictionary }>;

let files: Record<string, TextLoader> = {}; // "fr/heads" -> how its words are fetched

/** Where words come from; without it there are those that were added by hand. */
export function offerTexts(loaders: Record<string, TextLoader>): void {
  files = loaders;
}

let loaded = $state.raw<Record<string, Dictionary>>({}); // "fr/heads" -> its words

/** Load the words of a page (`frame` is everybody's), before it is shown. */
export async function loadText(name: string, language: Language = settings.language): Promise<void> {
  const id = `${language}/${name}`;
  const load = files[id];
  if (loaded[id] || !load) return;
  const words = (await load()).default;
  addText(name, language, words);
}

/** For tests, and for whoever has the words at hand. */
export function addText(name: string, language: Language, words: Dictionary): void {
  const set =
    language === 'fr'
      ? Object.fromEntries(Object.entries(words).map(([key, text]) => [key, spaced(text)]))
      : words;
  loaded = { ...loaded, [`${language}/${name}`]: set };
}

/** French sets a space before : ; ! ? » and after «, at which no line may break. */
export function spaced(text: string): string {
  return text.replace(/ (?=[:;!?»])/g, '\u00a0').replace(/« /g, '«\u00a0');
}

/** The words of a key, or null where there are none: for names that come from elsewhere. */
export function maybe(key: string): string | null {
  const words = t(key);
  return words === key ? null : words;
}

/** `t('heads.title')`, `t('frame.cell', {value: 3})`: {value} is replaced; a missing key shows itself. */
export function t(key: string, values?: Record<string, string | number>): string {
  const name = key.slice(0, key.indexOf('.'));
  const rest = key.slice(name.length + 1);
  const words = loaded[`${settings.language}/${name}`]?.[rest] ?? key;
  return values ? fill(words, values) : words;
}

export function fill(words: string, values: Record<string, string | number>): string {
  return words.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
