// The one place that talks to the server. Addresses are relative, so that the page works under any path.

import { isAbort } from './requests';
import type { Numbers } from './types';

export { isAbort, latest } from './requests';

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    message: string,
    readonly retryAfter: number | null = null, // seconds
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

const MOST_PATIENCE = 10; // seconds; a server that asks for more is said to be busy at once
const UNREACHABLE = 'The studio’s server does not answer. Is `regard studio` still running?';

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, { signal })).json()) as T;
}

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await ask(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
  return (await answer.json()) as T;
}

/** Little-endian numbers of 2 or 4 bytes, as float32. */
export async function getNumbers(path: string, signal?: AbortSignal): Promise<Numbers> {
  const answer = await ask(path, { signal });
  const bytes = await answer.arrayBuffer();
  const shape = (answer.headers.get('X-Shape') ?? '').split(',').filter(Boolean).map(Number);
  const meta = JSON.parse(answer.headers.get('X-Meta') ?? '{}') as Record<string, unknown>;
  const half = answer.headers.get('X-Dtype') === 'float16';
  const data = half ? fromHalf(new Uint16Array(bytes)) : new Float32Array(bytes);
  return { data, shape: shape.length ? shape : [data.length], meta };
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  const first = await once(path, init);
  if (first.ok) return first;
  const error = await errorOf(first);
  if (error.status !== 429 || (error.retryAfter ?? 1) > MOST_PATIENCE) throw error;
  await wait((error.retryAfter ?? 1) * 1000, init.signal);
  const second = await once(path, init);
  if (second.ok) return second;
  throw await errorOf(second);
}

async function once(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path.replace(/^\//, ''), { credentials: 'same-origin', ...init });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, UNREACHABLE);
  }
}

async function errorOf(answer: Response): Promise<ApiError> {
  const after = answer.headers.get('Retry-After');
  let message = `The server answered ${answer.status}.`;
  try {
    const body = (await answer.json()) as { error?: unknown };
    if (typeof body.error === 'string') message = body.error;
  } catch {
    // not JSON: the status has to do
  }
  return new ApiError(answer.status, message, after === null ? null : Math.max(0, Number(after) || 1));
}

function wait(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(new DOMException('given up', 'AbortError'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** IEEE 754 numbers of 16 bits as float32. */
export function fromHalf(halves: Uint16Array): Float32Array {
  const out = new Float32Array(halves.length);
  for (let index = 0; index < halves.length; index++) {
    const half = halves[index];
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    if (exponent === 0) out[index] = sign * fraction * 2 ** -24;
    else if (exponent === 31) out[index] = fraction ? NaN : sign * Infinity;
    else out[index] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return out;
}
