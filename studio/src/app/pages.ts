// The six pages, each loaded when it is first opened.

import type { Component } from 'svelte';
import type { StudioInfo } from '../contract/types';
import type { Address } from '../state/address.svelte';

export interface ViewProps {
  studio: StudioInfo;
  address: Address;
}
type Load = () => Promise<{ default: Component<ViewProps> }>;

export const PAGES = ['steps', 'translate', 'heads', 'map', 'compare', 'training'] as const;
export type Page = (typeof PAGES)[number];

export const VIEWS: Record<Page, Load> = {
  steps: () => import('../views/steps/View.svelte'),
  translate: () => import('../views/translate/View.svelte'),
  heads: () => import('../views/heads/View.svelte'),
  map: () => import('../views/map/View.svelte'),
  compare: () => import('../views/compare/View.svelte'),
  training: () => import('../views/training/View.svelte'),
};

export const isPage = (name: string): name is Page => (PAGES as readonly string[]).includes(name);

/** What is shown while there is no server: enough for the pages that compute by themselves. */
export const NOTHING: StudioInfo = {
  version: '',
  models: [],
  recordings: [],
  runs: [],
  start: { page: 'steps' },
  limits: { characters: 2000, tokens: 512, beams: 8, candidates: 64, cells: 1_000_000 },
};
