import t from 'tap';
import { markAll, type Marking } from '../../../workers/events/mark-all.ts';

const ids = Array.from({ length: 25 }, (_, number) => String(number));
const refused = new Error('refused');

/** Records what is asked of it; a mark ends when `mark` does. */
function marking(mark: (id: string) => Promise<unknown>, together?: number) {
  const steps: string[] = [];
  let running = 0;
  let most = 0;
  const step = (name: string) => () => Promise.resolve(steps.push(name));
  const all: Marking = {
    ...{ begin: step('begin'), commit: step('commit'), rollback: step(`rollback`) },
    ...(together !== undefined && { together }),
    async mark(id) {
      most = Math.max(most, ++running);
      try {
        await mark(id);
        steps.push(id);
      } finally {
        running--;
      }
    },
    refusal: (error) => (error === refused ? 'refused' : undefined),
  };
  return { all, steps, most: () => most, running: () => running };
}

t.test('quick marks are under way together in one transaction, in their order', async (t) => {
  const { all, steps, most } = marking(() => Promise.resolve(), 10);
  t.same(await markAll(ids, all), new Map());
  t.same(steps, ['begin', ...ids, 'commit']);
  t.equal(most(), 10);
});

t.test('slow ones are not, nor where the database takes one at a time', async (t) => {
  const slow = marking(() => new Promise((resolve) => setTimeout(resolve, 25)), 10);
  await markAll(ids.slice(0, 4), slow.all);
  t.equal(slow.most(), 1);
  const single = marking(() => Promise.resolve());
  await markAll(ids, single.all);
  t.equal(single.most(), 1);
});

t.test('after a refusal each is marked by itself, once nothing is under way', async (t) => {
  const { all, steps, running } = marking(async (id) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (id === '5') throw refused;
  }, 10);
  const failures = await markAll(ids.slice(0, 12), {
    ...all,
    rollback() {
      t.equal(running(), 0);
      return all.rollback();
    },
  });
  t.same(failures, new Map([['5', 'refused']]));
  const singly = steps.slice(steps.indexOf('rollback') + 1);
  t.same(singly.filter((step) => step === 'commit').length, 11);
});
