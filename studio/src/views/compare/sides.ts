// What stands in the address about two sides, and what is meant where nothing stands there.

import type { SiteInfo, StudioInfo } from '../../contract/types';
import type { Params } from '../../state/address.svelte';
import { exampleOf, firstModel, firstReader, usableModels } from '../heads/looking.svelte';

export const SIDES = [0, 1] as const; // left, right
export type SideNumber = (typeof SIDES)[number];

export const TIRED = "The animal didn't cross the street because it was too tired.";
export const WIDE = "The animal didn't cross the street because it was too wide.";

/** The model that says of "it" what it stood for, il or elle, where it ships; a model that was named goes before it. */
export function tellingModel(studio: StudioInfo): string {
  const ships = usableModels(studio).some((model) => model.name === 'grammar');
  return ships ? 'grammar' : firstReader(studio);
}

/** The right model is the left one, until it is another. */
export function modelsOf(params: Params, studio: StudioInfo): [string, string] {
  const named = studio.start.model || studio.start.recording;
  const left = params.model ?? (named ? firstModel(studio) : tellingModel(studio) || firstModel(studio));
  return [left, params.model2 ?? left];
}

/** Two sentences; where models or heads are compared, the same one twice. */
export function textsOf(params: Params, studio: StudioInfo, model: string): [string, string] {
  const left = params.text ?? exampleOf(studio, model);
  if (params.text2 !== undefined) return [left, params.text2];
  if (params.text || params.model2 || params.site2 || params.head2) return [left, left];
  const second = studio.models.find((one) => one.name === model)?.examples[1];
  return [left, left === TIRED ? WIDE : (second ?? left)];
}

/** The site asked for; else one between the two sentences. */
export function siteOf(sites: readonly SiteInfo[], asked: string | undefined): SiteInfo | null {
  const cross = sites.filter((one) => one.kind === 'cross');
  return sites.find((one) => one.site === asked) ?? cross[1] ?? cross[0] ?? sites[0] ?? null;
}

/** The head asked for, where there is one; else another, else the first. */
export function headOf(site: SiteInfo | null, asked: string | undefined, otherwise: number): number {
  const known = site?.head_numbers ?? [0];
  if (asked !== undefined && known.includes(Number(asked))) return Number(asked);
  return known.includes(otherwise) ? otherwise : known[0];
}

/** The place of a word in a text of so many, as an address writes it. */
export function wordOf(
  asked: string | undefined,
  otherwise: number | undefined,
  count: number,
): number | null {
  const written = asked !== undefined && /^\d+$/.test(asked) ? Number(asked) : undefined;
  const index = written ?? otherwise ?? 0;
  return index < count ? index : null;
}

/** Vectors live in the space of their model; checkpoints of one run share theirs. */
export const spaceOf = (model: string): string => model.replace(/@.*$/, '');
