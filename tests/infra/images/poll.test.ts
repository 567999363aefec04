import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino, type Logger } from 'pino';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createEventDelivery } from '../../../functions/event-delivery/handler.ts';
import { createBodyMemory } from '../../../runtime/http/body-memory.ts';
import { createDeliveryMetrics } from '../../../functions/event-delivery/metrics.ts';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import { createListener } from '../../../runtime/db/listener.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { createNotifyWaiter } from '../../../runtime/db/notify-waiter.ts';
import { countEvents, listDead, listPendingEvents, purgeDead, redrive } from '../../../runtime/records/dead-letters.ts';
import {
  beginPoll,
  eventsChannel,
  originOf,
  projectEventSource,
  addEvents,
} from '../../../runtime/records/function-events.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const program = join(import.meta.dirname, '../../../infra/images/function-node/poll.mjs');
const settings: FunctionEvents = { type: 'redis', source: 'cache', list: 'orders' };

interface Delivery {
  id: string;
  attempt: string;
  body: unknown;
  at: number;
}

/** A status, 0 for a connection that is cut, and a body. */
type Answer = number | { status: number; body?: Buffer };

/** The platform's side with real records, a function with configurable answers, and the sidecar between them. */
async function world(t: Test, { leaseMs = 60_000, log = silentLog }: { leaseMs?: number; log?: Logger } = {}) {
  const { pool, url } = await testDatabase(t);
  const id = newId();
  await projectWorkload(pool, {
    id,
    kind: 'Function',
    environmentId: newId(),
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'intake',
    gated: false,
  });
  await projectEventSource(pool, id, settings);

  const waits = createNotifyWaiter({ clock: systemClock });
  const listener = createListener({
    url,
    channel: eventsChannel,
    clock: systemClock,
    log: silentLog,
    onNotify: (payload) => waits.notified(payload),
  });
  listener.start();
  /** Requests that wait for events, and those whose client did not wait for the answer. */
  const requests = { waiting: 0, abandoned: 0 };
  const waitFor: typeof waits.waitFor = async (of, options, check) => {
    if (options.ms === 0) return waits.waitFor(of, options, check);
    requests.waiting++;
    try {
      return await waits.waitFor(of, options, check);
    } finally {
      requests.waiting--;
      if (options.signal.aborted) requests.abandoned++;
    }
  };
  let good = 'token-1';
  const pod = { name: 'intake-x', uid: newId(), labels: podLabels({ kind: 'Function', name: 'intake', id }, 'serve') };
  const review: { uid: string; audiences?: string[] } = { uid: pod.uid };
  const kube = {
    create: async ({ spec }: { spec: { token: string; audiences: string[] } }) => ({
      status: {
        authenticated: spec.token === good,
        audiences: review.audiences ?? spec.audiences,
        user: {
          username: 'system:serviceaccount:shop-prod:default',
          extra: {
            'authentication.kubernetes.io/pod-name': [pod.name],
            'authentication.kubernetes.io/pod-uid': [review.uid],
          },
        },
      },
    }),
    get: async () => ({ metadata: pod }),
  } as unknown as Parameters<typeof createEventDelivery>[0]['kube'];
  const registry = new Registry();
  const metrics = createDeliveryMetrics(registry);
  const serve = createEventDelivery({
    pool,
    waits: { ...waits, waitFor },
    kube,
    clock: systemClock,
    log,
    leaseMs,
    metrics,
    bodies: createBodyMemory(),
  });
  const platform = createServer((...exchange) => void serve(...exchange)).listen(0, '127.0.0.1');
  await once(platform, 'listening');

  const deliveries: Delivery[] = [];
  let seen = () => undefined as void;
  let answer: (delivery: Delivery) => Answer | Promise<Answer> = () => 204;
  const answers = async (request: IncomingMessage) => {
    const header = (name: string) => String(request.headers[name]);
    const delivery = {
      id: decodeURIComponent(header('x-svc-event')),
      attempt: header('x-svc-event-attempt'),
      at: Date.now(),
      body: JSON.parse(await text(request)) as unknown,
    };
    deliveries.push(delivery);
    seen();
    return request.url === '/event' && request.method === 'POST' ? answer(delivery) : 404;
  };
  const listen = async (port = 0) => {
    const server = createServer((request, response) => {
      void answers(request).then((reply) => {
        const { status, body = '' } = typeof reply === 'number' ? { status: reply } : reply;
        return status === 0 ? request.socket.destroy() : response.writeHead(status).end(body);
      });
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await listen();
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    server.closeAllConnections();
    if (server.listening) await once(server, 'close');
  };

  const tokenFile = join(t.testdir({ token: good }), 'token');
  const address = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
  const nothingWanted = { delivered: [], failed: [], released: [], held: [], max: 0, waitMs: 0 };
  const ask = async (call: { token?: string; path?: string; body?: string }) => {
    const { token, path = '/exchange', body = JSON.stringify(nothingWanted) } = call;
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    return (await fetch(`${address}${path}`, { method: 'POST', headers, body })).status;
  };
  const start = (env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [program], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { HTTP_PORT: String(port), EVENTS_URL: address, EVENTS_TOKEN_FILE: tokenFile, ...env },
    });
    t.teardown(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    return child;
  };
  t.teardown(async () => {
    waits.stop();
    await listener.stop();
    platform.closeAllConnections();
    platform.close();
    await close();
  });

  const until = async (isSo: () => boolean | Promise<boolean>) => {
    while (!(await isSo())) {
      await Promise.race([new Promise<void>((resolve) => (seen = resolve)), systemClock.sleep(100)]);
    }
  };
  return {
    pool,
    id,
    pod,
    review,
    deliveries,
    ask,
    start,
    until,
    close,
    add: async (...ids: string[]) => {
      const poll = await beginPoll(pool, { workloadId: id, origin: originOf(settings) });
      if (!poll) throw new Error('a source');
      await addEvents(
        pool,
        poll,
        ids.map((each) => ({ id: each, payload: JSON.stringify({ each }) })),
        1_000,
      );
    },
    counts: () => countEvents(pool, id),
    requests,
    /** When the lease of the only leased event ends, in ms. */
    leaseEnd: async () => {
      const { rows } = await pool.query<{ due: Date }>('SELECT due_at AS due FROM function_events WHERE leased');
      return rows[0]?.due.getTime() ?? 0;
    },
    /** Deliveries in the metrics, by outcome. */
    counted: async () => {
      const { values = [] } = (await registry.getSingleMetric('function_event_deliveries_total')?.get()) ?? {};
      return Object.fromEntries(
        values.map(({ labels, value }) => [`${labels['namespace']}/${labels['function']} ${labels['outcome']}`, value]),
      );
    },
    answering: (next: typeof answer) => void (answer = next),
    reopen: async () => void (server = await listen(port)),
    /** Another pod of the function. @returns its port */
    another: async () => {
      const other = await listen();
      t.teardown(() => {
        other.close();
        other.closeAllConnections();
      });
      return String((other.address() as AddressInfo).port);
    },
    renewToken: (token: string) => {
      good = token;
      writeFileSync(tokenFile, token);
    },
    /** Makes events that wait for their next attempt due now. */
    makeDue: () => pool.query(`UPDATE function_events SET due_at = now() WHERE NOT leased`),
  };
}

const noEvents = { waiting: 0, delivering: 0, marking: 0, dead: 0 };

t.test('events reach the function one after the other in order, and are then recorded', async (t) => {
  const { add, start, deliveries, until, counts, answering } = await world(t);
  const ids = Array.from({ length: 120 }, (_, index) => `event ${index} ä`);
  let [concurrent, maxConcurrent] = [0, 0];
  answering(async () => {
    maxConcurrent = Math.max(maxConcurrent, ++concurrent);
    await new Promise((resolve) => setImmediate(resolve));
    concurrent--;
    return 200;
  });
  await add(...ids.slice(0, 60));
  start();
  await until(() => deliveries.length >= 60);
  await add(...ids.slice(60));
  await until(async () => deliveries.length >= 120 && (await counts()).delivering === 0);
  t.same(
    deliveries.map(({ id }) => id),
    ids,
  );
  t.same(deliveries[7]?.body, { each: 'event 7 ä' });
  t.equal(maxConcurrent, 1);
  t.same(await counts(), noEvents);
});

t.test("the function's concurrency limits concurrent deliveries", async (t) => {
  const { add, start, deliveries, until, answering } = await world(t);
  let open = () => undefined as void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  answering(async () => {
    await opened;
    return 200;
  });
  await add(...Array.from({ length: 9 }, (_, index) => String(index)));
  start({ EVENT_CONCURRENCY: '4' });
  await until(() => deliveries.length >= 4);
  await systemClock.sleep(100);
  t.equal(deliveries.length, 4);
  open();
  await until(() => deliveries.length >= 9);
});

t.test(
  'a failed event is retried and finally becomes a dead letter; a refused one becomes a dead letter at once',
  async (t) => {
    const { add, start, deliveries, until, counts, counted, answering, makeDue, pool, id } = await world(t);
    const statuses: Record<string, number> = { refused: 422, broken: 500, busy: 429, slow: 408, cut: 0 };
    answering(({ id: event }) => statuses[event] ?? 200);
    await add(...Object.keys(statuses), 'good');
    start();
    await until(async () => deliveries.length >= 6 && (await counts()).delivering === 0);
    t.match(await counts(), { waiting: 4, dead: 1 }, 'only the 422 is final');
    const each = 'shop-prod/intake';
    t.same(await counted(), { [`${each} taken`]: 1, [`${each} failed`]: 4, [`${each} given_up`]: 1 });
    t.match(await listDead(pool, id, { limit: 10 }), [
      { id: 'refused', failures: 1, lastError: 'The function answered 422.', payload: '{"each":"refused"}' },
    ]);
    const { rows } = await pool.query<{ wait: number }>(
      `SELECT extract(epoch FROM due_at - now())::float AS wait FROM function_events WHERE event_id = 'broken'`,
    );
    t.ok((rows[0]?.wait ?? 9) < 1.1, 'at first after a second');
    await pool.query(`UPDATE function_events SET failures = 11 WHERE event_id = 'broken'`);
    await pool.query(`UPDATE function_events SET begun_at = now() - interval '2 days' WHERE event_id = 'busy'`);
    delete statuses['slow'];
    delete statuses['cut'];
    await until(async () => {
      await makeDue();
      return (await counts()).dead === 3 && (await counts()).waiting === 0;
    });
    const dead = await listDead(pool, id, { limit: 10 });
    t.same(
      dead.map((letter) => letter.id),
      ['busy', 'broken', 'refused'],
    );
    t.equal(deliveries.find(({ id: event, attempt }) => event === 'cut' && attempt === '2')?.attempt, '2');

    delete statuses['broken'];
    const [, broken] = dead;
    t.equal(await redrive(pool, id, [broken?.number ?? '']), 1);
    await until(
      async () => (await counts()).dead === 2 && (await counts()).waiting + (await counts()).delivering === 0,
    );
    t.equal(deliveries.at(-1)?.id, 'broken');
    t.equal(await purgeDead(pool, id, 'all'), 2);
    t.same(await counts(), noEvents);
    await add('refused');
    t.same(await counts(), noEvents, 'purged events are not delivered again');
  },
);

t.test('a failed event does not stop the others', async (t) => {
  const { add, start, deliveries, until, counts, answering, pool, id } = await world(t);
  const answers: Record<string, Answer> = {
    bytes: { status: 500, body: Buffer.from([0x61, 0x00, 0xed, 0xa0, 0x80, 0x62]) },
    odd: 799,
    refused: { status: 400, body: Buffer.from('no\0') },
  };
  answering(({ id: event }) => answers[event] ?? 200);
  await add(...Object.keys(answers), 'good');
  start();
  await until(async () => deliveries.length >= 4 && (await counts()).delivering === 0);
  t.match(await counts(), { waiting: 2, dead: 1 });
  const pendingEvents = await listPendingEvents(pool, id, { limit: 10 });
  t.match(pendingEvents, [
    { id: 'bytes', lastError: /^The function answered 500: a\ufffd+b$/ },
    { id: 'odd', lastError: 'The function answered 799.' },
  ]);
  t.match(await listDead(pool, id, { limit: 10 }), [{ lastError: 'The function answered 400: no' }]);
});

t.test('while the function is down, events wait and no attempt counts', async (t) => {
  const { add, start, deliveries, until, close, reopen, counts } = await world(t);
  start();
  await add('first');
  await until(() => deliveries.length === 1);
  await close();
  await add('second', 'third');
  await systemClock.sleep(700);
  await reopen();
  await until(async () => deliveries.length === 3 && (await counts()).delivering === 0);
  t.same(
    deliveries.map(({ id, attempt }) => `${id} ${attempt}`),
    ['first 1', 'second 1', 'third 1'],
  );
});

t.test('a function that stays down passes its waiting events to another pod', async (t) => {
  const { add, start, deliveries, until, close, counts, answering, another } = await world(t);
  answering(({ id }) => (id === '30' ? new Promise(() => undefined) : 200));
  await add(...Array.from({ length: 60 }, (_, index) => String(index)));
  start();
  await until(async () => deliveries.length === 31 && (await counts()).delivering > 1);
  answering(() => 200);
  await close();
  start({ HTTP_PORT: await another() });
  await until(async () => deliveries.length >= 61 && (await counts()).delivering === 0);
  t.same(
    deliveries.filter(({ attempt }) => attempt !== '1').map(({ id }) => id),
    ['30'],
    'only the delivery in progress has failed',
  );
  t.same(await counts(), noEvents);
});

t.test('on shutdown deliveries in progress are reported, and other leases are released at once', async (t) => {
  const { add, start, deliveries, until, counts, answering, requests } = await world(t);
  let finish = () => undefined as void;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  answering(async ({ id }) => {
    if (id === '30') await finished;
    return 200;
  });
  await add(...Array.from({ length: 60 }, (_, index) => String(index)));
  const child = start();
  await until(() => deliveries.length === 31);
  child.kill('SIGTERM');
  await until(async () => (await counts()).delivering === 1);
  t.match(await counts(), { waiting: 29 });
  finish();
  t.same(await once(child, 'exit'), [0, null]);
  t.match(await counts(), { waiting: 29, delivering: 0 });

  const next = start();
  answering(() => 200);
  await until(async () => deliveries.length === 60 && (await counts()).delivering === 0);
  t.ok(
    deliveries.every(({ attempt }) => attempt === '1'),
    'nothing has failed',
  );
  await until(() => requests.waiting === 1);
  next.kill('SIGTERM');
  await once(next, 'exit');
  await until(() => requests.waiting === 0);
  t.equal(requests.abandoned, 1, 'one without events ends before the platform has answered');
});

t.test('a lease in use is renewed; an expired one passes to another pod', async (t) => {
  const { add, start, deliveries, until, counts, answering, leaseEnd } = await world(t, { leaseMs: 1_500 });
  answering(async () => {
    const end = await leaseEnd();
    await until(async () => (await leaseEnd()) > end + 1_500);
    return 200;
  });
  await add('slow');
  const pods = [start(), start()];
  await until(async () => deliveries.length > 0 && (await counts()).delivering === 0);
  t.equal(deliveries.length, 1, 'for longer than a lease');

  answering(({ attempt }) => (attempt === '1' ? new Promise(() => undefined) : 200));
  await add('stuck');
  await until(() => deliveries.length === 2);
  for (const child of pods) child.kill('SIGKILL');
  start();
  await until(() => deliveries.length === 3);
  t.match(deliveries[2], { id: 'stuck', attempt: '2' }, 'the pod that held it is deleted');
});

t.test('an event that crashes its pod each time is counted, and reported when it is a dead letter', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  const { add, start, deliveries, until, counts, counted, pool } = await world(t, { log });
  await add('poison', 'other');
  await pool.query(
    `UPDATE function_events SET leased = true, epoch = 1, due_at = now(), failures = CASE event_id WHEN 'poison' THEN 11 ELSE 1 END`,
  );
  start();
  await until(async () => deliveries.length === 1 && (await counts()).delivering === 0);
  t.match(deliveries, [{ id: 'other', attempt: '3' }]);
  t.same(await counts(), { ...noEvents, dead: 1 });
  const each = 'shop-prod/intake';
  t.same(await counted(), { [`${each} taken`]: 1, [`${each} failed`]: 1, [`${each} given_up`]: 1 });
  t.match(lines, [{ event: 'poison', msg: 'an event became a dead letter' }]);
});

t.test('only the sidecar of a function pod gets events, and it reads its token again', async (t) => {
  const { add, start, deliveries, until, renewToken, ask, pod, review } = await world(t);
  t.equal(await ask({ token: 'token-1' }), 200);
  t.equal(await ask({}), 401);
  t.equal(await ask({ token: 'another' }), 401);
  t.equal(await ask({ token: 'token-1', path: '/metrics' }), 404);
  t.equal(await ask({ token: 'token-1', body: '{"max":1}' }), 400);
  start();
  await add('first');
  await until(() => deliveries.length === 1);
  renewToken('token-2');
  pod.labels['platform.svc/role'] = 'test';
  t.equal(await ask({ token: 'token-2' }), 401, 'a pod of no function');
  pod.labels['platform.svc/role'] = 'serve';
  review.uid = newId();
  t.equal(await ask({ token: 'token-2' }), 401, 'a deleted pod');
  review.uid = pod.uid;
  review.audiences = ['https://kubernetes.default.svc'];
  t.equal(await ask({ token: 'token-2' }), 401, 'a token for something else');
  delete review.audiences;
  await add('second');
  await until(() => deliveries.length === 2);
});
