import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { allHold, askAll, checkerReplicas, checkersOf } from '../../support/checkers.ts';
import { eventually, runningPlatform, testProject, type Answer } from '../../support/platform.ts';

/**
 * The gate while its checkers, or their store, are gone, slow or cut off: docs/decisions/0005-no-checker-alive.md says
 * what a client gets. In every one of these states a request without a valid key is never served.
 */
const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
/** The ceiling of spec.md §8. */
const freshMs = 90_000;

const { flags } = await testProject(t, platform);
await platform.ok(['app', 'create', 'api', '--image', image, ...flags]);
await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
await platform.ok(['plan', 'create', 'wide', '--rate', '10000', '--burst', '10000', ...flags]);
const { url } = await platform.json<{ url: string }>(['app', 'show', 'api', ...flags]);
const newKey = () => platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
const handleOf = (key: string) => key.split('_')[1] ?? '';
const key = await newKey();
const checkers = checkersOf(t, platform);
const ask = (sent?: string) => platform.request(url, sent === undefined ? {} : { headers: { 'X-API-Key': sent } });

/** Until all checkers are back and let the key through. */
async function serving(sent = key): Promise<void> {
  await checkers.ready(checkerReplicas);
  await allHold(
    () => ask(sent),
    ({ status }) => status === 200,
  );
}

await eventually(
  () => ask(),
  ({ status }) => status === 401,
);
await serving();

/** What the requests of a while were answered, oldest first. */
interface Load {
  answers: { at: number; key: string | undefined; status: number; body: string }[];
  /** Resolves when the last request has its answer. */
  stop(): Promise<void>;
}

