import { randomUUID } from 'node:crypto';
import { badRequest, expired } from './api-error.ts';
import type { Json } from './json.ts';
import { apiVersionOf, type ApiObject } from './resource.ts';
import type { Selection } from './selector.ts';
import { textOf, type Store } from './store.ts';
import { tableOf, type Rendering } from './table.ts';

/** A list that was begun is kept for this long, so that its pages are of one moment. */
const keptMs = 5 * 60_000;
const keptMax = 100;

/** The JSON of a list, or of a page of it. @throws ApiError 400, 410 for a page of a list that is no longer kept */
export type Lists = (selection: Selection, query: URLSearchParams, rendering: Rendering) => string;

interface Snapshot {
  id: string;
  objects: readonly ApiObject[];
  version: number;
  at: number;
}

/** @param options.monotonic milliseconds that never go back */
export function createLists({ store, monotonic }: { store: Store; monotonic: () => number }): Lists {
  const snapshots = new Map<string, Snapshot>();

  const keep = (snapshot: Snapshot) => {
    const oldest = monotonic() - keptMs;
    for (const [id, { at }] of snapshots) if (at < oldest || snapshots.size >= keptMax) snapshots.delete(id);
    snapshots.set(snapshot.id, snapshot);
  };
  const begin = ({ storage, namespace, test }: Selection): Snapshot => {
    const objects = store.list(storage, namespace).filter(test);
    return { id: randomUUID(), objects, version: store.version, at: monotonic() };
  };
  const recall = (id: string): Snapshot => {
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
    if (!/^\d+$/.test(from)) throw badRequest('continue key is not valid: it was not given by this server');
    const snapshot = token ? recall(id) : begin(selection);
    const { objects, version } = snapshot;
    const end = Number(from) + (Number(query.get('limit') ?? 0) || objects.length);
    const metadata: Json = { resourceVersion: String(version) };
    // As the real server writes it for custom resources.
    if (resource.custom && rendering === 'objects') metadata['continue'] = '';
    if (end < objects.length) {
      keep(snapshot);
      metadata['continue'] = Buffer.from(`${snapshot.id} ${end}`).toString('base64url');
      // With a selector the real server cannot know it without looking at all the others.
      if (all) metadata['remainingItemCount'] = objects.length - end;
    }
    const page = objects.slice(Number(from), end);
    if (rendering !== 'objects') return tableOf(page, resource, rendering.include, metadata);
    const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata });
    const items = page.map((object) => (resource.custom ? textOf(object) : withoutType(object)));
    return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
  };
}

/** The items of a list of a built-in kind come without their type. */
function withoutType(object: ApiObject): string {
  return JSON.stringify({ ...object, kind: undefined, apiVersion: undefined });
}
