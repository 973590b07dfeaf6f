// Both languages say the same things, and the page says nothing that has no words.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fill, spaced } from '../src/state/text.svelte';

type Words = Record<string, string>;
const english = import.meta.glob<Words>('../src/text/en/*.ts', { eager: true, import: 'default' });
const french = import.meta.glob<Words>('../src/text/fr/*.ts', { eager: true, import: 'default' });
const nameOf = (path: string) => path.replace(/.*\/|\.ts$/g, '');
const pages = Object.keys(english).map(nameOf);
const en = (page: string) => english[`../src/text/en/${page}.ts`];
const fr = (page: string) => french[`../src/text/fr/${page}.ts`];
const holes = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe('dictionaries', () => {
  it('are the same files in both languages', () => {
    expect(Object.keys(french).map(nameOf)).toEqual(pages);
  });

  it.each(pages)('%s: the same keys, the same values to fill in, nothing empty', (page) => {
    expect(Object.keys(fr(page)).sort()).toEqual(Object.keys(en(page)).sort());
    for (const [key, text] of Object.entries(en(page))) {
      expect(holes(fr(page)[key]), `${page}.${key}`).toEqual(holes(text));
      expect(text.trim() && fr(page)[key].trim(), `${page}.${key}`).toBeTruthy();
    }
  });

  it('have words for every key that is written out in the source', () => {
    const missing: string[] = [];
    for (const file of sources('src')) {
      for (const [, key] of readFileSync(file, 'utf8').matchAll(/\bt\(\s*'([a-z]+\.[\w.-]+)'/g)) {
        const page = key.slice(0, key.indexOf('.'));
        if (en(page)?.[key.slice(page.length + 1)] === undefined) missing.push(`${file}: ${key}`);
      }
    }
    expect(missing).toEqual([]);
  });
});

it('fills values in, and leaves what it does not know', () => {
  expect(fill('{a} of {b} {c}', { a: 1, b: 'x' })).toBe('1 of x {c}');
});

it('sets French signs with spaces that do not break', () => {
  expect(spaced('Quoi ? « Oui » : bien !')).toBe('Quoi\u00a0? «\u00a0Oui\u00a0»\u00a0: bien\u00a0!');
});

function* sources(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.(svelte|ts)$/.test(entry.name)) yield path;
  }
}
