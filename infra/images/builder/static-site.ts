import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder, staticServer } from '../../../runtime/domain/folder-plan.ts';

/** Makes the platform's own folder in the folder that is built. Whatever the source has there could be a link. */
export function makeOwnFolder(context: string): void {
  rmSync(join(context, ownFolder), { recursive: true, force: true });
  mkdirSync(join(context, ownFolder));
}

/** Puts the server of a static site into its folder. */
export function addStaticServer(context: string): void {
  makeOwnFolder(context);
  copyFileSync(join(import.meta.dirname, 'static-server.mjs'), join(context, staticServer));
}
