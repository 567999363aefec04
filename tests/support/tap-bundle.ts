import { join } from 'node:path';

/**
 * What `bundle-tap.ts` writes and `preload.ts` loads in place of tap: next to the module by which tap knows its folder. An
 * installation of tap's packages removes it.
 */
export const tapBundle = join(import.meta.dirname, '../../node_modules/@tapjs/core/dist/esm/bundle.mjs');
