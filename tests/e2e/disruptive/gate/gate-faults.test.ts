import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { checkerReplicas, type CheckerPod } from '../../../support/checkers.ts';
import { gatedApp, type GateCall, type GateLoad } from '../../../support/gated-app.ts';
import { eventually, runningPlatform, type Answer } from '../../../support/platform.ts';
import { restart } from '../../../support/replicas.ts';
import { targetOf } from '../../../support/target/target.ts';

/**
 * The gate while its checkers are down, slow, or cut off from their store: docs/decisions/0005-no-checker-running.md
 * says what a client gets. In none of these states is a request without a valid key served.
 */
const platform = await runningPlatform();
/** The time within which a change must take effect: docs/reference/gate.md#freshness. */
const freshMs = 90_000;

const target = targetOf(platform);
const { url, checkers, key, newKey, revoke, ask, check, serving, load, served, allowed, written } = await gatedApp(
  t,
  platform,
);

const codeOf = (answer: Pick<Answer, 'body'>) => (JSON.parse(answer.body) as { code: string }).code;

/** The verdict on the valid key, and on every other and none. */
const verdictOn = (sent: string | undefined) => (sent === key ? 200 : 401);
const hasNoVerdict = ({ key: sent, status }: GateCall) => status !== verdictOn(sent);
const isEmpty = ({ status, body }: Pick<Answer, 'status' | 'body'>) => status === 500 && body === '';
/**
 * The interceptors answered for the checkers, or a checker without a view; or nothing did, until the Service leads to
 * the interceptors or to a checker again.
 */
const isClosed = (answer: Pick<Answer, 'status' | 'body'>) =>
  isEmpty(answer) || (answer.status === 503 && codeOf(answer) === 'gate_unavailable');

t.test('no checker: 503 gate_unavailable for every request; none is served', async (t) => {
  t.teardown(() => scale(checkerReplicas));
  const requests = load([undefined, key], { pauseMs: 20 });
  t.teardown(() => requests.stop());
  await scale(0);
  // Terminating ones answer until they have ended, and the Service leads to the interceptors shortly after.
  await checkers.ready(0);
  const closed = await eventually(
    () => ask(key),
    ({ status }) => status === 503,
  );
  t.equal(codeOf(closed), 'gate_unavailable');
  t.match(closed.json()['message'], 'svc-authz');
  t.match(closed.headers, { 'retry-after': '10', 'access-control-allow-origin': '*' });
  const preflight = {
    method: 'OPTIONS',
    headers: { 'Access-Control-Request-Method': 'GET', Origin: 'https://a.test' },
  };
  const { status, headers } = await platform.request(url, preflight);
  t.equal(status, 503, 'a preflight, too');
  t.match(headers, { 'access-control-allow-origin': '*' });
  const answers = await Promise.all([key, undefined, key, undefined].map((sent) => ask(sent)));
  t.same(
    answers.map(codeOf),
    answers.map(() => 'gate_unavailable'),
  );
  await scale(checkerReplicas);
  await serving();
  await backToVerdicts(requests);
  await requests.stop();
  t.same(requests.answers.filter(neitherVerdictNorClosed), [], 'nothing else was answered');
});

async function scale(replicas: number): Promise<void> {
  await insist('scale', 'deploy/svc-authz', `--replicas=${replicas}`);
}

/** Runs an idempotent kubectl command until the API server accepts it. */
async function insist(...change: string[]): Promise<void> {
  await eventually(
    () => platform.kubectl('-n', 'svc-system', ...change),
    ({ code }) => code === 0,
  );
}

t.test('slow checkers: the client waits, and the verdicts are the same', async (t) => {
  const before = await checkers.ready(checkerReplicas);
  const requests = load([key, undefined, 'nonsense'], { pauseMs: 20, width: 4 });
  t.teardown(() => requests.stop());
  // The third failed probe, after more than 4 s, removes a checker from the endpoints.
  await Promise.all(before.map((pod) => target.pause(pod.name, 3)));
  await requests.seen(({ sentAt, answeredAt }) => answeredAt - sentAt > 1000);
  await requests.stop();
  t.same(requests.answers.filter(hasNoVerdict), []);
  t.same(livesOf(await checkers.ready(checkerReplicas)), livesOf(before), 'none is restarted for that');
});

