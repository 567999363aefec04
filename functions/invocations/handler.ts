import { objectRoutes } from '../../runtime/api/object-routes.ts';
import { createUserPlaces, PlaceTaken } from '../../runtime/api/user-places.ts';
import { functionInvocation, invocationAnswer, invocationMaxBytes } from '../../runtime/contracts/api/invocations.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { functionLimits, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { FailedAfterEffect } from '../../runtime/http/audit.ts';
import { sessionOf, type Route } from '../../runtime/http/route.ts';
import { otherHolder } from '../../runtime/kube/claims.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { sendInvocation } from './send.ts';

export interface InvocationDependencies {
  kube: KubeClient;
  clock: Clock;
  /** The address of the interceptors inside the cluster. */
  interceptorUrl: string;
  /** Default: 20 invocations in all, 5 per user. Each takes about 2 MiB until its answer is sent. */
  limits?: { total: number; perUser: number };
  /** How long the body of an answer may take, in ms; default 30,000. */
  bodyMs?: number;
}

/** `POST …/functions/{function}/invoke` (docs/decisions/0074-invoke-a-function.md). */
export function createInvocationRoutes(dependencies: InvocationDependencies): Route[] {
  const { kube, clock, interceptorUrl, limits = { total: 20, perUser: 5 }, bodyMs } = dependencies;
  const places = createUserPlaces({ ...limits, what: 'invocations in progress' });
  return [
    objectRoutes<FunctionResource>(kube, 'Function').route({
      method: 'POST',
      path: '/invoke',
      access: { project: 'deployer', scope: 'deploy' },
      summary: 'Sends one HTTP request to a function, past its gate, and answers with the function’s answer.',
      audit: 'function.invoke',
      body: functionInvocation,
      bodyLimit: invocationMaxBytes,
      replies: { 200: invocationAnswer },
      async handle(request) {
        const { body: invocation, clientAddress, requestId, findLiving, signal } = request;
        const place = places.enter(sessionOf(request).userId);
        // Neither path nor headers: a secret can be in them.
        const audit = { request: invocation.method ?? 'GET' };
        let isSent = false;
        try {
          const { host, proto, timeoutMs } = await destinationOf(kube, await findLiving());
          isSent = true;
          const answer = await sendInvocation({
            interceptorUrl,
            host,
            invocation,
            requestId,
            timeoutMs,
            bodyMs,
            clock,
            forwarded: { for: clientAddress, proto },
            signal: AbortSignal.any([signal, place.signal]),
          });
          return { status: 200, body: answer, audit: { ...audit, answer: answer.status } };
        } catch (error) {
          if (!isSent) throw error;
          // The function may have handled it, also for a client that leaves before the answer.
          throw new FailedAfterEffect(error instanceof PlaceTaken ? placeTaken(error) : error, audit);
        } finally {
          place.leave();
        }
      },
    }),
  ];
}

function placeTaken(cause: PlaceTaken): Problem {
  const message = 'The invocation was ended, because another user needs its place. The function may have handled it.';
  return new Problem('unavailable', message, { cause });
}

/**
 * Where the interceptors find a function. The claim of its host is checked, so that no other function is reached that has
 * got the host since the status was written.
 * @throws Problem `invalid_value` for a function without a URL, `not_ready` without a route
 */
async function destinationOf(kube: Pick<KubeClient, 'get'>, object: Stored<FunctionResource>) {
  const { metadata, spec, status } = object;
  if (spec.trigger !== 'http') {
    throw new Problem(
      'invalid_value',
      `The function "${metadata.name}" has no URL, since its trigger is ${spec.trigger}.`,
    );
  }
  const host = status?.host;
  if (host === undefined || (await otherHolder(kube, workloadIdOf(object), host))) {
    const message = `The function "${metadata.name}" has no route yet. See \`svc function show ${metadata.name}\`.`;
    throw new Problem('not_ready', message);
  }
  const proto = status?.url?.startsWith('https:') ? ('https' as const) : ('http' as const);
  return { host, proto, timeoutMs: functionLimits(spec).requestTimeoutSeconds * 1_000 };
}
