import t from 'tap';
import { replicasFor, desiredReplicas } from '../../../workers/scaler/bands.ts';

const limits = { minReplicas: 0, maxReplicas: 10, concurrency: 100 };

t.test('the bands: low 1, moderate 2 to 5, high up to 10', (t) => {
  const table: [inflight: number, replicas: number][] = [
    ...([
      [0, 1],
      [1, 1],
      [10, 1],
      [11, 2],
      [20, 2],
      [21, 3],
      [41, 5],
      [50, 5],
    ] as [number, number][]),
    ...([
      [51, 6],
      [99, 10],
      [100, 10],
      [101, 10],
      [10_000, 10],
    ] as [number, number][]),
  ];
  for (const [inflight, replicas] of table) t.equal(replicasFor(inflight, limits), replicas, `${inflight} in flight`);
  t.end();
});

t.test('the desired replicas', (t) => {
  const idleFunction = { replicas: 1, inflight: 0, peak: 0, idleMs: 1_000, idleTimeoutMs: 300_000, limits };
  const withMinimum = { ...limits, minReplicas: 2 };
  const events = { backlog: 0, peak: 0, quietMs: 60_000 };
  const busy = { ...events, backlog: 150, peak: 150, quietMs: 0 };
  const only = { idleMs: Infinity, events };
  const single = { ...limits, concurrency: 1 };
  const table: [title: string, load: Partial<typeof idleFunction> | Record<string, unknown>, wanted: number][] = [
    ['zero is never raised, whatever waits', { replicas: 0, inflight: 50, peak: 50, idleMs: 0 }, 0],
    ['one stays before the time-out', { idleMs: 299_999 }, 1],
    ['idle for the time-out goes to zero', { idleMs: 300_000 }, 0],
    ['from any count', { replicas: 7, peak: 70, idleMs: 300_000 }, 0],
    ['also when the minute was not watched as a whole', { replicas: 7, peak: undefined, idleMs: 300_000 }, 0],
    ['never to zero with something in flight', { inflight: 1, peak: 1, idleMs: 300_000 }, 1],
    ['never to zero without every report', { idleMs: undefined }, 1],
    ['raised at once', { inflight: 35, peak: 35, idleMs: 0 }, 4],
    ['raised without every report', { inflight: 35, peak: undefined, idleMs: undefined }, 4],
    ['kept while the peak needs it', { replicas: 4, inflight: 3, peak: 35, idleMs: 0 }, 4],
    ['lowered to what the peak needs', { replicas: 8, inflight: 3, peak: 35, idleMs: 0 }, 4],
    ['not lowered without every report', { replicas: 8, inflight: 3, peak: 35, idleMs: undefined }, 8],
    ['not lowered before a whole minute', { replicas: 8, inflight: 3, peak: undefined, idleMs: 0 }, 8],
    ['never below what is in flight', { replicas: 8, inflight: 60, peak: 10, idleMs: 0 }, 6],
    ['never above ten', { replicas: 10, inflight: 900, peak: 900, idleMs: 0 }, 10],
    ['a foreign count above ten comes down', { replicas: 14, inflight: 900, peak: 900, idleMs: 0 }, 10],
    ['the least is raised without a request', { replicas: 0, limits: withMinimum }, 2],
    ['the least stays when idle', { replicas: 5, idleMs: 300_000, limits: withMinimum }, 2],
    ['and increases once the minimum is raised', { replicas: 1, limits: withMinimum }, 2],
    [
      'more than the least where it is needed',
      { replicas: 2, inflight: 35, peak: 35, idleMs: 0, limits: withMinimum },
      4,
    ],
    ['a pod each where a pod may have one', { inflight: 3, peak: 3, idleMs: 0, limits: single }, 3],
    ['within its own most', { inflight: 90, peak: 90, idleMs: 0, limits: { ...limits, maxReplicas: 3 } }, 3],
    ['which lowers at once', { replicas: 8, peak: undefined, idleMs: 0, limits: { ...limits, maxReplicas: 3 } }, 3],
    ['events raise from zero', { ...only, replicas: 0, events: busy }, 2],
    ['within its own most, too', { ...only, replicas: 0, events: busy, limits: { ...limits, maxReplicas: 1 } }, 1],
    ['without events zero stays', { ...only, replicas: 0 }, 0],
    ['an unknown backlog adds no pod', { ...only, replicas: 0, events: { ...events, backlog: undefined } }, 0],
    ['and takes nothing away', { ...only, replicas: 3, events: { ...events, backlog: undefined } }, 3],
    ['no pod stays without events', { ...only, replicas: 3 }, 0],
    ['one does for half a minute', { ...only, replicas: 1, events: { ...events, quietMs: 29_999 } }, 1],
    ['or the time-out', { ...only, idleTimeoutMs: 9_000, events: { ...events, quietMs: 9_000 } }, 0],
    ['lowered to what the peak of events needs', { ...only, replicas: 9, events: { ...busy, peak: 420 } }, 5],
    ['not before a whole minute', { ...only, replicas: 9, events: { ...busy, peak: undefined } }, 9],
    ['the more of requests and events', { inflight: 35, peak: 35, idleMs: 0, events: busy }, 4],
    ['requests keep what events let go', { idleMs: 1_000, events }, 1],
    ['events keep what requests let go', { idleMs: 300_000, events: { ...busy, backlog: 1, quietMs: 60_000 } }, 1],
  ];
  for (const [title, load, expected] of table) t.equal(desiredReplicas({ ...idleFunction, ...load }), expected, title);
  t.end();
});
