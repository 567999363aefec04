import t from 'tap';
import { readWebhookBody } from '../../../functions/webhooks/body.ts';
import { cleanEvent, cleanText, isNoCommit, nameOf, refOf } from '../../../functions/webhooks/event.ts';
import { bitbucket } from '../../../functions/webhooks/senders/bitbucket.ts';
import { dockerHub } from '../../../functions/webhooks/senders/docker-hub.ts';
import { gitea } from '../../../functions/webhooks/senders/gitea.ts';
import { github } from '../../../functions/webhooks/senders/github.ts';
import { gitlab } from '../../../functions/webhooks/senders/gitlab.ts';
import { harbor } from '../../../functions/webhooks/senders/harbor.ts';
import { quay } from '../../../functions/webhooks/senders/quay.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import type { Json } from './hooked-app.ts';

/** The event without absent fields, or the code of the refusal. */
function readOf(read: () => unknown): Json {
  try {
    const event = read();
    return event === undefined ? 'not recognized' : JSON.parse(JSON.stringify(event));
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

const hash = 'a'.repeat(40);
const cloudChange = (part: object) => ({
  push: { changes: [{ new: { type: 'branch', name: 'main', target: { hash }, ...part } }] },
});
const serverChange = (part: object) => ({
  changes: [{ ref: { id: 'refs/heads/main' }, toHash: hash, type: 'UPDATE', ...part }],
});
const gitPush = (part: object) => ({ ref: 'refs/heads/main', after: hash, ...part });
const packaged = (version: object, action = 'published') => ({
  action,
  package: { package_version: { package_url: 'ghcr.io/a/b:v1', container_metadata: {}, ...version } },
});
const artifact = (part: object) => ({
  type: 'PUSH_ARTIFACT',
  event_data: { resources: [{ resource_url: 'r.test/a/b:v1', ...part }] },
});

const text = (length: number) => 'x'.repeat(length);
const list = <Item>(length: number, item: Item) => Array.from({ length }, () => item);
const cloud = (body: unknown) => readOf(() => bitbucket.read('repo:push', body));
const server = (body: unknown) => readOf(() => bitbucket.read('repo:refs_changed', body));
const pushed = (body: unknown) => readOf(() => gitea.read('push', body));
const registry = (body: unknown) => readOf(() => github.read('package', body));
const harborPush = (body: unknown) => readOf(() => harbor.read('PUSH_ARTIFACT', body));
const hub = (body: unknown) => readOf(() => dockerHub.read(body));
const quayPush = (body: unknown) => readOf(() => quay.read(body));

t.test('texts and lists of a sender have maximum lengths', async (t) => {
  for (const [name, read, max] of [
    ['Bitbucket type', (n: number) => cloud(cloudChange({ type: text(n) })), 100],
    ['Bitbucket name', (n: number) => cloud(cloudChange({ name: text(n) })), 1_000],
    ['Bitbucket hash', (n: number) => cloud(cloudChange({ target: { hash: text(n) } })), 100],
    ['Bitbucket changes', (n: number) => cloud({ push: { changes: list(n, {}) } }), 1_000],
    ['Data Center ref', (n: number) => server(serverChange({ ref: { id: text(n) } })), 1_000],
    ['Data Center hash', (n: number) => server(serverChange({ toHash: text(n) })), 100],
    ['Data Center changes', (n: number) => server({ changes: list(n, serverChange({}).changes[0]) }), 1_000],
    ['pushed commit', (n: number) => pushed(gitPush({ after: text(n) })), 100],
    ['GitHub package', (n: number) => registry(packaged({ package_url: text(n) })), 1_000],
    ['GitHub action', (n: number) => registry(packaged({}, text(n))), 100],
    ['Harbor image', (n: number) => harborPush(artifact({ resource_url: text(n) })), 1_000],
    [
      'Harbor images',
      (n: number) => harborPush({ ...artifact({}), event_data: { resources: list(n, { resource_url: 'a' }) } }),
      1_000,
    ],
  ] as const) {
    t.type(read(max), 'object', `${name}: ${max}`);
    t.equal(read(max + 1), 'invalid_request', `${name}: more than ${max}`);
  }
  for (const [name, read, max] of [
    ['Docker Hub tag', (n: number) => hub({ push_data: { tag: text(n) }, repository: { repo_name: 'a' } }), 200],
    ['Docker Hub name', (n: number) => hub({ push_data: { tag: 'v' }, repository: { repo_name: text(n) } }), 500],
    ['Quay name', (n: number) => quayPush({ docker_url: text(n), updated_tags: [] }), 500],
    ['Quay tag', (n: number) => quayPush({ docker_url: 'a', updated_tags: [text(n)] }), 200],
    ['Quay tags', (n: number) => quayPush({ docker_url: 'a', updated_tags: list(n, 'v') }), 1_000],
    ['Quay tag with an image', (n: number) => quayPush({ docker_url: 'a', updated_tags: { [text(n)]: 'b' } }), 200],
  ] as const) {
    t.equal(read(max).kind, 'images', `${name}: ${max}`);
    t.equal(read(max + 1), 'not recognized', `${name}: more than ${max}`);
  }
});

t.test('optional texts that are too long or of another type count as absent', async (t) => {
  const message = 'Fix';
  const head = (part: object) => pushed(gitPush({ head_commit: { id: hash, message, ...part } })).refs[0];
  t.same(head({ id: text(100) }).commitMessage, message);
  t.equal(head({ id: text(101) }).commitMessage, undefined);
  t.equal(head({ message: 7 }).commitMessage, undefined);
  const ofTag = (tag: object) => registry(packaged({ container_metadata: { tag } }));
  t.match(ofTag({ name: text(200), digest: text(200) }).images, [{ tag: 'v1', digest: text(200) }]);
  t.equal(ofTag({ name: text(201) }).kind, 'nothing');
  t.equal(ofTag({ digest: text(201) }).kind, 'nothing');
  const [image] = harborPush(artifact({ tag: text(201), digest: text(201) })).images;
  t.same(image, { repository: 'r.test/a/b', tag: 'v1' });
  t.match(harborPush(artifact({ tag: text(200), digest: text(200) })).images, [{ tag: text(200), digest: text(200) }]);
  const id = (length: number) => harbor.deliveryId({}, { specversion: '1.0', id: text(length), type: text(100) });
  t.equal(id(200), text(200));
  t.equal(id(201), undefined);
  t.equal(harbor.deliveryId({}, { specversion: '1.0', id: 'a', type: text(101) }), undefined);
  t.equal(harbor.event({}, { type: text(100) }), text(100));
  t.equal(harbor.event({}, { type: text(101) }), undefined);
});

t.test('pushes of git hosts', async (t) => {
  const ref = { branch: 'main', commit: hash };
  const commits = [
    { id: 'b', message: 'Other', author: { name: 'Bob' } },
    { id: hash, message: 'Fix', author: { username: 'ann' } },
  ];
  for (const [body, expected] of [
    [gitPush({}), ref],
    [gitPush({ deleted: true }), { branch: 'main', deleted: true }],
    [gitPush({ after: null }), { branch: 'main', deleted: true }],
    [gitPush({ after: '0'.repeat(40) }), { branch: 'main', deleted: true }],
    [gitPush({ commits }), { ...ref, commitMessage: 'Fix', commitAuthor: 'ann' }],
    [gitPush({ commits, head_commit: commits[0] }), { ...ref, commitMessage: 'Other', commitAuthor: 'Bob' }],
    [gitPush({ commits, head_commit: null }), { ...ref, commitMessage: 'Fix', commitAuthor: 'ann' }],
    [gitPush({ ref: 'refs/tags/v1' }), { otherRef: 'refs/tags/v1', commit: hash }],
  ] as const) {
    t.same(pushed(body), { kind: 'push', refs: [expected] });
  }
  for (const event of ['Push Hook', 'Tag Push Hook'])
    t.equal(readOf(() => gitlab.read(event, gitPush({}))).kind, 'push');
  t.equal(readOf(() => gitlab.read('Note Hook', gitPush({}))).reason, 'The event "Note Hook" deploys nothing.');
  t.equal(readOf(() => gitea.read('create', gitPush({}))).reason, 'The event "create" deploys nothing.');
  t.equal(readOf(() => github.read('push', gitPush({}))).kind, 'push');
  t.equal(readOf(() => github.read('create', gitPush({}))).reason, 'The event "create" deploys nothing.');
  t.equal(readOf(() => github.read('ping', {})).reason, 'Ping: the webhook is set up.');
  t.equal(readOf(() => github.read(undefined, {})).reason, 'The event "unnamed" deploys nothing.');
  t.equal(readOf(() => github.read(text(101), {})).reason, `The event "${text(100)}" deploys nothing.`);

  t.same(cloud(cloudChange({ target: { hash, message: 'Fix', author: { raw: 'Ann <a@b.test>' } } })).refs, [
    { branch: 'main', deleted: false, commit: hash, commitMessage: 'Fix', commitAuthor: 'Ann' },
  ]);
  t.same(cloud({ push: { changes: [{ old: { type: 'tag', name: 'v1' } }] } }).refs, [
    { otherRef: 'refs/tags/v1', deleted: true },
  ]);
  t.same(server(serverChange({})).refs, [ref]);
  t.same(server(serverChange({ type: 'DELETE' })).refs, [{ branch: 'main', deleted: true }]);
  t.equal(readOf(() => bitbucket.read('diagnostics:ping', {})).reason, 'Ping: the webhook is set up.');
  t.equal(readOf(() => bitbucket.read('repo:fork', {})).reason, 'The event "repo:fork" deploys nothing.');
});

t.test('pushes to registries', async (t) => {
  const helmChart = 'application/vnd.cncf.helm.config.v1+json';
  const digest = `sha256:${hash}`;
  for (const action of ['published', 'updated']) t.equal(registry(packaged({}, action)).kind, 'images');
  t.equal(registry(packaged({}, 'deleted')).reason, 'The action "deleted" of a package deploys nothing.');
  const none = 'The package is not a container image.';
  t.equal(registry({ action: 'published' }).reason, none);
  t.equal(registry(packaged({ package_url: null })).reason, none);
  t.equal(registry(packaged({ package_url: '' })).reason, none);
  t.equal(registry(packaged({ container_metadata: null })).reason, none);
  const untagged = { package_url: 'ghcr.io/a/b:', container_metadata: { tag: { name: 'v2', digest } } };
  t.same(registry(packaged(untagged)).images, [{ repository: 'ghcr.io/a/b', tag: 'v2', digest }]);
  t.same(registry(packaged({})).images, [{ repository: 'ghcr.io/a/b', tag: 'v1' }]);
  const configured = (media_type: unknown) => {
    return registry(packaged({ container_metadata: { manifest: { config: { media_type } } } }));
  };
  t.equal(configured('application/vnd.docker.container.image.v1+json').kind, 'images');
  t.equal(configured('application/vnd.oci.image.config.v1+json').kind, 'images');
  t.equal(configured(undefined).kind, 'images');
  t.same(configured(helmChart), { kind: 'nothing', reason: none });
  t.equal(configured(text(200)).kind, 'nothing');
  t.equal(configured(text(201)).kind, 'images', 'a type that is too long counts as absent');
  const former = { action: 'published', registry_package: packaged({}).package };
  t.equal(readOf(() => github.read('registry_package', former)).kind, 'images');

  t.same(harborPush(artifact({ tag: 'v2', digest })).images, [{ repository: 'r.test/a/b', tag: 'v2', digest }]);
  t.equal(harborPush({ type: 'PUSH_ARTIFACT' }), 'invalid_request');
  const withoutUrl = { type: 'PUSH_ARTIFACT', event_data: { resources: [{ tag: 'v1' }] } };
  t.equal(harbor.event({}, withoutUrl), 'PUSH_ARTIFACT');
  t.equal(harborPush(withoutUrl), 'invalid_request');
  const cloudEvent = { data: artifact({}).event_data };
  t.equal(readOf(() => harbor.read('harbor.artifact.pushed', cloudEvent)).kind, 'images');
  t.equal(readOf(() => harbor.read('harbor.artifact.pulled', cloudEvent)).kind, 'nothing');
  t.same(hub({ push_data: { tag: 'v1' }, repository: { repo_name: 'a/b' } }).images, [
    { repository: 'docker.io/a/b', tag: 'v1' },
  ]);
  const hubPush = (media_type: unknown) => ({ push_data: { tag: 'v1', media_type }, repository: { repo_name: 'a/b' } });
  for (const type of [null, 'oci.image.index.v1+json', 'docker.distribution.manifest.list.v2+json']) {
    t.equal(hub(hubPush(type && `application/vnd.${type}`)).kind, 'images', `${type}`);
  }
  t.same(hub(hubPush(helmChart)), { kind: 'nothing', reason: none });
  t.equal(hub(hubPush(text(200))).kind, 'nothing');
  t.equal(hub(hubPush(text(201))).kind, 'images', 'a type that is too long counts as absent');
  t.same(quayPush({ docker_url: 'quay.io/a/b', updated_tags: { v1: 'x', v2: 'y' } }).images, [
    { repository: 'quay.io/a/b', tag: 'v1' },
    { repository: 'quay.io/a/b', tag: 'v2' },
  ]);
  t.equal(quayPush({ docker_url: 'quay.io/a/b', homepage: 'x' }).kind, 'nothing');
  t.equal(quayPush({ docker_url: 'quay.io/a/b' }), 'not recognized');
});

t.test('refs, deleted refs and authors', async (t) => {
  t.same(refOf('refs/heads/feature/x'), { branch: 'feature/x' });
  for (const ref of ['refs/heads/', 'refs/tags/v1', 'main', '']) t.same(refOf(ref), { otherRef: ref });
  for (const none of [null, undefined, '0', '0'.repeat(40)]) t.equal(isNoCommit(none), true, `${none}`);
  for (const some of ['', '01', hash]) t.equal(isNoCommit(some), false, some);
  for (const [author, name] of [
    ['Ann <a@b.test> ', 'Ann'],
    ['Ann', 'Ann'],
    ['a <b> <c>', 'a <b>'],
    ['a><b>', 'a>'],
    ['a <b>>', 'a <b>>'],
    ['<a@b.test>', '<a@b.test>'],
    ['', ''],
    [undefined, undefined],
  ] as const) {
    t.equal(nameOf(author), name, author ?? 'none');
  }
});

t.test('every text of an event is shortened and cleaned', async (t) => {
  t.equal(cleanText(`a\u0000\u001b[1mb\tc\nd\u007f`, []), 'a[1mb\tc\nd');
  t.equal(cleanText(text(1_001), []), text(1_000));
  t.equal(cleanText(`${text(999)}\u{1f600}`, []), `${text(999)}\ufffd`);
  const dirty = {
    kind: 'push' as const,
    refs: [{ branch: 'a\u0000', commit: undefined, deleted: true, commitAuthor: 'token' }],
  };
  t.strictSame(cleanEvent(dirty, ['token']), {
    kind: 'push',
    refs: [{ branch: 'a', commit: undefined, deleted: true, commitAuthor: '[masked]' }],
  });
  const stored = { kind: 'nothing', reason: null } as unknown as Parameters<typeof cleanEvent>[0];
  t.strictSame(cleanEvent(stored, []), stored, 'a field of another type is unchanged');
});

t.test('a body is JSON, or a form with JSON in its field "payload"', async (t) => {
  const form = 'application/x-www-form-urlencoded';
  for (const [body, type, expected] of [
    ['', undefined, {}],
    ['', 'text/plain', {}],
    ['7', 'application/json', 7],
    ['[1]', ' Application/JSON ; charset=utf-8; x', [1]],
    ['{}', 'application/cloudevents+json', {}],
    [`a=b&payload=${encodeURIComponent('{"a":1}')}`, form, { a: 1 }],
    ['a=b', form, 'unsupported_media_type'],
    ['payload=', form, 'invalid_json'],
    ['{}', form, 'unsupported_media_type'],
    ['{}', undefined, 'unsupported_media_type'],
    ['{}', 'text/plain', 'unsupported_media_type'],
    ['{}', 'text/x+json', 'unsupported_media_type'],
    ['{', 'application/json', 'invalid_json'],
  ] as const) {
    t.same(
      readOf(() => readWebhookBody(Buffer.from(body), type)),
      expected,
      `${type}: ${body}`,
    );
  }
});
