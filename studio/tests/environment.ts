// Node, but with Svelte compiled as for a browser: states and effects are live. No DOM: none is needed.

import type { Environment } from 'vitest/runtime';

export default {
  name: 'states',
  viteEnvironment: 'client',
  setup: () => ({ teardown() {} }),
} satisfies Environment;
