import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder, staticServer } from '../../../runtime/domain/folder-plan.ts';

/** Puts the server of a static site into its folder. */
export function addStaticServer(context: string): void {
  // Whatever the source has there could be a link.
  rmSync(join(context, ownFolder), { recursive: true, force: true });
  mkdirSync(join(context, ownFolder));
  copyFileSync(join(import.meta.dirname, 'static-server.mjs'), join(context, staticServer));
}
