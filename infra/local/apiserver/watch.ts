import type { ServerResponse } from 'node:http';
import { ApiError, expired, internalError } from './api-error.ts';
import { flag } from './exchange.ts';
import { apiVersionOf } from './resource.ts';
import { selectedObjects, type Selection } from './selector.ts';
import type { Change, Store } from './store.ts';
import { renderObject, type Rendering } from './table.ts';

const defaultBookmarkMs = 60_000;
/** A watch without a timeout ends after a random time in this range. */
const defaultSeconds = { min: 1800, max: 3600 };
/** A client with more unread bytes is disconnected, and lists again. */
const backlogMax = 32 * 1024 * 1024;

/** An event of a watch. */
export type Event = Pick<Change, 'type' | 'object'>;

/** The open watches of a server. */
export interface Watches {
  /** Sends changes until the client disconnects, the timeout is over or the server stops. @throws ApiError 400, 504 */
  open(response: ServerResponse, selection: Selection, query: URLSearchParams, rendering: Rendering): void;
  /** Closes all watches. */
  stop(): void;
}

/** @param options.bookmarkMs interval of bookmarks; default one minute */
export function createWatches(options: { store: Store; bookmarkMs?: number | undefined }): Watches {
  const { store, bookmarkMs = defaultBookmarkMs } = options;
  const open = new Set<() => void>();

  return {
    open(response, selection, query, rendering) {
      const { resource, storage, test } = selection;
      const since = versionOf(query, store.version);
      const first = eventsSince(store, selection, since);

      const write = (type: string, object: string) => {
        if (response.writableEnded || response.destroyed) return;
        response.write(`{"type":"${type}","object":${object}}\n`);
        if (response.writableLength > backlogMax) response.destroy();
      };
      const send = ({ type, object }: Event) => write(type, renderObject(object, resource, rendering));
      const sendBookmark = () => {
        if (!flag(query, 'allowWatchBookmarks')) return;
        const metadata = { resourceVersion: String(store.version), creationTimestamp: null };
        write('BOOKMARK', JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource), metadata }));
      };

      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
      response.flushHeaders();
      if (!first) {
        const expiry = expired(`too old resource version: ${since} (${store.version})`);
        write('ERROR', JSON.stringify(expiry.status));
        response.end();
        return;
      }
      const seconds = Number(query.get('timeoutSeconds')) || randomSeconds();
      const ticking = setInterval(sendBookmark, bookmarkMs);
      const ending = setTimeout(() => {
        sendBookmark();
        response.end();
      }, seconds * 1000);
      const unsubscribe = store.subscribe(storage, (change) => eventsOf(change, test).forEach(send));
      const end = () => response.end();
      open.add(end);
      response.on('close', () => {
        open.delete(end);
        clearInterval(ticking);
        clearTimeout(ending);
        unsubscribe();
      });
      first.forEach(send);
    },
    stop() {
      for (const end of open) end();
    },
  };
}

/** The version to resume after; undefined to start with the current objects. */
function versionOf(query: URLSearchParams, newest: number): number | undefined {
  if (query.get('sendInitialEvents') !== null) {
    const reason = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw new ApiError(
      422,
      'Invalid',
      `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: ${reason}`,
    );
  }
  const text = query.get('resourceVersion') || '0';
  if (!/^\d+$/.test(text))
    throw internalError(`resourceVersion: Invalid value: ${JSON.stringify(text)}: invalid syntax`);
  const version = Number(text);
  if (version <= newest) return version || undefined;
  const message = `Too large resource version: ${text}, current: ${newest}`;
  throw new ApiError(504, 'Timeout', message, { retryAfterSeconds: 1 });
}

/**
 * The events of a selection after a version; without one, its current objects. Undefined when changes after the version are
 * no longer stored.
 */
export function eventsSince(store: Store, selection: Selection, since: number | undefined): Event[] | undefined {
  const { storage, test } = selection;
  if (since !== undefined) return store.since(storage, since)?.flatMap((change) => eventsOf(change, test));
  return selectedObjects(store, selection).map((object) => ({ type: 'ADDED', object }));
}

/** The events of a change for a selection: an object may enter or leave it. */
export function eventsOf({ type, object, previous }: Change, test: Selection['test']): Event[] {
  const wasSelected = previous !== undefined && test(previous);
  if (type !== 'DELETED' && test(object)) return [{ type: wasSelected ? 'MODIFIED' : 'ADDED', object }];
  if (!wasSelected) return [];
  // An object that leaves the selection is shown in its last selected state.
  const { resourceVersion = '' } = object.metadata;
  return [{ type: 'DELETED', object: { ...previous, metadata: { ...previous.metadata, resourceVersion } } }];
}

function randomSeconds(): number {
  return defaultSeconds.min + Math.random() * (defaultSeconds.max - defaultSeconds.min);
}
