import { createHmac } from 'node:crypto';
import type { Pool } from 'pg';
import t from 'tap';
import { createVerifySecretUrl, createVerifyWebhook, urlSecretHash } from '../../../functions/webhooks/verify.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { fakeClock } from '../../support/clock.ts';

const workloadId = newId();
const at = { namespace: 'shop-prod', app: 'api' };
const rawBody = Buffer.from('{}');
const refused = 'invalid_webhook_token';

/** A row of an app with a webhook of this version. */
const row = (change: object = {}) => ({
  enabled: true,
  version: 2,
  previousVersion: 1,
  urlSecretHash: null,
  ...change,
});
const unhooked = { enabled: null, version: null, previousVersion: null, urlSecretHash: null };

/** A database with this app, or none. */
const poolOf = (app: object | undefined) =>
  ({ query: () => Promise.resolve({ rows: app ? [{ position: 1, workloadId, ...app }] : [] }) }) as unknown as Pool;

/** The result, or the code of the refusal. */
async function resultOf<Result>(verified: Promise<Result>): Promise<Result | string> {
  try {
    return await verified;
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

/** The tokens `one` and `two`, of versions 1 and 2, of which `cached` are known; and what is read from the cluster. */
function tokensOf(cached: readonly number[] = []) {
  const texts = new Map([
    [1, 'one'],
    [2, 'two'],
  ]);
  const reads: { workloadId: Id | undefined; versions: readonly number[] }[] = [];
  return {
    reads,
    cached: (_id: Id, version: number) => (cached.includes(version) ? texts.get(version) : undefined),
    read(_at: object, webhook: { workloadId: Id | undefined; versions: readonly number[] }) {
      reads.push(webhook);
      const { workloadId: id, versions } = webhook;
      return Promise.resolve(versions.map((version) => (id === undefined ? undefined : texts.get(version))));
    },
  };
}

/** Verifies a request. @returns the proven version, or the refusal, and the versions that were read from the cluster */
async function verify(
  app: object | undefined,
  headers: Record<string, string | string[]>,
  cached: readonly number[] = [],
): Promise<[number | string, ...{ workloadId: Id | undefined; versions: readonly number[] }[]]> {
  const tokens = tokensOf(cached);
  const verifyWebhook = createVerifyWebhook({ pool: poolOf(app), tokens, clock: fakeClock() });
  const result = await resultOf(verifyWebhook({ ...at, headers, rawBody }));
  if (typeof result === 'string') return [result, ...tokens.reads];
  const { receiver, proof, token } = result;
  if (!('version' in proof)) throw new Error('not the proof of a token');
  if (receiver.workloadId !== workloadId || token !== (proof.version === 1 ? 'one' : 'two'))
    throw new Error('not its own');
  return [proof.version, ...tokens.reads];
}

const sent = (token: string) => ({ 'x-svc-token': token });
const signed = (token: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', token).update(rawBody).digest('hex')}`,
});

t.test(
  'the current token and the one in its grace period are valid, as a header or as the key of a signature',
  async (t) => {
    for (const proof of [sent, signed]) {
      t.equal((await verify(row(), proof('two')))[0], 2);
      t.equal((await verify(row(), proof('one')))[0], 1);
      t.equal((await verify(row({ previousVersion: null }), proof('one')))[0], refused, 'the grace period is over');
      t.equal((await verify(row({ version: 1, previousVersion: null }), proof('two')))[0], refused, 'not valid yet');
      t.equal((await verify(row(), proof('three')))[0], refused);
    }
    t.equal((await verify(row(), {}))[0], refused);
    t.equal((await verify(row(), { ...sent('three'), ...signed('two') }))[0], refused, 'the header counts alone');
    t.equal((await verify(row(), { 'x-svc-token': ['two', 'two'] }))[0], refused);
  },
);

t.test('attack: every refusal reads two versions once, so that its duration does not show what exists', async (t) => {
  const wrong = sent('three');
  t.same(await verify(row(), wrong), [refused, { workloadId, versions: [2, 1] }]);
  t.same(await verify(row({ previousVersion: null }), wrong), [refused, { workloadId, versions: [2, 2] }]);
  t.same(await verify(row({ enabled: false }), sent('two')), [refused, { workloadId, versions: [2, 1] }], 'disabled');
  const nothing = [refused, { workloadId: undefined, versions: [1, 1] }];
  t.same(await verify(unhooked, sent('one')), nothing, 'never enabled');
  t.same(await verify(undefined, sent('one')), nothing, 'no such app');
  t.same(await verify(row(), wrong, [1, 2]), [refused, { workloadId, versions: [2, 1] }], 'also when they are cached');
});

t.test('a valid token that is cached needs no read', async (t) => {
  t.same(await verify(row(), sent('two'), [1, 2]), [2]);
  t.same(await verify(row(), sent('one'), [1, 2]), [1]);
  t.same(await verify(row(), sent('one'), [2]), [1, { workloadId, versions: [2, 1] }]);
  t.same(await verify(row({ enabled: false }), sent('two'), [2]), [refused]);
});

t.test('a secret URL is valid while its webhook is enabled', async (t) => {
  const secret = 'svcwh_secret';
  const verifyUrl = (app: object | undefined, sentSecret = secret) =>
    resultOf(createVerifySecretUrl({ pool: poolOf(app) })({ ...at, secret: sentSecret }));
  const stored = row({ urlSecretHash: urlSecretHash(secret) });
  t.match(await verifyUrl(stored), {
    receiver: { workloadId },
    proof: { urlSecretHash: urlSecretHash(secret) },
    token: undefined,
  });
  for (const [name, app, sentSecret] of [
    ['another secret', stored, 'svcwh_other'],
    ['an empty secret', stored, ''],
    ['a webhook without a secret URL', row(), secret],
    ['a disabled webhook', { ...stored, enabled: false }, secret],
    ['a webhook that was never enabled', unhooked, secret],
    ['no such app', undefined, secret],
  ] as const) {
    t.equal(await verifyUrl(app, sentSecret), refused, name);
  }
});
