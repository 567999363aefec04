import t from 'tap';
import { markAll, type Marking } from '../../../workers/events/mark-all.ts';

const ids = Array.from({ length: 25 }, (_, number) => String(number));
const refused = new Error('refused');
const disconnected = new Error('disconnected');

/** A marker that records its steps; a mark ends when the promise of `mark` does. */
function recordedMarking(mark: (id: string) => Promise<unknown>, concurrency?: number) {
  const steps: string[] = [];
  let running = 0;
  let maxRunning = 0;
  const step = (name: string) => () => Promise.resolve(steps.push(name));
  const marking: Marking = {
    begin: step('begin'),
    commit: step('commit'),
    rollback() {
      if (running > 0) steps.push(`${running} still running`);
      return step('rollback')();
    },
    ...(concurrency !== undefined && { concurrency }),
    async mark(id) {
      maxRunning = Math.max(maxRunning, ++running);
      try {
        await mark(id);
        steps.push(id);
      } finally {
        running--;
      }
    },
    refusal: (error) => (error === refused ? 'refused' : undefined),
  };
  return { marking, steps, maxRunning: () => maxRunning, running: () => running };
}

const refuse = (refusedId: string, error: Error) => async (id: string) => {
  await new Promise((resolve) => setImmediate(resolve));
  if (id === refusedId) throw error;
};

t.test('quick marks run concurrently in one transaction, in order, up to the maximum', async (t) => {
  const { marking, steps, maxRunning } = recordedMarking(() => Promise.resolve(), 10);
  t.same(await markAll(ids, marking), new Map());
  t.same(steps, ['begin', ...ids, 'commit']);
  t.equal(maxRunning(), 10);
});

t.test('the first mark runs alone, because the database may be slow', async (t) => {
  const { marking, steps, maxRunning } = recordedMarking(() => Promise.resolve(), 10);
  await markAll(['0'], marking);
  t.same(steps, ['begin', '0', 'commit']);
  t.equal(maxRunning(), 1);
  const first = recordedMarking(refuse('0', disconnected), 10);
  await t.rejects(markAll(ids, first.marking), disconnected);
  t.same(first.steps, ['begin'], 'nothing else was sent');
});

t.test('marks that take 20 ms or more run one at a time, and concurrently again once they are quicker', async (t) => {
  let now = 0;
  t.intercept(performance, 'now', { value: () => now });
  for (const [durations, expected] of [
    [[19], 10],
    [[20], 1],
    [[20, 19], 10],
    [[0, ...Array.from({ length: 10 }, () => 19.9)], 10],
  ] as const) {
    const { marking, maxRunning } = recordedMarking(
      (id) => Promise.resolve((now += durations[Number(id)] ?? durations.at(-1) ?? 0)),
      10,
    );
    await markAll(ids, marking);
    t.equal(maxRunning(), expected, durations.join(' '));
  }
  // One slow mark slows the next ones down, which are quick again.
  const batches: number[] = [];
  const slowSecond = recordedMarking((id) => {
    batches.push(slowSecond.running());
    return Promise.resolve((now += id === '5' ? 300 : 0));
  }, 4);
  await markAll(ids.slice(0, 12), slowSecond.marking);
  t.same(batches, [1, 1, 2, 3, 4, 1, 2, 3, 4, 1, 1, 2], 'the mark after a slow batch is alone');
});

t.test('without a maximum, marks run one at a time', async (t) => {
  const { marking, maxRunning } = recordedMarking(() => Promise.resolve());
  await markAll(ids, marking);
  t.equal(maxRunning(), 1);
});

t.test('after a refusal, each event is marked in its own transaction', async (t) => {
  const { marking, steps } = recordedMarking(refuse('2', refused), 10);
  t.same(await markAll(ids.slice(0, 4), marking), new Map([['2', 'refused']]));
  t.same(steps.slice(0, steps.indexOf('rollback') + 1), ['begin', '0', '1', '3', 'rollback']);
  t.same(
    steps.slice(steps.indexOf('rollback') + 1).join(' '),
    'begin 0 commit begin 1 commit begin rollback begin 3 commit',
  );
});

t.test('an error of the connection ends the marking, in both phases', async (t) => {
  const together = recordedMarking(refuse('2', disconnected), 10);
  await t.rejects(markAll(ids, together.marking), disconnected);
  t.notOk(together.steps.includes('rollback') || together.steps.includes('commit'));

  const single = recordedMarking(refuse('2', refused));
  let begins = 0;
  const begin = () => (++begins === 3 ? Promise.reject(disconnected) : single.marking.begin());
  await t.rejects(markAll(ids.slice(0, 4), { ...single.marking, begin }), disconnected);
  t.same(single.steps.join(' '), 'begin 0 1 rollback begin 0 commit');
});

t.test('a failed commit is a refusal of the last event', async (t) => {
  const { marking, steps } = recordedMarking(() => Promise.resolve());
  let commits = 0;
  const commit = () => (++commits <= 2 ? Promise.reject(refused) : marking.commit());
  t.same(await markAll(['0', '1'], { ...marking, commit }), new Map([['0', 'refused']]));
  t.same(steps.join(' '), 'begin 0 1 rollback begin 0 rollback begin 1 commit');
});

t.test('marking one by one ends after 20 s, and the remaining events are reported', async (t) => {
  let now = 0;
  t.intercept(performance, 'now', { value: () => now });
  const { marking, steps } = recordedMarking((id) => {
    now += id === '2' ? 1 : 10_000;
    return id === '0' ? Promise.reject(refused) : Promise.resolve();
  });
  const late = 'Not tried yet: marking the other events took too long.';
  const failures = await markAll(['0', '1', '2', '3'], marking);
  t.same(
    failures,
    new Map([
      ['0', 'refused'],
      ['3', late],
    ]),
  );
  t.same(steps.join(' '), 'begin rollback begin rollback begin 1 commit begin 2 commit');
});
