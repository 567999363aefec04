import t from 'tap';
import { replicasFor, desiredReplicas } from '../../../workers/scaler/bands.ts';

const limits = { minReplicas: 0, maxReplicas: 10, concurrency: 100, targetRate: 200 };

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
  for (const [inflight, replicas] of table) {
    t.equal(replicasFor({ inflight, rate: 0 }, limits), replicas, `${inflight} in flight`);
  }
  t.end();
});

t.test('the bands by rate, for short requests that are hardly ever in flight together', (t) => {
  const table: [rate: number, replicas: number][] = [
    [0, 1],
    [200, 1],
    [200.5, 2],
    [1_000, 5],
    [1_001, 6],
    [5_000, 10],
  ];
  for (const [rate, replicas] of table) t.equal(replicasFor({ inflight: 1, rate }, limits), replicas, `${rate}/s`);
  t.equal(replicasFor({ inflight: 1, rate: 5_000 }, { ...limits, targetRate: 2_500 }), 2, 'its own target');
  t.equal(replicasFor({ inflight: 35, rate: 500 }, limits), 4, 'whichever are more');
  t.equal(replicasFor({ inflight: 5, rate: 500 }, limits), 3);
  t.end();
});

t.test('the desired replicas', (t) => {
  const quiet = { inflight: 0, rate: 0 };
  const idleFunction = { replicas: 1, requests: quiet, peak: quiet, idleMs: 1_000, idleTimeoutMs: 300_000, limits };
  const flying = (inflight: number) => ({ inflight, rate: 0 });
  const withMinimum = { ...limits, minReplicas: 2 };
  const events = { backlog: 0, peak: 0, quietMs: 60_000 };
  const busy = { ...events, backlog: 150, peak: 150, quietMs: 0 };
  const only = { idleMs: Infinity, events };
  const single = { ...limits, concurrency: 1 };
  const table: [title: string, load: Partial<typeof idleFunction> | Record<string, unknown>, wanted: number][] = [
    ['zero is never raised, whatever waits', { replicas: 0, requests: flying(50), peak: flying(50), idleMs: 0 }, 0],
    ['one stays before the time-out', { idleMs: 299_999 }, 1],
    ['idle for the time-out goes to zero', { idleMs: 300_000 }, 0],
    ['from any count', { replicas: 7, peak: flying(70), idleMs: 300_000 }, 0],
    ['also when the minute was not watched as a whole', { replicas: 7, peak: undefined, idleMs: 300_000 }, 0],
    ['never to zero with something in flight', { requests: flying(1), peak: flying(1), idleMs: 300_000 }, 1],
    ['never to zero without every report', { idleMs: undefined }, 1],
    ['raised at once', { requests: flying(35), peak: flying(35), idleMs: 0 }, 4],
    ['raised without every report', { requests: flying(35), peak: undefined, idleMs: undefined }, 4],
    ['raised by the rate', { requests: { inflight: 1, rate: 900 }, peak: undefined, idleMs: 0 }, 5],
    ['kept while the rate was higher', { replicas: 5, peak: { inflight: 1, rate: 900 } }, 5],
    ['kept while the peak needs it', { replicas: 4, requests: flying(3), peak: flying(35), idleMs: 0 }, 4],
    ['lowered to what the peak needs', { replicas: 8, requests: flying(3), peak: flying(35), idleMs: 0 }, 4],
    ['not lowered without every report', { replicas: 8, requests: flying(3), peak: flying(35), idleMs: undefined }, 8],
    ['not lowered before a whole minute', { replicas: 8, requests: flying(3), peak: undefined, idleMs: 0 }, 8],
    ['never below what is in flight', { replicas: 8, requests: flying(60), peak: flying(10), idleMs: 0 }, 6],
    ['never above ten', { replicas: 10, requests: flying(900), peak: flying(900), idleMs: 0 }, 10],
    ['a foreign count above ten comes down', { replicas: 14, requests: flying(900), peak: flying(900), idleMs: 0 }, 10],
    ['the least is raised without a request', { replicas: 0, limits: withMinimum }, 2],
    ['the least stays when idle', { replicas: 5, idleMs: 300_000, limits: withMinimum }, 2],
    ['and increases once the minimum is raised', { replicas: 1, limits: withMinimum }, 2],
    [
      'more than the least where it is needed',
      { replicas: 2, requests: flying(35), peak: flying(35), idleMs: 0, limits: withMinimum },
      4,
    ],
    ['a pod each where a pod may have one', { requests: flying(3), peak: flying(3), idleMs: 0, limits: single }, 3],
    [
      'within its own most',
      { requests: flying(90), peak: flying(90), idleMs: 0, limits: { ...limits, maxReplicas: 3 } },
      3,
    ],
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
    ['the more of requests and events', { requests: flying(35), peak: flying(35), idleMs: 0, events: busy }, 4],
    ['requests keep what events let go', { idleMs: 1_000, events }, 1],
    ['events keep what requests let go', { idleMs: 300_000, events: { ...busy, backlog: 1, quietMs: 60_000 } }, 1],
  ];
  for (const [title, load, expected] of table) t.equal(desiredReplicas({ ...idleFunction, ...load }), expected, title);
  t.end();
});
