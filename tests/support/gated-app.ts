import { setTimeout as wait } from 'node:timers/promises';
import type { Test } from 'tap';
import { checkerReplicas, checkersOf, judgements, type Checkers } from './checkers.ts';
import { eventually, testProject, type Answer, type Platform } from './platform.ts';

/** A request: when it was sent and answered, and its answer. */
export interface GateCall {
  sentAt: number;
  answeredAt: number;
  key: string | undefined;
  status: number;
  body: string;
}

/** Requests in the background. */
export interface GateLoad {
  /** The answered ones, oldest answer first. */
  answers: GateCall[];
  /** Resolves when one of them matches, whether it was answered before the call or after it. */
  seen(holds: (call: GateCall) => boolean): Promise<void>;
  /** Resolves when the last request has its answer. */
  stop(): Promise<void>;
}

/** An app behind the gate, whose checkers a test disturbs. */
export interface GatedApp {
  url: string;
  checkers: Checkers;
  /** The valid key. */
  key: string;
  /** Another valid key. */
  newKey: () => Promise<string>;
  revoke: (key: string) => Promise<unknown>;
  /** Whether the API answers questions about the key, which it reads from the store. */
  isShown: (key: string) => Promise<boolean>;
  /** A request to the app, with this key or without one. */
  ask: (key?: string) => Promise<Answer>;
  /** Each checker's verdict on the key. */
  check: (key: string) => Promise<number[]>;
  /** Resolves when all checkers are back and let the key through, and the ingress asks them. */
  serving: (key?: string) => Promise<void>;
  /** Sends requests with each of these keys (undefined: without a key) in turn, on `width` connections each. */
  load: (keys: (string | undefined)[], options: { pauseMs: number; width?: number }) => GateLoad;
  /** How often the key was let through so far. */
  served: (key: string) => number;
  /** How often the key was let through, according to the store. */
  allowed: (key: string) => Promise<number>;
  /** As `allowed`, once the checkers have written the usage of all answered requests. */
  written: (key: string) => Promise<number>;
}

/** Creates an app with a key, and resolves when the gate serves it. */
export async function gatedApp(t: Test, platform: Platform): Promise<GatedApp> {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', 'localhost:5000/svc/hello:v1', ...flags]);
  await platform.ok(['app', 'gate', 'enable', 'api', ...flags]);
  await platform.ok(['plan', 'create', 'wide', '--rate', '10000', '--burst', '10000', ...flags]);
  const { url, id } = await platform.json<{ url: string; id: string }>(['app', 'show', 'api', ...flags]);
  const newKey = () => platform.ok(['key', 'create', '--plan', 'wide', ...flags]);
  const handleOf = (sent: string) => sent.split('_')[1] ?? '';
  const key = await newKey();
  const checkers = await checkersOf(t, platform);
  const counts = new Map<string, number>();
  const served = (sent: string) => counts.get(sent) ?? 0;
  const count = (sent: string, times: number) => counts.set(sent, served(sent) + times);

  const ask = async (sent?: string): Promise<Answer> => {
    const answer = await platform.request(url, sent === undefined ? {} : { headers: { 'X-API-Key': sent } });
    if (sent !== undefined && answer.status === 200) count(sent, 1);
    return answer;
  };
  const check = async (sent: string): Promise<number[]> => {
    const statuses = await judgements(platform, id, sent);
    count(sent, statuses.filter((status) => status === 200).length);
    return statuses;
  };
  const serving = async (sent = key): Promise<void> => {
    await checkers.ready(checkerReplicas);
    await eventually(
      () => check(sent),
      (statuses) => statuses.every((status) => status === 200),
    );
    await eventually(
      () => ask(sent),
      ({ status }) => status === 200,
    );
  };
  const allowed = async (sent: string) => {
    const usage = ['key', 'usage', handleOf(sent), ...flags];
    return (await platform.json<{ totals: { allowed: number } }>(usage)).totals.allowed;
  };

  await eventually(
    () => ask(),
    ({ status }) => status === 401,
  );
  await serving();
  return {
    url,
    checkers,
    key,
    newKey,
    revoke: (sent) => platform.ok(['key', 'revoke', handleOf(sent), '--yes', '--no-wait', ...flags]),
    isShown: async (sent) => (await platform.svc(['key', 'show', handleOf(sent), ...flags])).code === 0,
    ask,
    check,
    serving,
    load: (keys, options) => startGateLoad(ask, keys, options),
    served,
    allowed,
    written: (sent) =>
      eventually(
        () => allowed(sent),
        (times) => times >= served(sent),
      ),
  };
}

function startGateLoad(
  ask: GatedApp['ask'],
  keys: (string | undefined)[],
  { pauseMs, width = 1 }: { pauseMs: number; width?: number },
): GateLoad {
  const answers: GateLoad['answers'] = [];
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      for (const sent of keys) {
        const sentAt = performance.now();
        const { status, body } = await ask(sent);
        answers.push({ sentAt, answeredAt: performance.now(), key: sent, status, body });
        await wait(pauseMs);
      }
    }
  };
  const ended = Promise.all(Array.from({ length: width }, loop)).then(() => answers);
  return {
    answers,
    async seen(holds) {
      await eventually(
        () => Promise.race([ended, Promise.resolve(answers)]),
        (all) => all.some(holds),
      );
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
