import t from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { createInformer, type Change } from '../../../runtime/kube/informer.ts';
import { KubeError, type KubeClient, type Selection, type WatchEvent } from '../../../runtime/kube/kube-client.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { recordingLog, silentLog } from '../../support/log.ts';

type Step = WatchEvent<KubeObject> | Error | 'end';

function object(name: string, version: number, uid = name): Stored<KubeObject> {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'a', uid, resourceVersion: String(version) },
  };
}

/** A server with scripted lists and watch connections; it records where each watch began. */
function scriptedServer() {
  let lists: (Stored<KubeObject>[] | Error)[] = [];
  let listVersion = 0;
  let wake: (() => void) | undefined;
  const steps: Step[] = [];
  const server = {
    begun: [] as string[],
    listed: 0,
    open: 0,
    /** Answers to the next lists; the last one is repeated. */
    willList(version: number, ...answers: (Stored<KubeObject>[] | Error)[]) {
      lists = answers;
      listVersion = version;
    },
    push(...next: Step[]) {
      steps.push(...next);
      wake?.();
      return settle();
    },
    list: () => {
      server.listed += 1;
      const answer = lists.length > 1 ? lists.shift() : lists[0];
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve({ items: answer ?? [], resourceVersion: String(listVersion) });
    },
    async *watch(_kind: unknown, { resourceVersion }: Selection & { resourceVersion: string }, signal: AbortSignal) {
      server.begun.push(resourceVersion);
      server.open += 1;
      try {
        for (;;) {
          if (signal.aborted) throw signal.reason as Error;
          const step = steps.shift();
          if (step === 'end') return;
          if (step instanceof Error) throw step;
          if (step) yield step;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
        }
      } finally {
        server.open -= 1;
      }
    },
  };
  return server;
}

function setUp(t: { teardown(end: () => unknown): void }, log = silentLog) {
  const server = scriptedServer();
  const clock = fakeClock();
  const kube = server as unknown as Pick<KubeClient, 'list' | 'watch'>;
  const informer = createInformer<KubeObject>({ kube, kind: kinds.ConfigMap, clock, log, silenceMs: 10_000 });
  const changes: string[] = [];
  informer.onChange(({ type, object: { metadata } }: Change<KubeObject>) =>
    changes.push(`${type} ${metadata.name}@${metadata.resourceVersion}`),
  );
  t.teardown(() => informer.stop());
  return { server, clock, informer, changes };
}

const event = (type: WatchEvent<KubeObject>['type'], about: Stored<KubeObject>): Step => ({ type, object: about });
const names = (list: Stored<KubeObject>[]) => list.map(({ metadata }) => metadata.name).sort();

t.test('it lists, follows, and reports each change once', async (t) => {
  const { server, informer, changes } = setUp(t);
  server.willList(5, [object('one', 1), object('two', 2)]);
  t.equal(informer.synced(), false);
  t.equal(informer.lastSeenMs(), Number.POSITIVE_INFINITY);
  informer.start();
  await informer.whenSynced();
  await server.push(
    event('MODIFIED', object('one', 6)),
    event('ADDED', object('three', 7)),
    event('DELETED', object('two', 8)),
  );
  t.same(server.begun, ['5']);
  t.same(changes, ['added one@1', 'added two@2', 'modified one@6', 'added three@7', 'deleted two@8']);
  t.same(names(informer.list()), ['one', 'three']);
  t.equal(informer.get('one', 'a')?.metadata.resourceVersion, '6');
  t.equal(informer.get('one', 'b'), undefined);
});

t.test('objects are found by namespace and by label, before and after changes', async (t) => {
  const { server, clock, informer } = setUp(t);
  const labeled = (name: string, version: number, id: string, namespace = 'a', uid = name) => {
    const { metadata, ...rest } = object(name, version, uid);
    return { ...rest, metadata: { ...metadata, namespace, labels: { id } } };
  };
  const lists = () => [
    names(informer.listIn('a')),
    names(informer.listIn('b')),
    names(informer.listLabeled('id', 'x')),
  ];
  t.same(lists(), [[], [], []]);
  server.willList(5, [labeled('one', 1, 'x'), labeled('two', 2, 'y'), labeled('far', 3, 'x', 'b'), object('none', 4)]);
  informer.start();
  await informer.whenSynced();
  t.same(lists(), [['none', 'one', 'two'], ['far'], ['far', 'one']]);
  t.same(names(informer.listLabeled('id', 'z')), []);
  const inEach = () => ['a', 'b'].map((namespace) => names(informer.listLabeled('id', 'x', namespace)));
  t.same(inEach(), [['one'], ['far']]);
  await server.push(
    event('MODIFIED', labeled('one', 6, 'y')),
    event('MODIFIED', labeled('two', 7, 'x')),
    event('DELETED', labeled('far', 8, 'x', 'b')),
  );
  t.same(lists(), [['none', 'one', 'two'], [], ['two']]);
  t.same(inEach(), [['two'], []]);
  t.equal(informer.listLabeled('id', 'y')[0]?.metadata.resourceVersion, '6');
  // The second life of an object, in a list.
  server.willList(90, [labeled('two', 80, 'z', 'a', 'second')]);
  await server.push(new KubeError(410, 'Expired', 'too old resource version'));
  await clock.advance(1_000);
  t.same(lists(), [['two'], [], []]);
  t.same(names(informer.listLabeled('id', 'z')), ['two']);
});

