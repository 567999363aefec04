import { Readable } from 'node:stream';
import type { Clock } from '../../runtime/domain/clock.ts';
import { servingPods } from '../../runtime/domain/labels.ts';
import { findApp } from '../../runtime/host/app-request.ts';
import { followLogLines, readLogLines, type LogLine } from '../../runtime/host/pod-log-lines.ts';
import { route, type Route } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { appLogsSchema } from './schema.ts';

/** An empty line so often, in ms, so that no proxy takes a silent stream for a dead one; most give up after 60 s. */
const heartbeatMs = 15_000;
/** A stream ends after this long, and whoever follows asks again: with the rights of then. */
const followMaxMs = 30 * 60_000;

/** `/projects/{p}/apps/{a}/logs`: what an app's pods print. */
export function logRoutes({ kube, clock }: { kube: KubeClient; clock: Clock }): Route[] {
  return [
    route({
      ...appLogsSchema,
      method: 'GET',
      path: '/projects/:project/apps/:app/logs',
      access: { project: 'viewer' },
      tag: 'apps',
      summary:
        'Shows what the pods of an app printed, by time; with `follow` as lines of JSON that go on, over rollouts and restarts.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        const { follow, previous, tail, sinceSeconds, sinceTime } = request.query;
        const ago = sinceSeconds === undefined ? undefined : new Date(clock.now().getTime() - sinceSeconds * 1000);
        const since = sinceTime === undefined ? ago : new Date(sinceTime);
        const { namespace = '' } = app.metadata;
        const source = { namespace, labelSelector: servingPods(workloadIdOf(app)), container: 'app' };
        if (!follow) {
          const lines = await readLogLines(kube, source, { tail, since, previous });
          return { status: 200, body: { items: lines } };
        }
        const signal = AbortSignal.any([request.signal, AbortSignal.timeout(followMaxMs)]);
        const lines = followLogLines(kube, source, { tail, since }, { clock, signal });
        return {
          status: 200,
          headers: { 'Content-Type': 'application/x-ndjson', 'X-Accel-Buffering': 'no' },
          body: Readable.from(withHeartbeat(lines, clock), { objectMode: false }),
        };
      },
    }),
  ];
}

async function* withHeartbeat(lines: AsyncGenerator<LogLine>, clock: Clock): AsyncGenerator<Buffer> {
  try {
    // At once, so that the answer begins before the first line is there.
    yield Buffer.from('\n');
    let next = lines.next();
    for (;;) {
      const timer = new AbortController();
      const silence = clock.sleep(heartbeatMs, timer.signal).catch(() => undefined);
      const result = await Promise.race([next, silence]);
      timer.abort();
      if (result === undefined) yield Buffer.from('\n');
      else if (result.done) return;
      else {
        yield Buffer.from(`${JSON.stringify(result.value)}\n`);
        next = lines.next();
      }
    }
  } finally {
    await lines.return(undefined);
  }
}
