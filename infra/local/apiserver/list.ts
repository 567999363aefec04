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

/** Lists, page by page. */
export interface Lists {
  /** The JSON of a list. @throws ApiError 400, 410 for a page of a list that is no longer kept */
  list(selection: Selection, query: URLSearchParams, rendering: Rendering): string;
}

interface Snapshot {
  objects: readonly ApiObject[];
  version: number;
  at: number;
}

/** @param options.monotonic milliseconds that never go back */
export function createLists(options: { store: Store; monotonic: () => number }): Lists {
  const { store, monotonic } = options;
  const snapshots = new Map<string, Snapshot>();

  const keep = (snapshot: Snapshot): string => {
    const oldest = monotonic() - keptMs;
    for (const [id, { at }] of snapshots) if (at < oldest || snapshots.size >= keptMax) snapshots.delete(id);
    const id = randomUUID();
    snapshots.set(id, snapshot);
    return id;
  };
  const recall = (token: string): { id: string; start: number; snapshot: Snapshot } => {
    const [id = '', start = ''] = Buffer.from(token, 'base64url').toString().split(' ');
    if (!/^\d+$/.test(start)) throw badRequest('continue key is not valid: it was not given by this server');
    const snapshot = snapshots.get(id);
    if (!snapshot) {
      throw expired(
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
      );
    }
    return { id, start: Number(start), snapshot };
  };

  return {
    list(selection, query, rendering) {
      const { resource, storage, namespace, test, all } = selection;
      const limit = Number(query.get('limit') ?? 0) || Number.POSITIVE_INFINITY;
      const token = query.get('continue');
      const begun = token ? recall(token) : undefined;
      const { objects, version } = begun?.snapshot ?? {
        objects: store.list(storage, namespace).filter(test),
        version: store.version,
      };
      const start = begun?.start ?? 0;
      const end = Math.min(objects.length, start + limit);
      const metadata: Json = { resourceVersion: String(version) };
      // As the real server writes it for custom resources.
      if (resource.custom && !rendering.table) metadata['continue'] = '';
      if (end < objects.length) {
        const id = begun?.id ?? keep({ objects, version, at: monotonic() });
        metadata['continue'] = Buffer.from(`${id} ${end}`).toString('base64url');
        // With a selector the real server cannot know it without looking at all the others.
        if (all) metadata['remainingItemCount'] = objects.length - end;
      }
      const page = objects.slice(start, end);
      if (rendering.table) {
        return JSON.stringify(tableOf(page, resource, { include: rendering.include, metadata }));
      }
      const head = JSON.stringify({ kind: `${resource.kind}List`, apiVersion: apiVersionOf(resource), metadata });
      const items = page.map((object) => (resource.custom ? textOf(object) : withoutType(object)));
      return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
    },
  };
}

/** The items of a list of a built-in kind come without their type. */
function withoutType(object: ApiObject): string {
  return JSON.stringify({ ...object, kind: undefined, apiVersion: undefined });
}