t.test('after a cut the watch continues where it was, bookmarks included', async (t) => {
  const { server, clock, informer, changes } = setUp(t);
  server.willList(5, []);
  informer.start();
  await server.push(event('ADDED', object('one', 6)), event('BOOKMARK', object('', 40)), new Error('ECONNRESET'));
  await clock.advance(1_000);
  await server.push(event('ADDED', object('two', 41)));
  t.same(server.begun, ['5', '40']);
  t.equal(server.listed, 1);
  t.same(changes, ['added one@6', 'added two@41']);
});

t.test('an expired version causes a new list, and only the difference is reported', async (t) => {
  const { server, clock, informer, changes } = setUp(t);
  server.willList(5, [object('kept', 1), object('changed', 2), object('gone', 3), object('remade', 4, 'first')]);
  informer.start();
  await informer.whenSynced();
  changes.length = 0;
  server.willList(90, [object('kept', 1), object('changed', 80), object('remade', 81, 'second'), object('new', 82)]);
  await server.push(new KubeError(410, 'Expired', 'too old resource version'));
  await clock.advance(1_000);
  t.same(server.begun, ['5', '90']);
  t.same(changes.sort(), [
    'added new@82',
    'added remade@81',
    'deleted gone@3',
    'deleted remade@4',
    'modified changed@80',
  ]);
  t.same(names(informer.list()), ['changed', 'kept', 'new', 'remade']);
});

t.test('refusals cause growing, bounded waits, and it recovers', async (t) => {
  const { server, clock, informer } = setUp(t);
  server.willList(5, new KubeError(429, 'TooManyRequests', 'slow down'));
  informer.start();
  await clock.advance(60_000);
  t.ok(server.listed > 6 && server.listed < 14, `listed ${server.listed} times in the first minute`);
  const before = server.listed;
  await clock.advance(300_000);
  t.ok(server.listed - before <= 13, 'then about twice a minute');
  server.willList(6, [object('one', 1)]);
  await clock.advance(30_000);
  t.ok(informer.synced());
});

t.test('a server that was down for long is noticed within seconds of its return', async (t) => {
  const { server, clock, informer } = setUp(t);
  server.willList(5, new Error('connect ECONNREFUSED'));
  informer.start();
  await clock.advance(300_000);
  t.ok(server.listed < 90, `listed ${server.listed} times in five minutes`);
  server.willList(6, [object('one', 1)]);
  await clock.advance(5_000);
  t.ok(informer.synced());
});

t.test('a refused watch loses no change and needs no list', async (t) => {
  const { server, clock, informer } = setUp(t);
  server.willList(5, []);
  informer.start();
  await informer.whenSynced();
  await server.push(new KubeError(429, 'TooManyRequests', 'slow down'));
  await clock.advance(1_000);
  t.equal(server.listed, 1);
  t.same(server.begun, ['5', '5']);
});

t.test('a silent watch is abandoned and everything is listed again', async (t) => {
  const { server, clock, informer, changes } = setUp(t);
  server.willList(5, []);
  informer.start();
  await informer.whenSynced();
  await clock.advance(9_000);
  await server.push(event('BOOKMARK', object('', 6)));
  await clock.advance(9_000);
  t.equal(server.begun.length, 1, 'a bookmark proves that the watch is alive');
  t.equal(informer.lastSeenMs(), 9_000);
  server.willList(70, [object('missed', 60)]);
  await clock.advance(2_000);
  t.same(server.begun, ['5', '70']);
  t.same(changes, ['added missed@60']);
  t.equal(server.open, 1, 'the silent connection was closed');
});

t.test('a server that ends every watch at once causes no tight loop', async (t) => {
  const { server, clock, informer } = setUp(t);
  server.willList(5, []);
  informer.start();
  await server.push(...Array.from({ length: 200 }, (): Step => 'end'));
  await clock.advance(60_000);
  t.ok(server.begun.length < 15, `${server.begun.length} watches in a minute`);
});

t.test('a listener that throws is logged and stops no other', async (t) => {
  const recorded = recordingLog();
  const { server, informer, changes } = setUp(t, recorded.log);
  informer.onChange(() => {
    throw new Error('bad listener');
  });
  server.willList(5, [object('one', 1)]);
  informer.start();
  await informer.whenSynced();
  await server.push(event('MODIFIED', object('one', 6)));
  t.same(changes, ['added one@1', 'modified one@6']);
  t.match(recorded.entries, [{ msg: 'informer listener failed', informer: 'ConfigMap' }]);
});

t.test('stopping ends everything, and rejects a wait for the first list', async (t) => {
  const { server, clock, informer } = setUp(t);
  server.willList(5, new Error('unreachable'));
  informer.start();
  const waiting = informer.whenSynced();
  await settle();
  await informer.stop();
  await t.rejects(waiting, { message: 'the informer was stopped' });
  t.equal(clock.sleepers(), 0);
});
