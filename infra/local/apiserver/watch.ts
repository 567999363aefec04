import type { ServerResponse } from 'node:http';
import { ApiError, expired, unexpected } from './api-error.ts';
import { apiVersionOf, type ApiObject } from './resource.ts';
import type { Selection } from './selector.ts';
import { textOf, type Change, type Store } from './store.ts';
import { tableOf, type Rendering } from './table.ts';

const bookmarkMs = 60_000;
/** A watch that names no time ends after a random one between these. */
const defaultSeconds = { min: 1800, max: 3600 };
/** A client that reads nothing for this many bytes is let go; it lists anew. */
const backlogMax = 32 * 1024 * 1024;

type EventType = Change['type'];

/** Watches of one server. */
export interface Watches {
  /** Tells of changes until the client leaves, the time is over, or the server stops. @throws ApiError 400, 504 */
  open(response: ServerResponse, selection: Selection, query: URLSearchParams, rendering: Rendering): void;
  /** Ends all of them. */
  stop(): void;
}

/** @param options.bookmarkMs how often a watch is told how far it has come, a minute by default */
export function createWatches(options: { store: Store; bookmarkMs?: number }): Watches {
  const { store } = options;
  const open = new Set<() => void>();

  return {
    open(response, selection, query, rendering) {
      const { resource, storage, test } = selection;
      const since = versionOf(query, store.version);
      const history = since === undefined ? undefined : store.since(storage, since);
      const bookmarks = query.get('allowWatchBookmarks') === 'true' || query.get('allowWatchBookmarks') === '1';

      const send = (type: EventType, object: ApiObject) => {
        const text = rendering.table
          ? JSON.stringify(
              tableOf([object], resource, {
                include: rendering.include,
                metadata: { resourceVersion: object.metadata.resourceVersion },
              }),
            )
          : textOf(object);
        response.write(`{"type":"${type}","object":${text}}\n`);
        if (response.writableLength > backlogMax) end();
      };
      const tell = (change: Change) => {
        const event = eventOf(change, test);
        if (event) send(event.type, event.object);
      };
      const mark = () => {
        const { kind } = resource;
        const metadata = { resourceVersion: String(store.version), creationTimestamp: null };
        const object = { kind, apiVersion: apiVersionOf(resource), metadata };
        response.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
      };
      const end = () => {
        open.delete(end);
        clearInterval(ticking);
        clearTimeout(ending);
        unsubscribe();
        if (response.writableLength > backlogMax) response.destroy();
        else response.end();
      };

      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
      response.flushHeaders();
      if (since !== undefined && !history) {
        const gone = expired(`too old resource version: ${since} (${store.version})`);
        response.end(`${JSON.stringify({ type: 'ERROR', object: gone.toStatus() })}\n`);
        return;
      }
      const seconds = Number(query.get('timeoutSeconds')) || randomSeconds();
      const ticking = setInterval(() => bookmarks && mark(), options.bookmarkMs ?? bookmarkMs);
      const ending = setTimeout(() => {
        if (bookmarks) mark();
        end();
      }, seconds * 1000);
      const unsubscribe = store.subscribe(storage, tell);
      open.add(end);
      response.on('close', end);
      if (history) for (const change of history) tell(change);
      else for (const object of store.list(storage, selection.namespace).filter(test)) send('ADDED', object);
    },
    stop() {
      for (const end of [...open]) end();
    },
  };
}

/** The version after which to tell; undefined for whatever there is now. */
function versionOf(query: URLSearchParams, newest: number): number | undefined {
  if (query.get('sendInitialEvents') !== null) {
    throw new ApiError(
      422,
      'Invalid',
      'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
    );
  }
  const text = query.get('resourceVersion') ?? '';
  if (text === '' || text === '0') return undefined;
  if (!/^\d+$/.test(text)) throw unexpected(`resourceVersion: Invalid value: ${JSON.stringify(text)}: invalid syntax`);
  const version = Number(text);
  if (version > newest) {
    throw new ApiError(504, 'Timeout', `Too large resource version: ${text}, current: ${newest}`, {
      retryAfterSeconds: 1,
    });
  }
  return version;
}

/** What a change means for those who see only some objects: one may come into view, or leave it. */
function eventOf(
  { type, object, previous }: Change,
  test: (object: ApiObject) => boolean,
): { type: EventType; object: ApiObject } | undefined {
  const before = previous !== undefined && test(previous);
  const now = type !== 'DELETED' && test(object);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  if (!before) return undefined;
  if (type === 'DELETED') return { type, object };
  // What is shown of an object that left is what was last seen of it.
  const { resourceVersion } = object.metadata;
  return {
    type: 'DELETED',
    object: {
      ...previous,
      metadata: { ...previous.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
    },
  };
}

function randomSeconds(): number {
  return defaultSeconds.min + Math.random() * (defaultSeconds.max - defaultSeconds.min);
}