function livesOf(pods: readonly CheckerPod[]): [name: string, restarts: number][] {
  return pods.map(({ name, restarts }) => [name, restarts]);
}

t.test('checkers that hang are stopped and restart by themselves', async (t) => {
  const before = await checkers.ready(checkerReplicas);
  await Promise.all(before.map((pod) => target.signal(pod.name, 'STOP')));
  const requests = load([undefined, key], { pauseMs: 200, width: 4 });
  t.teardown(() => requests.stop());
  const closed = await refused();
  t.equal(codeOf(closed), 'gate_unavailable');
  t.match(closed.headers, { 'retry-after': '10', 'access-control-allow-origin': '*' });
  t.same(livesOf(await checkers.pods()), livesOf(before), 'requests are refused before the checkers are restarted');
  const restarts = new Map(livesOf(before));
  const after = await eventually(
    () => checkers.pods(),
    (pods) => pods.every((pod) => pod.ready && pod.restarts > (restarts.get(pod.name) ?? Infinity)),
  );
  t.equal(after.length, checkerReplicas);
  await serving();
  await backToVerdicts(requests);
  await requests.stop();
  t.same(requests.answers.filter(neitherVerdictNorClosed), []);
});

/** A 503. Requests of the first seconds wait for a checker that hangs, so that none waits for another. */
async function refused(): Promise<Answer> {
  const answer = await eventually(
    () => Promise.race([ask(key), wait(1_000, undefined)]),
    (ended) => ended?.status === 503,
  );
  if (!answer) throw new Error('no answer');
  return answer;
}

t.test('one of two checkers hangs: once it has left the endpoints, no request waits for it', async (t) => {
  const [victim] = await checkers.ready(checkerReplicas);
  if (!victim) return;
  // It may have been restarted by then.
  const resume = () => target.signal(victim.name, 'CONT').catch(() => undefined);
  t.teardown(resume);
  await target.signal(victim.name, 'STOP');
  await eventually(
    () => checkers.pods(),
    (pods) => pods.some(({ name, ready }) => name === victim.name && !ready),
  );
  // The endpoints follow the pod's status shortly after.
  const several = () => Promise.all(Array.from({ length: 8 }, () => ask(key)));
  await eventually(
    () => Promise.race([several(), wait(1_000, undefined)]),
    (answers) => answers?.every(({ status }) => status === 200) === true,
  );
  const requests = load([undefined, key], { pauseMs: 5, width: 4 });
  t.teardown(() => requests.stop());
  await requests.seen(() => requests.answers.length >= 400);
  await requests.stop();
  t.same(requests.answers.filter(hasNoVerdict), []);
  await resume();
  await serving();
});

/** Until the load itself, with the valid key and without, gets the gate's verdicts. */
async function backToVerdicts(requests: GateLoad): Promise<void> {
  const from = performance.now();
  for (const sent of [undefined, key]) {
    await requests.seen((call) => call.sentAt > from && call.key === sent && !hasNoVerdict(call));
  }
}

function neitherVerdictNorClosed(call: GateCall): boolean {
  return hasNoVerdict(call) && !isClosed(call);
}

t.test('one of two checkers is killed: the other answers, and a key is still required', async (t) => {
  const [victim] = await checkers.ready(checkerReplicas);
  if (!victim) return;
  const requests = load([undefined, key], { pauseMs: 10, width: 4 });
  t.teardown(() => requests.stop());
  await target.signal(victim.name, 'KILL');
  await eventually(
    () => checkers.pods(),
    (pods) => pods.some(({ name, ready, restarts }) => name === victim.name && ready && restarts > victim.restarts),
  );
  await serving();
  await backToVerdicts(requests);
  await requests.stop();
  t.same(requests.answers.filter(neitherVerdictNorClosed), []);
});

