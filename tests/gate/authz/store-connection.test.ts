import t from 'tap';
import { continues, type GateSession, type ViewPosition } from '../../../gate/authz/gate-store.ts';
import { createStoreConnection } from '../../../gate/authz/store-connection.ts';
import { fakeClock } from '../../support/clock.ts';
import { never, scriptedStore } from './scripted-store.ts';

t.test('one session serves every call until it is dropped', async (t) => {
  const { store, connections } = scriptedStore({});
  const { session, drop } = createStoreConnection({ store, clock: fakeClock(), signal: new AbortController().signal });
  drop();
  t.same(connections, { opened: 0, ended: 0 }, 'it opens when it is needed');
  const first = await session();
  t.ok(first);
  t.equal(await session(), first);
  t.same(connections, { opened: 1, ended: 0 });
  drop();
  drop();
  t.same(connections, { opened: 1, ended: 1 });
  t.not(await session(), first);
  t.same(connections, { opened: 2, ended: 1 });
});

t.test('connecting fails after five seconds, and a session that opens later is closed', async (t) => {
  const clock = fakeClock();
  const { store, connections } = scriptedStore({});
  const opening = Promise.withResolvers<GateSession>();
  const slow = { connect: () => opening.promise };
  const { session } = createStoreConnection({ store: slow, clock, signal: new AbortController().signal });
  let failure: unknown;
  session().catch((error: unknown) => (failure = error));
  await clock.advance(4_999);
  t.equal(failure, undefined);
  await clock.advance(1);
  t.match(failure, { message: 'connecting to the store took longer than 5000 ms' });
  opening.resolve(await store.connect());
  await clock.advance(0);
  t.same(connections, { opened: 1, ended: 1 });

  const refused = { connect: () => Promise.reject(new Error('refused')) };
  const other = createStoreConnection({ store: refused, clock, signal: new AbortController().signal });
  await t.rejects(other.session(), { message: 'refused' });
  t.equal(clock.sleepers(), 0);
});

t.test('the signal rejects what is in progress, and everything after it', async (t) => {
  const clock = fakeClock();
  const ending = new AbortController();
  const { store } = scriptedStore({});
  const { withTimeout } = createStoreConnection({ store, clock, signal: ending.signal });
  const running = withTimeout(1_000, 'a call', never);
  ending.abort(new Error('stopped'));
  await t.rejects(running, { message: 'stopped' });
  await t.rejects(withTimeout(1_000, 'a call', never), { message: 'stopped' });
  t.equal(clock.sleepers(), 0);
});

t.test('a history continues a position that it contains', (t) => {
  const at = (version: number, token: string | null): ViewPosition => ({
    feed: { feedId: 'f', version, token },
    usage: { version, token },
  });
  const table: [string, ViewPosition, ViewPosition, string | null, boolean][] = [
    ['nothing new', at(5, 'e'), at(5, 'e'), 'e', true],
    ['new versions', at(6, 'f'), at(5, 'e'), 'e', true],
    ['a shorter history', at(4, 'd'), at(5, 'e'), null, false],
    ['a shorter history that still has the version', at(4, 'd'), at(5, 'e'), 'e', false],
    ['another change at the version', at(6, 'f'), at(5, 'e'), 'x', false],
    ['a change that was deleted', at(6, 'f'), at(5, 'e'), null, false],
    ['a position whose change was deleted', at(6, 'f'), at(5, null), null, false],
    ['the first change', at(2, 'b'), at(1, 'a'), 'a', true],
    ['a first change without a token', at(1, null), at(1, null), null, false],
    ['an empty history', at(0, null), at(0, null), null, true],
    ['the first change after an empty history', at(1, 'a'), at(0, null), null, true],
  ];
  for (const [name, head, since, there, continued] of table) {
    const answer = continues({ position: head, tokensThere: { feed: there, usage: there } }, since);
    t.same(answer, { feed: continued, usage: continued }, name);
  }

  const other = { ...at(5, 'e'), feed: { feedId: 'g', version: 5, token: 'e' } };
  const same = { feed: 'e', usage: 'e' };
  t.same(continues({ position: other, tokensThere: same }, at(5, 'e')), { feed: false, usage: false }, 'another store');
  const replaced = { feed: 'e', usage: 'x' };
  t.same(
    continues({ position: at(5, 'e'), tokensThere: replaced }, at(5, 'e')),
    { feed: true, usage: false },
    'only the usage was replaced',
  );
  t.end();
});
