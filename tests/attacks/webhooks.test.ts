import t from 'tap';
import { signingSecret } from '../../functions/webhooks/signatures.ts';
import { signWebhook } from '../../runtime/domain/standard-webhooks.ts';
import { hexHmac, hookedApp, payload, type HookedApp } from '../functions/webhooks/hooked-app.ts';
import { nameOf } from '../../functions/webhooks/event.ts';
import { maskBody } from '../../functions/webhooks/mask.ts';
import { isSuperLinear } from '../support/growth.ts';

const mask = (value: unknown, secrets: string[] = []) => maskBody(Buffer.from(''), value, secrets);
const filled = (pattern: string) => (size: number) => pattern.repeat(Math.ceil(size / pattern.length)).slice(0, size);

t.test('masking a body takes time that is linear in what is stored', (t) => {
  for (const pattern of ['eyJ-', 'eyJaaaaaaaa.', 'a.eyJaaaaaaaa', '-----BEGIN ', 'a://', 'a://b:', 'gla-', 'svc_a']) {
    t.notOk(isSuperLinear(filled(pattern), mask), pattern);
    t.notOk(
      isSuperLinear(filled(pattern), (text) => maskBody(Buffer.from(text), undefined, [])),
      `raw: ${pattern}`,
    );
    t.notOk(
      isSuperLinear(filled(pattern), (text) => mask({ [text]: text })),
      `name: ${pattern}`,
    );
  }
  t.end();
});

t.test('an author’s name is read in linear time', (t) => {
  for (const pattern of [' ', '<', '<a> ', '< ']) t.notOk(isSuperLinear(filled(pattern), nameOf), pattern);
  t.equal(nameOf('Ann <ann@example.org> '), 'Ann');
  t.equal(nameOf('Ann <A> <ann@example.org>'), 'Ann <A>');
  for (const author of ['<ann@example.org>', 'Ann', 'Ann>', '']) t.equal(nameOf(author), author);
  t.equal(nameOf(undefined), undefined);
  t.end();
});

t.test('a secret at the end of the stored part is masked whole', (t) => {
  const secrets = ['the-token-of-this-app', `eyJ${'a'.repeat(30)}.${'b'.repeat(900)}.${'c'.repeat(40)}`];
  for (const secret of secrets) {
    const exposed = Array.from({ length: secret.length - 8 }, (_, index) => {
      const before = '. '.repeat(40_000).slice(0, 65_527 - index);
      return mask(`${before}${secret}${' x'.repeat(20_000)}`, secrets.slice(0, 1));
    });
    t.ok(
      exposed.every((text) => !text.includes(secret.slice(0, 8))),
      secret.slice(0, 8),
    );
  }
  t.match(mask('see host-eyJhbGciOiJI.eyJzdWIiOiIx.c2ln there'), '"see [masked] there"');
  t.end();
});

const image = 'registry.test/shop/api:v2';

/** Sends a request, then the same with other ids that nothing signs. */
async function replay({ send, history }: HookedApp, headers: Record<string, string>, text: string) {
  const replays = [
    {},
    { 'idempotency-key': 'other' },
    { 'x-github-delivery': 'other' },
    { 'x-gitea-delivery': 'other', 'x-forgejo-delivery': 'other' },
    { 'x-request-uuid': 'other', 'x-request-id': 'other' },
    { 'x-gitlab-event-uuid': 'other' },
    { 'idempotency-key': 'another', 'x-github-delivery': 'another', 'x-gitlab-event': 'Push Hook' },
  ];
  const answers = [];
  for (const other of replays) answers.push(await send({ ...headers, ...other }, text));
  return { first: answers[0], answers, deployments: (await history()).length };
}

t.test('a signed request that is sent again under other ids deploys once', async (t) => {
  const app = await hookedApp(t);
  const text = JSON.stringify({ image });
  const standard = (id: string, body: string) => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const signature = signWebhook(signingSecret(app.token), { id, timestamp, body: Buffer.from(body) });
    return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  };
  const { answers, deployments } = await replay(app, standard('m1', text), text);
  t.equal(deployments, 1);
  // With a GitLab event the body is no longer one of the platform's own.
  t.same(
    answers.map(({ status }) => status),
    [202, 202, 202, 202, 202, 202, 400],
  );
  t.equal(new Set(answers.slice(0, 6).map(({ body }) => body.id)).size, 1);
  t.equal((await app.send(standard('m2', text), text)).status, 202);
  t.equal((await app.history()).length, 2, 'another signed id is another delivery');
  t.match(await app.deliveries(), [{ deliveryId: 'm2' }, {}, { deliveryId: 'm1' }]);
});

t.test('a signed event of a git host that is sent again under other ids deploys once', async (t) => {
  const cases = [
    ['x-github-event', 'push', 'x-hub-signature-256', 'sha256=', 'gitea-push', 'develop'],
    ['x-gitea-event', 'push', 'x-gitea-signature', '', 'gitea-push', 'develop'],
    ['x-event-key', 'repo:push', 'x-hub-signature', 'sha256=', 'bitbucket-push', 'name-of-branch'],
  ] as const;
  for (const [eventHeader, event, signatureHeader, prefix, example, gitBranch] of cases) {
    const app = await hookedApp(t, { gitBranch });
    const text = payload(example);
    const headers = { [eventHeader]: event, [signatureHeader]: `${prefix}${hexHmac(app.token, text)}` };
    const { first, deployments } = await replay(app, headers, text);
    t.equal(first?.status, 202, eventHeader);
    t.equal(deployments, 1, eventHeader);
    const later = payload(example, (body) => Object.assign(body, { later: true }));
    await app.send({ ...headers, [signatureHeader]: `${prefix}${hexHmac(app.token, later)}` }, later);
    t.equal((await app.history()).length, 2, 'another event');
  }
});

t.test('a sender with the token may choose delivery ids, and equal requests of CI deploy each time', async (t) => {
  const app = await hookedApp(t);
  const text = JSON.stringify({ image });
  const result = await replay(app, { 'x-svc-token': app.token }, text);
  t.equal(result.deployments, 5, 'four requests without an id, and two with the same');
});
