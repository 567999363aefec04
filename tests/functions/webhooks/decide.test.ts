import t from 'tap';
import { decide, type Target } from '../../../functions/webhooks/decide.ts';
import type { WebhookEvent } from '../../../functions/webhooks/event.ts';
import { deploymentReply } from '../../../functions/webhooks/reply.ts';
import {
  canonicalRepository,
  checkTagPatterns,
  splitImage,
  tagMatches,
} from '../../../functions/webhooks/repository.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const commit = '4f1c2aa';

/** The decision without absent fields. */
function decided(event: WebhookEvent, target: Partial<Target> = {}): unknown {
  const place = { app: 'api', project: 'shop', namespace: 'shop-prod' };
  const all: Target = { ...place, image: 'r.test/api:v1', gitBranch: undefined, branch: null, tags: null, ...target };
  return JSON.parse(JSON.stringify(decide(event, all)));
}

t.test('a deploy request names an image, or a commit for an app with a git source', async (t) => {
  t.same(decided({ kind: 'nothing', reason: 'Ping.' }), { verdict: 'ignore', reason: 'Ping.' });
  t.same(decided({ kind: 'deploy', image: 'r.test/x:1', commit: 'any', branch: 'b' }), {
    verdict: 'deploy',
    image: 'r.test/x:1',
    commit: 'any',
    branch: 'b',
  });
  t.same(decided({ kind: 'deploy', commit: '4F1C2AA' }, { gitBranch: 'main' }), { verdict: 'deploy', commit });
  for (const [event, gitBranch, problem] of [
    [{ image: 'r.test/x:1' }, 'main', { code: 'git_source_configured' }],
    [{ image: 'untagged' }, undefined, { code: 'invalid_value' }],
    [{ commit }, undefined, { code: 'invalid_request', message: /runs an image\. Send {"image"/ }],
    [{}, undefined, { code: 'invalid_request', message: /runs an image\. Send {"image"/ }],
    [{}, 'main', { code: 'invalid_request', message: /is built from git\. Send {"commit"/ }],
    [{ commit: 'main' }, 'main', { code: 'invalid_value' }],
  ] as const) {
    t.throws(() => decided({ kind: 'deploy', ...event }, { gitBranch }), problem);
  }
});

t.test('the tag filter holds for CI as for registries', async (t) => {
  const tags = 'v*,release-*';
  const filtered = (subject: string) => ({
    verdict: 'ignore',
    reason: `${subject} does not match the webhook's tag filter "${tags}".`,
  });
  for (const [image, expected] of [
    ['r.test/api:v2', { verdict: 'deploy', image: 'r.test/api:v2' }],
    [`r.test/api:v2@${digest}`, { verdict: 'deploy', image: `r.test/api:v2@${digest}` }],
    ['r.test/api:latest', filtered('The tag "latest"')],
    [`r.test/api@${digest}`, filtered('An image without a tag')],
  ] as const) {
    t.same(decided({ kind: 'deploy', image }, { tags }), expected, image);
  }
  t.throws(() => decided({ kind: 'deploy', image: 'no tag' }, { tags }), { code: 'invalid_value' });
  t.throws(() => decided({ kind: 'deploy', image: 'r.test/api:main' }, { tags, gitBranch: 'main' }), {
    code: 'git_source_configured',
  });
});

t.test('an image that was built for another environment needs a promotion first', async (t) => {
  const builds = { registry: 'r.test/builds' };
  const deploys = (image: string, current: string | null) =>
    decided({ kind: 'deploy', image }, { builds, image: current });
  const own = 'r.test/builds/shop-prod/api:1';
  const other = 'r.test/builds/shop-test/api:2';
  for (const [image, current] of [
    [own, null],
    [own, 'r.test/api:v1'],
    [other, 'r.test/builds/shop-test/api:1'],
  ] as const) {
    t.same(deploys(image, current), { verdict: 'deploy', image });
  }
  for (const [image, current] of [
    [other, null],
    [other, own],
    ['r.test/builds/blog-prod/api:1', 'r.test/builds/blog-prod/api:1'],
  ] as const) {
    t.throws(() => deploys(image, current), { code: 'image_not_allowed' });
  }
});

t.test('of a push, the first ref of the branch counts', async (t) => {
  const main = { branch: 'main', commit: '4F1C2AA' };
  const git = { gitBranch: 'main' };
  const deploys = { verdict: 'deploy', branch: 'main', commit };
  const ignores = (reason: string) => ({ verdict: 'ignore', reason });
  const onlyBranches = 'was pushed; only branches deploy.';
  for (const [refs, target, expected] of [
    [[main], git, deploys],
    [
      [main],
      { gitBranch: 'main', branch: 'other' },
      ignores('The branch "main" was pushed; the webhook deploys the branch "other".'),
    ],
    [[main], { gitBranch: 'other', branch: 'main' }, deploys],
    [[{ otherRef: 'refs/tags/v1' }, { branch: 'x' }, { ...main, deleted: true }, main], git, deploys],
    [
      [{ ...main, commitMessage: 'Fix', commitAuthor: 'Ann' }],
      git,
      { ...deploys, commitMessage: 'Fix', commitAuthor: 'Ann' },
    ],
    [[], git, ignores('Nothing was pushed.')],
    [[{ ...main, deleted: true }], git, ignores('The branch "main" was deleted.')],
    [[{ otherRef: 'refs/tags/v1', deleted: true }], git, ignores('The tag "v1" was deleted.')],
    [[{ otherRef: 'refs/tags/v1' }], {}, ignores(`The tag "v1" ${onlyBranches}`)],
    [[{ otherRef: 'refs/notes/v1' }], git, ignores(`"refs/notes/v1" ${onlyBranches}`)],
    [[{}], git, ignores(`"" ${onlyBranches}`)],
  ] as const) {
    t.same(decided({ kind: 'push', refs: [...refs] }, target), expected, JSON.stringify(refs));
  }
  t.throws(() => decided({ kind: 'push', refs: [{ branch: 'main' }] }, git), { code: 'invalid_value' }, 'no commit');
});

t.test('a push is skipped because of its message, or because the app runs an image', async (t) => {
  const refs = [{ branch: 'main', commit, commitMessage: 'Fix it [CI Skip]' }];
  const skipped = { verdict: 'skip', reason: 'The commit message contains [ci skip].', ...refs[0] };
  t.same(decided({ kind: 'push', refs }, { gitBranch: 'main' }), skipped);
  t.same(decided({ kind: 'push', refs }), skipped);
  t.match(decided({ kind: 'push', refs: [{ branch: 'any' }] }), { verdict: 'skip', reason: /^The app runs an image/ });
});

t.test('of pushed images, the last tag of the repository that matches counts', async (t) => {
  const own = (tag: string, more = {}) => ({ repository: 'r.test/API', tag, ...more });
  const deploys = (tag: string, more = {}) => ({ verdict: 'deploy', image: `r.test/api:${tag}`, ...more });
  const ignores = (reason: string) => ({ verdict: 'ignore', reason });
  const attachment = (suffix: string) => `sha256-${'0'.repeat(64)}${suffix}`;
  for (const [images, tags, expected] of [
    [[own('v2')], null, deploys('v2')],
    [[own('v2'), own('v3'), own('latest')], 'v*', deploys('v3')],
    [[own('v2'), own('')], null, deploys('v2')],
    [[own('v2'), own(digest)], null, deploys('v2')],
    [[own('v2'), { repository: 'r.test/web', tag: 'v3' }], null, deploys('v2')],
    [[own('v2', { digest })], null, deploys('v2', { digest })],
    [[own('v2', { digest: `${digest}0` })], null, deploys('v2')],
    [[own('v2'), own('v3')], 'r-*', ignores(`The tag "v3" does not match the webhook's tag filter "r-*".`)],
    [[own('v2'), own(attachment('.sig'))], null, deploys('v2')],
    [[own(attachment('.sig'))], null, ignores('A signature or another attachment of an image was pushed.')],
    [[own(attachment('.att'))], 'sha256-*', ignores('A signature or another attachment of an image was pushed.')],
    [[own(attachment(''))], null, ignores('A signature or another attachment of an image was pushed.')],
    [[own('sha256-v2')], null, deploys('sha256-v2')],
    [[own('')], null, ignores('The image was pushed without a tag.')],
    [
      [{ repository: 'r.test/web', tag: 'v2' }],
      null,
      ignores('The image "r.test/web" is not the image of the app ("r.test/api").'),
    ],
    [[], null, ignores('No image was pushed.')],
  ] as const) {
    t.same(decided({ kind: 'images', images: [...images] }, { tags }), expected, JSON.stringify(images));
  }
  const event: WebhookEvent = { kind: 'images', images: [own('v2')] };
  t.throws(() => decided(event, { gitBranch: 'main' }), { code: 'git_source_configured' });
  t.throws(() => decided(event, { image: null }), { code: 'not_ready' });
  t.throws(() => decided({ kind: 'images', images: [own('a b')] }), { code: 'invalid_value' });
});

t.test('an image reference has a repository and a tag', async (t) => {
  for (const [image, repository, tag] of [
    ['r.test:5000/shop/api:v1', 'r.test:5000/shop/api', 'v1'],
    ['r.test:5000/shop/api', 'r.test:5000/shop/api', undefined],
    [`r.test/api:v1@${digest}`, 'r.test/api', 'v1'],
    [`r.test/api@${digest}`, 'r.test/api', undefined],
    ['api:v1', 'api', 'v1'],
    ['a/b:', 'a/b', ''],
    ['a/:v', 'a/', 'v'],
    [':v', '', 'v'],
  ] as const) {
    t.same(splitImage(image), tag === undefined ? { repository } : { repository, tag }, image);
  }
});

t.test('repositories are compared with their registry', async (t) => {
  for (const [repository, canonical] of [
    ['alpine', 'docker.io/library/alpine'],
    ['docker.io/alpine', 'docker.io/library/alpine'],
    ['index.docker.io/library/alpine', 'docker.io/library/alpine'],
    ['Acme/Api', 'docker.io/acme/api'],
    ['docker.io/acme/api', 'docker.io/acme/api'],
    ['ghcr.io/api', 'ghcr.io/api'],
    ['ghcr.io/acme/api', 'ghcr.io/acme/api'],
    ['localhost/api', 'localhost/api'],
    ['registry:5000/api', 'registry:5000/api'],
    ['my.app', 'docker.io/library/my.app'],
  ] as const) {
    t.equal(canonicalRepository(repository), canonical, repository);
  }
});

t.test('in a tag filter, * matches any text', async (t) => {
  for (const [patterns, matching, others] of [
    ['v1', ['v1'], ['v', 'v12', 'v1v1', '']],
    ['v*', ['v', 'v1', 'vv'], ['av', 'V1']],
    ['*', ['', 'v1'], []],
    ['*-rc', ['-rc', 'v1-rc'], ['v1-rc2']],
    ['ab*ba', ['abba', 'ab-ba'], ['aba', 'ab', 'ba']],
    ['a*b*c', ['abc', 'a-b-c', 'abbc'], ['ac', 'acb', 'bac']],
    ['*b*', ['b', 'ab', 'ba'], ['', 'a']],
    ['a*bc*c', ['abcc', 'abc-c'], ['abc', 'ac']],
    ['a*x*y*c', ['axyc', 'a-x-y-c'], ['axc', 'ayc', 'ayxc']],
    ['v1, r-* ,v2', ['v1', 'v2', 'r-1'], ['v3', ' v1']],
  ] as const) {
    for (const tag of matching) t.equal(tagMatches(tag, patterns), true, `${tag} matches ${patterns}`);
    for (const tag of others) t.equal(tagMatches(tag, patterns), false, `${tag} does not match ${patterns}`);
  }
  const longest = `v${'1'.repeat(127)}`;
  for (const patterns of ['*', 'v*, release-*', longest]) t.equal(checkTagPatterns(patterns), patterns);
  for (const patterns of ['', 'v1,', '.x', 'a b', `${longest}1`]) {
    t.throws(() => checkTagPatterns(patterns), { code: 'invalid_value', details: { field: 'tags' } }, patterns);
  }
});

t.test('the answer to a sender that waited is the deployment’s result', async (t) => {
  const statusUrl = 'http://console.test/1';
  const headers = { Location: statusUrl };
  const replyOf = (
    state: 'accepted' | 'skipped' | 'succeeded' | 'superseded' | 'cancelled' | 'failed',
    waited: boolean,
  ) => deploymentReply({ id: '1', revision: 7, state }, { statusUrl, waited });
  for (const [state, status, afterWait] of [
    ['accepted', 202, 202],
    ['skipped', 200, 200],
    ['succeeded', 202, 200],
    ['superseded', 202, 409],
    ['cancelled', 202, 409],
    ['failed', 202, 424],
  ] as const) {
    const body = { id: '1', revision: 7, status: state, statusUrl };
    t.same(replyOf(state, false), { status, headers, body });
    t.match(replyOf(state, true), { status: afterWait, headers, body });
  }
  t.match(replyOf('cancelled', true).body, { code: 'deployment_cancelled', message: 'The deployment was cancelled.' });
  const failed = { id: '1', revision: null, state: 'failed', reason: 'It crashes.' } as const;
  t.same(deploymentReply(failed, { statusUrl, waited: true }).body, {
    id: '1',
    status: 'failed',
    statusUrl,
    reason: 'It crashes.',
    code: 'deployment_failed',
    message: 'The deployment failed. It crashes.',
  });
  const unexplained = deploymentReply({ ...failed, reason: null }, { statusUrl, waited: false });
  t.same(unexplained.body, { id: '1', status: 'failed', statusUrl });
});