t.test('7: checkers cut off from the store deny with 503 by 90 s, and allow no key revoked since', async (t) => {
  const revoked = await newKey();
  await serving(revoked);
  const requests = load([revoked, key, undefined], { pauseMs: 50 });
  t.teardown(() => requests.stop());

  const before = await checkers.ready(checkerReplicas);
  await checkers.cutOffStore();
  const cutAt = performance.now();
  await revoke(revoked);
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
  t.same(await check(key), [503, 503], 'every checker denies');
  t.same(
    livesOf(await checkers.ready(checkerReplicas)),
    livesOf(before),
    'they stay ready, so that they can answer 503',
  );
  await requests.seen(({ status }) => status === 503);

  await checkers.reconnectStore();
  await serving();
  await requests.stop();

  const { answers } = requests;
  t.same(
    answers.filter(({ key: sent, status, sentAt }) => {
      return sent === revoked && status === 200 && sentAt > revokedAt + freshMs;
    }),
    [],
    'no allow later than 90 s after the key was revoked',
  );
  t.same(
    answers.filter(({ key: sent, status }) => sent === undefined && status === 200),
    [],
  );
  const denials = answers.filter(({ status }) => status === 503);
  t.ok(denials.every((answer) => codeOf(answer) === 'gate_unavailable'));
  t.same(await check(revoked), [401, 401]);
});

t.test(
  'both checkers are killed while the store is unreachable: 503 from the interceptors, then from them, then recovery',
  async (t) => {
    // The kubelet delays each further restart of an old pod's container.
    await freshCheckers();
    const counted = await newKey();
    await serving(counted);
    const before = await written(counted);
    t.equal(before, served(counted));
    await checkers.cutOffStore();
    const lost = 20;
    for (let request = 0; request < lost; request++) t.equal((await ask(counted)).status, 200, 'the view is fresh');
    const requests = load([key, undefined], { pauseMs: 50 });
    t.teardown(() => requests.stop());

    const killedFrom = performance.now();
    await Promise.all((await checkers.ready(checkerReplicas)).map((pod) => target.signal(pod.name, 'KILL')));
    await eventually(
      () => checkers.pods(),
      (pods) => pods.every(({ restarts }) => restarts > 0),
    );
    const killedBy = performance.now();
    await checkers.ready(checkerReplicas);
    t.ok(performance.now() - killedFrom >= freshMs, 'a checker without a view is not ready for 90 s');
    const stale = await eventually(
      () => ask(key),
      ({ status }) => status !== 500,
    );
    t.equal(stale.status, 503);
    t.equal(codeOf(stale), 'gate_unavailable');
    t.equal(stale.headers['retry-after'], '10');
    t.same(await check(key), [503, 503], 'every checker denies');
    await requests.seen(({ sentAt }) => sentAt > killedBy);
    const closedUntil = performance.now();

    await checkers.reconnectStore();
    await serving();
    await requests.stop();
    const closed = requests.answers.filter((call) => call.sentAt > killedBy && call.answeredAt < closedUntil);
    t.same(
      closed.filter((call) => !isClosed(call)),
      [],
      'no request is served, with a key or without',
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
    // docs/decisions/0008-usage-and-restarts.md: usage that the killed checkers could not write.
    t.ok(total <= served(counted), 'nothing counts twice');
    t.match(
      (await checkers.pods()).map(({ restarts }) => restarts),
      [1, 1],
      'they recover without a restart',
    );
  },
);

async function freshCheckers(): Promise<void> {
  const old = new Set((await checkers.pods()).map(({ name }) => name));
  await restart(platform, 'svc-authz');
  await eventually(
    () => checkers.ready(checkerReplicas),
    (pods) => pods.every(({ name }) => !old.has(name)),
  );
}
