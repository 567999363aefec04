import type { ServerResponse } from 'node:http';
import { ApiError, expired, unexpected } from './api-error.ts';
import { flag } from './exchange.ts';
import { apiVersionOf } from './resource.ts';
import type { Selection } from './selector.ts';
import type { Change, Store } from './store.ts';
import { rendered, type Rendering } from './table.ts';

const defaultBookmarkMs = 60_000;
/** A watch that names no time ends after a random one between these. */
const defaultSeconds = { min: 1800, max: 3600 };
/** A client that reads nothing for this many bytes is let go; it lists anew. */
const backlogMax = 32 * 1024 * 1024;

type Event = Pick<Change, 'type' | 'object'>;

/** Watches of one server. */
export interface Watches {
  /** Tells of changes until the client leaves, the time is over, or the server stops. @throws ApiError 400, 504 */
  open(response: ServerResponse, selection: Selection, query: URLSearchParams, rendering: Rendering): void;
  /** Ends all of them. */
  stop(): void;
}

/** @param options.bookmarkMs how often a watch is told how far it has come, a minute by default */
export function createWatches(options: { store: Store; bookmarkMs?: number | undefined }): Watches {
  const { store, bookmarkMs = defaultBookmarkMs } = options;
  const open = new Set<() => void>();

  return {
    open(response, selection, query, rendering) {
      const { resource, storage, namespace, test } = selection;
      const since = versionOf(query, store.version);
      const present = store.list(storage, namespace).filter(test);
      const first =
        since === undefined
          ? present.map((object): Event => ({ type: 'ADDED', object }))
          : store.since(storage, since)?.flatMap((change) => eventOf(change, test));

      const write = (type: string, object: string) => {
        if (response.writableEnded || response.destroyed) return;
        response.write(`{"type":"${type}","object":${object}}\n`);
        if (response.writableLength > backlogMax) response.destroy();
      };
      const send = ({ type, object }: Event) => write(type, rendered(object, resource, rendering));
      const mark = () => {
        if (!flag(query, 'allowWatchBookmarks')) return;
        const metadata = { resourceVersion: String(store.version), creationTimestamp: null };
        write('BOOKMARK', JSON.stringify({ kind: resource.kind, apiVersion: apiVersionOf(resource), metadata }));
      };

      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
      response.flushHeaders();
      if (!first) {
        const gone = expired(`too old resource version: ${since} (${store.version})`);
        write('ERROR', JSON.stringify(gone.status));
        response.end();
        return;
      }
      const seconds = Number(query.get('timeoutSeconds')) || randomSeconds();
      const ticking = setInterval(mark, bookmarkMs);
      const ending = setTimeout(() => {
        mark();
        response.end();
      }, seconds * 1000);
      const unsubscribe = store.subscribe(storage, (change) => eventOf(change, test).forEach(send));
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

/** The version after which to tell; undefined for whatever there is now. */
function versionOf(query: URLSearchParams, newest: number): number | undefined {
  if (query.get('sendInitialEvents') !== null) {
    const why = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    throw new ApiError(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: ${why}`);
  }
  const text = query.get('resourceVersion') || '0';
  if (!/^\d+$/.test(text)) throw unexpected(`resourceVersion: Invalid value: ${JSON.stringify(text)}: invalid syntax`);
  const version = Number(text);
  if (version <= newest) return version || undefined;
  const message = `Too large resource version: ${text}, current: ${newest}`;
  throw new ApiError(504, 'Timeout', message, { retryAfterSeconds: 1 });
}

/** What a change means for those who see only some objects: one may come into view, or leave it. */
function eventOf({ type, object, previous }: Change, test: Selection['test']): Event[] {
  const before = previous !== undefined && test(previous);
  if (type !== 'DELETED' && test(object)) return [{ type: before ? 'MODIFIED' : 'ADDED', object }];
  if (!before) return [];
  // What is shown of an object that left is what was last seen of it.
  const { resourceVersion = '' } = object.metadata;
  return [{ type: 'DELETED', object: { ...previous, metadata: { ...previous.metadata, resourceVersion } } }];
}

function randomSeconds(): number {
  return defaultSeconds.min + Math.random() * (defaultSeconds.max - defaultSeconds.min);
}
