import type { Problem } from '../domain/problem.ts';
import { defaultBodyLimit } from './body.ts';
import type { Route } from './route.ts';

/**
 * The statuses with which a route may refuse a request, each with the reason: those of the host, before the handler gets
 * the request, and those that handlers of its kind use. A status of `replies` may be one of them, too. Pure.
 */
export function refusalsOf(route: Route): ReadonlyMap<number, string> {
  const { access, method, path, body, lateBody, bodyLimit = defaultBodyLimit, unlimited, replies, webSocket } = route;
  const takesBody = body !== undefined || lateBody !== undefined;
  const changes = method !== 'GET';
  const reasons: readonly (readonly [status: number, applies: boolean, reason: string])[] = [
    [400, true, 'The request is not valid (`invalid_request`, `invalid_json`, `environment_required`).'],
    [401, access !== 'public' || changes, 'The caller’s proof is missing or wrong (`unauthenticated` and others).'],
    [403, access !== 'public', 'The caller may not do this (`forbidden` and others).'],
    [404, path.includes(':'), 'The object does not exist, or the caller has no role in its project (`not_found`).'],
    [408, takesBody, 'The body did not arrive in time (`request_timeout`).'],
    [409, changes || typeof access === 'object', 'The state of an object forbids it (`conflict` and others).'],
    [413, takesBody, `The body is larger than ${bodyLimit} bytes (\`body_too_large\`).`],
    [415, takesBody, 'The body is not JSON, or compressed (`unsupported_media_type`).'],
    [422, access !== 'public', 'A value is not allowed (`invalid_value` and others).'],
    [
      426,
      webSocket !== undefined,
      `The request asks for no WebSocket of the subprotocol \`${webSocket}\` (\`upgrade_required\`).`,
    ],
    [429, !unlimited, 'Too many requests of this client or user (`too_many_requests`), with `Retry-After`.'],
    [503, true, 'The API is overloaded (`overloaded`, with `Retry-After`), or a component does not answer.'],
  ];
  return new Map(
    reasons.flatMap(([status, applies, reason]) => (applies && !(status in replies) ? [[status, reason]] : [])),
  );
}

/** For tests. @throws Error for a refusal that the route does not declare */
export function checkRefusal(route: Route, error: Problem): void {
  const { status } = error;
  if (error.code === 'internal' || refusalsOf(route).has(status) || status in route.replies) return;
  throw new Error(`${route.method} ${route.path} does not declare ${status}`, { cause: error });
}
