import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, fromHalf, getJson, getNumbers, isAbort, latest } from '../src/contract/api';

const folder = 'src/contract/';

it('has types generated from the server’s description, as it is now', async () => {
  const made = astToString(await openapiTS(pathToFileURL(`${folder}openapi.json`)));
  const stored = readFileSync(`${folder}schema.d.ts`, 'utf8');
  expect(stored.endsWith(made), 'run `npm run types`').toBe(true);
}, 30_000);

afterEach(() => vi.unstubAllGlobals());

function answers(...given: Response[]) {
  const fetch = vi.fn(async (_: string, init?: RequestInit) => {
    init?.signal?.throwIfAborted();
    return given.shift()!;
  });
  vi.stubGlobal('fetch', fetch);
  return fetch;
}

describe('api', () => {
  it('says the server’s own sentence', async () => {
    answers(Response.json({ error: 'There is no such look.' }, { status: 404 }));
    const error = await getJson('/api/looks/x').catch((thrown: unknown) => thrown as ApiError);
    expect(error).toMatchObject({ status: 404, message: 'There is no such look.' });
  });

  it('asks relative to the page, and once more after the time that a busy server names', async () => {
    const busy = () => Response.json({ error: 'Busy.' }, { status: 429, headers: { 'Retry-After': '0.01' } });
    const fetch = answers(busy(), Response.json([1]));
    expect(await getJson('/api/studio')).toEqual([1]);
    expect(fetch.mock.calls.map(([path]) => path)).toEqual(['api/studio', 'api/studio']);
    answers(busy(), busy());
    await expect(getJson('/api/studio')).rejects.toMatchObject({ status: 429, message: 'Busy.' });
  });

  it('lets only the newest request count', async () => {
    answers(Response.json(1), Response.json(2));
    const next = latest();
    const first = next();
    next();
    const error = await getJson('api/studio', first).catch((thrown: unknown) => thrown);
    expect(isAbort(error)).toBe(true);
  });

  it('reads numbers of four and of two bytes', async () => {
    const headers = { 'X-Shape': '1,2', 'X-Dtype': 'float32', 'X-Meta': '{"largest": 2}' };
    answers(new Response(new Float32Array([0.5, 2]), { headers }));
    const found = await getNumbers('api/tile');
    expect([Array.from(found.data), found.shape, found.meta]).toEqual([[0.5, 2], [1, 2], { largest: 2 }]);
    const halves = new Uint16Array([0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555, 0x0000]);
    expect(Array.from(fromHalf(halves))).toEqual([1, -2, 2 ** -24, Infinity, 0.333251953125, 0]);
  });
});