/** Asks with each of these keys (undefined: without) in turn, over and over, on a connection each. */
function load(keys: (string | undefined)[], { pauseMs, width = 1 }: { pauseMs: number; width?: number }): Load {
  const answers: Load['answers'] = [];
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      for (const sent of keys) {
        const { status, body } = await ask(sent);
        answers.push({ at: performance.now(), key: sent, status, body });
        await wait(pauseMs);
      }
    }
  };
  const loops = Array.from({ length: width }, loop);
  return {
    answers,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

const codeOf = (answer: Pick<Answer, 'body'>) => (JSON.parse(answer.body) as { code: string }).code;

t.test('no checker: an empty 500, at once and for everyone; nobody is served', { timeout: 180_000 }, async (t) => {
  t.teardown(() => scale(checkerReplicas));
  await scale(0);
  const closed = await eventually(
    () => ask(key),
    ({ status }) => status !== 200,
  );
  t.match(closed, { status: 500, body: '' });
  t.match(await ask(), { status: 500, body: '' });
  await scale(checkerReplicas);
  const reached = await eventually(
    () => ask(),
    ({ status }) => status !== 500,
  );
  t.equal(reached.status, 401);
  await serving();
});

async function scale(replicas: number): Promise<void> {
  await platform.kubectl('-n', 'svc-system', 'scale', 'deploy/svc-authz', `--replicas=${replicas}`);
}

t.test('slow checkers: the client waits, and the verdicts are the same', { timeout: 120_000 }, async (t) => {
  const pods = await checkers.ready(checkerReplicas);
  const go = () => Promise.all(pods.map((pod) => checkers.signal(pod, 'CONT')));
  t.teardown(go);
  await Promise.all(pods.map((pod) => checkers.signal(pod, 'STOP')));
  let answered = 0;
  const pending = [key, key, undefined, 'nonsense'].map(async (sent) => {
    const { status } = await ask(sent);
    answered++;
    return status;
  });
  await wait(2000);
  t.equal(answered, 0);
  await go();
  t.same(await Promise.all(pending), [200, 200, 401, 401]);
  t.same(
    (await checkers.pods()).map(({ name, restarts }) => ({ name, restarts })),
    pods.map(({ name, restarts }) => ({ name, restarts })),
    'none is restarted for that',
  );
});

t.test('checkers that hang are ended and come back by themselves', { timeout: 240_000 }, async (t) => {
  const before = await checkers.ready(checkerReplicas);
  await Promise.all(before.map((pod) => checkers.signal(pod, 'STOP')));
  const requests = load([undefined, key], { pauseMs: 200, width: 4 });
  t.teardown(() => requests.stop());
  const after = await eventually(
    () => checkers.pods(),
    (pods) => pods.every(({ ready, restarts }, index) => ready && restarts > (before[index]?.restarts ?? 0)),
  );
  t.equal(after.length, checkerReplicas);
  await serving();
  await requests.stop();
  const { answers } = requests;
  t.same(
    new Set(answers.filter((answer) => answer.key === undefined).map(({ status }) => status)),
    new Set([401, 500]),
  );
  t.ok(answers.filter(({ status }) => status === 500).every(({ body }) => body === ''));
});

t.test('one of two checkers is killed: the other answers, and nobody gets in without a key', async (t) => {
  const [victim] = await checkers.ready(checkerReplicas);
  if (!victim) return;
  const requests = load([undefined, key], { pauseMs: 10, width: 4 });
  t.teardown(() => requests.stop());
  await checkers.signal(victim, 'KILL');
  await eventually(
    () => checkers.pods(),
    (pods) => pods.some(({ name, ready, restarts }) => name === victim.name && ready && restarts > victim.restarts),
  );
  await serving();
  await requests.stop();
  const statuses = (sent: string | undefined) =>
    requests.answers.filter((answer) => answer.key === sent).map(({ status }) => status);
  t.ok(statuses(undefined).every((status) => status === 401 || status === 500));
  t.ok(statuses(key).includes(200));
  t.ok(statuses(key).every((status) => status === 200 || status === 500));
});

t.test('the store restarts under load: nothing is denied, and no use is lost', { timeout: 240_000 }, async (t) => {
  const counted = await newKey();
  await serving(counted);
  const before = await allowed(counted);
  const requests = load([counted], { pauseMs: 5, width: 4 });
  t.teardown(() => requests.stop());
  const old = await store();
  await platform.kubectl('-n', 'svc-system', 'delete', 'pod', 'svc-postgres-0', '--wait=false');
  await eventually(store, ({ uid, ready }) => uid !== old.uid && ready);
  await eventually(
    () => platform.svc(['key', 'show', handleOf(counted), ...flags]),
    ({ code }) => code === 0,
  );
  await requests.stop();
  t.same(
    requests.answers.filter(({ status }) => status !== 200),
    [],
    'every request of a good key was served',
  );
  const total = before + requests.answers.length;
  const seen = await eventually(
    () => allowed(counted),
    (count) => count >= total,
  );
  t.equal(seen, total, 'the sum of what was counted');
});

async function store(): Promise<{ uid: string | undefined; ready: boolean }> {
  const found = await platform.kubectl('-n', 'svc-system', 'get', 'pod', 'svc-postgres-0', '-o', 'json');
  if (found.code !== 0) return { uid: undefined, ready: false };
  const { metadata, status } = JSON.parse(found.stdout) as {
    metadata: { uid: string };
    status: { containerStatuses?: { ready: boolean }[] };
  };
  return { uid: metadata.uid, ready: status.containerStatuses?.every(({ ready }) => ready) ?? false };
}

interface Usage {
  totals: { allowed: number };
}

/** How often the key was let through, as soon as the sum is the same twice, more than a flush of usage apart. */
async function allowed(sent: string): Promise<number> {
  const look = async () => (await platform.json<Usage>(['key', 'usage', handleOf(sent), ...flags])).totals.allowed;
  for (let last = await look(); ;) {
    await wait(3000);
    const next = await look();
    if (next === last) return next;
    last = next;
  }
}

t.test(
  '7: checkers cut off from the store deny with 503 by 90 s, and no key that was revoked meanwhile gets in after that',
  { timeout: 300_000 },
  async (t) => {
    const revoked = await newKey();
    await serving(revoked);
    const requests = load([revoked, key, undefined], { pauseMs: 50 });
    t.teardown(() => requests.stop());

    await checkers.cutOffStore();
    const cutAt = performance.now();
    await platform.ok(['key', 'revoke', handleOf(revoked), '--yes', '--no-wait', ...flags]);
    const revokedAt = performance.now();
    const stale = await eventually(
      () => ask(key),
      ({ status }) => status !== 200,
    );
    t.equal(stale.status, 503);
    t.equal(codeOf(stale), 'gate_unavailable');
    t.equal(stale.headers['retry-after'], '10');
    t.match(stale.json()['message'], 'svc-authz');

    await wait(Math.max(0, cutAt + freshMs - performance.now()));
    t.same(new Set((await askAll(() => ask(key))).map(({ status }) => status)), new Set([503]), 'whoever is asked');
    t.equal((await checkers.pods()).filter(({ ready }) => ready).length, checkerReplicas, 'they stay ready to say so');

    await checkers.reconnectStore();
    await serving();
    await requests.stop();

    const { answers } = requests;
    t.same(
      answers.filter((answer) => answer.key === revoked && answer.status === 200 && answer.at > revokedAt + freshMs),
      [],
      'no allow later than 90 s after the key was revoked',
    );
    t.same(
      answers.filter(({ key: sent, status }) => sent === undefined && status === 200),
      [],
    );
    const denials = answers.filter(({ status }) => status === 503);
    t.ok(denials.length > 0);
    t.ok(denials.every((answer) => codeOf(answer) === 'gate_unavailable'));
    t.same(new Set((await askAll(() => ask(revoked))).map(({ status }) => status)), new Set([401]));
  },
);

t.test(
  'both checkers are killed while the store is unreachable: closed with 500, with 503 after 90 s, and open by themselves',
  { timeout: 400_000 },
  async (t) => {
    // The kubelet waits longer before every further restart of an old pod's container.
    await freshCheckers();
    const counted = await newKey();
    await serving(counted);
    const before = await allowed(counted);
    await checkers.cutOffStore();
    const lost = 20;
    for (let request = 0; request < lost; request++) t.equal((await ask(counted)).status, 200, 'the view is fresh');
    const requests = load([key, undefined], { pauseMs: 50 });
    t.teardown(() => requests.stop());

    const killedFrom = performance.now();
    await Promise.all((await checkers.ready(checkerReplicas)).map((pod) => checkers.signal(pod, 'KILL')));
    await eventually(
      () => checkers.pods(),
      (pods) => pods.every(({ restarts }) => restarts > 0),
    );
    const killedBy = performance.now();
    const stale = await eventually(
      () => ask(key),
      ({ status }) => status !== 200 && status !== 500,
    );
    t.equal(stale.status, 503);
    t.equal(codeOf(stale), 'gate_unavailable');
    t.equal(stale.headers['retry-after'], '10');
    t.ok(performance.now() - killedFrom >= freshMs, 'whoever has no view leaves the requests to others for 90 s');
    await checkers.ready(checkerReplicas);
    t.same(new Set((await askAll(() => ask(key))).map(({ status }) => status)), new Set([503]), 'whoever is asked');
    const closedUntil = performance.now();

    await checkers.reconnectStore();
    await serving();
    await requests.stop();
    const closed = requests.answers.filter(({ at }) => at > killedBy && at < closedUntil);
    t.ok(closed.length > 0);
    t.same(
      closed.filter(({ status, body }) => status !== 503 && !(status === 500 && body === '')),
      [],
      'nobody is served, with a key or without',
    );
    t.same(
      requests.answers.filter(({ key: sent, status }) => sent === undefined && status === 200),
      [],
    );

    const after = 20;
    for (let request = 0; request < after; request++) t.equal((await ask(counted)).status, 200);
    const total = await eventually(
      () => allowed(counted),
      (count) => count >= before + after,
    );
    // docs/decisions/0008-usage-and-restarts.md: what the killed ones could not write.
    t.ok(total <= before + lost + after, 'nothing counts twice');
    t.match(
      (await checkers.pods()).map(({ restarts }) => restarts),
      [1, 1],
      'nobody had to restart them',
    );
  },
);

async function freshCheckers(): Promise<void> {
  const old = new Set((await checkers.pods()).map(({ name }) => name));
  await platform.kubectl('-n', 'svc-system', 'rollout', 'restart', 'deploy/svc-authz');
  await eventually(
    () => checkers.pods(),
    (pods) => pods.length === checkerReplicas && pods.every(({ name, ready }) => ready && !old.has(name)),
  );
}
