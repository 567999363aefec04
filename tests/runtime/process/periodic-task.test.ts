import t from 'tap';
import { createPeriodicTask } from '../../../runtime/process/periodic-task.ts';
import { fakeClock, settle } from '../../support/clock.ts';

function task(options: { pauseFirst?: boolean; run?: (signal: AbortSignal) => Promise<void> } = {}) {
  const clock = fakeClock();
  const runs: number[] = [];
  const errors: unknown[] = [];
  const created = createPeriodicTask({
    clock,
    pauseMs: () => 100 * runs.length || 100,
    onError: (error) => errors.push(error),
    ...options,
    async run(signal) {
      runs.push(clock.monotonic());
      await options.run?.(signal);
    },
  });
  return { clock, runs, errors, periodic: created };
}

t.test('a task runs again after each pause, whose length is asked each time, until it is stopped', async (t) => {
  const { clock, runs, periodic } = task();
  periodic.start();
  periodic.start();
  await clock.advance(350);
  t.same(runs, [0, 100, 300]);
  await periodic.stop();
  await clock.advance(10_000);
  t.equal(runs.length, 3);
  t.equal(clock.sleepers(), 0);
});

t.test('a task that pauses first does not run at once, nor after it was stopped in that pause', async (t) => {
  const first = task({ pauseFirst: true });
  first.periodic.start();
  await first.clock.advance(99);
  t.same(first.runs, []);
  await first.clock.advance(1);
  t.same(first.runs, [100]);
  await first.periodic.stop();
  const second = task({ pauseFirst: true });
  second.periodic.start();
  await second.periodic.stop();
  t.same(second.runs, []);
});

t.test('a run that fails is reported, and the next one follows', async (t) => {
  const failure = new Error('failed');
  const { clock, runs, errors, periodic } = task({ run: () => Promise.reject(failure) });
  periodic.start();
  await clock.advance(100);
  t.equal(runs.length, 2);
  t.same(errors, [failure, failure]);
  await periodic.stop();
});

t.test('stopping aborts the signal of the run and waits until it has ended', async (t) => {
  const ending = Promise.withResolvers<void>();
  let runSignal: AbortSignal | undefined;
  const { periodic } = task({
    run(signal) {
      runSignal = signal;
      return ending.promise;
    },
  });
  periodic.start();
  let hasStopped = false;
  const stopped = periodic.stop().then(() => (hasStopped = true));
  await settle();
  t.equal(runSignal?.aborted, true);
  t.equal(hasStopped, false);
  ending.resolve();
  await stopped;
});
