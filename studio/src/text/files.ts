// Where the words of each page lie; each is fetched when it is first needed.

import type { TextLoader } from '../state/text.svelte';

const found = import.meta.glob<Awaited<ReturnType<TextLoader>>>('./*/*.ts');

/** `en/heads` -> how its words are fetched. */
export const TEXTS: Record<string, TextLoader> = Object.fromEntries(
  Object.entries(found).map(([file, load]) => [file.slice(2, -3), load]),
);
