import { randomUUID } from 'node:crypto';
import { badRequest, expired } from './api-error.ts';
import type { Json } from './json.ts';
import { apiVersionOf, type ApiObject } from './resource.ts';
import { selectedObjects, type Selection } from './selector.ts';
import { textOf, type Store } from './store.ts';
import { renderTable, type Rendering } from './table.ts';

/** How long a list is kept after its first page, so that all pages show the same state. */
const retentionMs = 5 * 60_000;
const maxSnapshots = 100;

/** Serves a list or a page of it as JSON. @throws ApiError 400, 410 when the list of a page has expired */
export type Lists = (selection: Selection, query: URLSearchParams, rendering: Rendering) => string;

interface Snapshot {
  id: string;
  objects: readonly ApiObject[];
  version: number;
  at: number;
}

/** @param options.monotonic monotonic time in milliseconds */
export function createLists({ store, monotonic }: { store: Store; monotonic: () => number }): Lists {
  const snapshots = new Map<string, Snapshot>();

  const saveSnapshot = (snapshot: Snapshot) => {
    const oldest = monotonic() - retentionMs;
    for (const [id, { at }] of snapshots) if (at < oldest || snapshots.size >= maxSnapshots) snapshots.delete(id);
    snapshots.set(snapshot.id, snapshot);
  };
  const createSnapshot = (selection: Selection): Snapshot => {
    const objects = selectedObjects(store, selection);
    return { id: randomUUID(), objects, version: store.version, at: monotonic() };
  };
  const findSnapshot = (id: string): Snapshot => {
    const snapshot = snapshots.get(id);
    if (snapshot) return snapshot;
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  };

  return (selection, query, rendering) => {
    const { resource, all } = selection;
    const token = query.get('continue');
    const [id = '', from = '0'] = token ? Buffer.from(token, 'base64url').toString().split(' ') : [];
    if (!/^\d+$/.test(from)) throw badRequest('continue key is not valid: this server did not issue it');
    const snapshot = token ? findSnapshot(id) : createSnapshot(selection);
    const { objects, version } = snapshot;
    const end = Number(from) + (Number(query.get('limit') ?? 0) || objects.length);
    const metadata: Json = { resourceVersion: String(version) };
    // The real server adds this to lists of custom resources.
    if (resource.custom && rendering === 'objects') metadata['continue'] = '';
    if (end < objects.length) {
      saveSnapshot(snapshot);
      metadata['continue'] = Buffer.from(`${snapshot.id} ${end}`).toString('base64url');
      // With a selector, the real server does not count the remaining items.
      if (all) metadata['remainingItemCount'] = objects.length - end;
    }
    const page = objects.slice(Number(from), end);
    if (rendering !== 'objects') return renderTable(page, resource, rendering.include, metadata);
    const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata });
    const items = page.map((object) => (resource.custom ? textOf(object) : withoutType(object)));
    return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
  };
}

/** Items of a list of a built-in kind have no kind and apiVersion. */
function withoutType(object: ApiObject): string {
  return JSON.stringify({ ...object, kind: undefined, apiVersion: undefined });
}
