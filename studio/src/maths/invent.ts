// Numbers for words that come without any: the very ones that `regard steps` makes up, so that the page and the
// terminal show the same sheet. That is Python's random.Random(text).randint(-10, 10) / 10: SHA-512, then MT19937.

/** One decimal each, between -1 and 1, decided by the key alone on every machine. */
export function smallNumbers(key: string, count: number): number[] {
  const next = generator(key);
  return Array.from({ length: count }, () => {
    let draw = 21;
    while (draw >= 21) draw = next() >>> 27; // 5 bits, until they name one of 21 numbers
    return (draw - 10) / 10;
  });
}

/** 32 random bits at a time, as Python's generator gives them for a text as seed. */
function generator(key: string): () => number {
  const text = new TextEncoder().encode(key);
  const seed = new Uint8Array([...text, ...sha512(text)]); // a large number, its first byte the most significant
  const words: number[] = [];
  for (let end = seed.length; end > 0; end -= 4) {
    let word = 0;
    for (let index = Math.max(0, end - 4); index < end; index++) word = ((word << 8) | seed[index]) >>> 0;
    words.push(word);
  }
  while (words.length > 1 && words[words.length - 1] === 0) words.pop();
  return twister(words);
}

const N = 624;

function twister(seed: readonly number[]): () => number {
  const state = new Uint32Array(N);
  state[0] = 19650218;
  const mixed = (index: number) => state[index - 1] ^ (state[index - 1] >>> 30);
  for (let index = 1; index < N; index++) state[index] = Math.imul(1812433253, mixed(index)) + index;
  let [i, j] = [1, 0];
  for (let round = Math.max(N, seed.length); round > 0; round--) {
    state[i] = (state[i] ^ Math.imul(mixed(i), 1664525)) + seed[j] + j;
    if (++i >= N) [state[0], i] = [state[N - 1], 1];
    if (++j >= seed.length) j = 0;
  }
  for (let round = N - 1; round > 0; round--) {
    state[i] = (state[i] ^ Math.imul(mixed(i), 1566083941)) - i;
    if (++i >= N) [state[0], i] = [state[N - 1], 1];
  }
  state[0] = 0x80000000;
  let place = N;
  return () => {
    if (place === N) {
      for (let index = 0; index < N; index++) {
        const joined = (state[index] & 0x80000000) | (state[(index + 1) % N] & 0x7fffffff);
        state[index] = state[(index + 397) % N] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
      }
      place = 0;
    }
    let bits = state[place++];
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
}

const MASK = (1n << 64n) - 1n;

/** SHA-512, its constants from the roots of the first primes. */
export function sha512(message: Uint8Array): Uint8Array {
  const { roots, start } = constants();
  const length = Math.ceil((message.length + 17) / 128) * 128;
  const padded = new Uint8Array(length);
  padded.set(message);
  padded[message.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(length - 8, BigInt(message.length) * 8n);
  const view = new DataView(padded.buffer);
  const hash = [...start];
  for (let block = 0; block < length; block += 128) {
    const w = Array.from({ length: 16 }, (_, index) => view.getBigUint64(block + 8 * index));
    for (let index = 16; index < 80; index++) {
      const [two, fifteen] = [w[index - 2], w[index - 15]];
      const s0 = turn(fifteen, 1n) ^ turn(fifteen, 8n) ^ (fifteen >> 7n);
      const s1 = turn(two, 19n) ^ turn(two, 61n) ^ (two >> 6n);
      w[index] = (w[index - 16] + s0 + w[index - 7] + s1) & MASK;
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let index = 0; index < 80; index++) {
      const choice = (e & f) ^ (~e & MASK & g);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const first = h + (turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n)) + choice + roots[index] + w[index];
      const second = (turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n)) + majority;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) & MASK, c, b, a, (first + second) & MASK];
    }
    [a, b, c, d, e, f, g, h].forEach((part, index) => (hash[index] = (hash[index] + part) & MASK));
  }
  const out = new Uint8Array(64);
  hash.forEach((part, index) => new DataView(out.buffer).setBigUint64(8 * index, part));
  return out;
}

const turn = (bits: bigint, by: bigint): bigint => ((bits >> by) | (bits << (64n - by))) & MASK;

let made: { roots: bigint[]; start: bigint[] } | null = null;

/** The first 64 bits of the fractions of cube roots (80 primes) and square roots (8). */
function constants(): { roots: bigint[]; start: bigint[] } {
  if (made) return made;
  const primes: bigint[] = [];
  for (let number = 2; primes.length < 80; number++) {
    if (primes.every((prime) => BigInt(number) % prime)) primes.push(BigInt(number));
  }
  const fraction = (prime: bigint, power: bigint) => root(prime << (64n * power), power) & MASK;
  made = {
    roots: primes.map((prime) => fraction(prime, 3n)),
    start: primes.slice(0, 8).map((prime) => fraction(prime, 2n)),
  };
  return made;
}

/** The largest whole number whose power is not above this one. */
function root(of: bigint, power: bigint): bigint {
  let [low, high] = [0n, 1n << 80n];
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** power <= of) low = middle;
    else high = middle - 1n;
  }
  return low;
}
