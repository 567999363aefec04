import t from 'tap';
import {
  checkImageProject,
  isBuilt,
  isSameRepository,
  repositoryAt,
  type BuildRegistry,
} from '../../../runtime/domain/built-image.ts';

const shop = { project: 'shop', namespace: 'shop-prod' };

/** `own`, the environment of the same project that it was built for, or the code of the refusal. */
function classify(image: string, builds: BuildRegistry | undefined): string {
  try {
    return checkImageProject(image, shop, builds)?.namespace ?? 'own';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

t.test('an image below the registry belongs to the project of its path', async (t) => {
  const builds = { registry: 'registry.test/builds' };
  t.equal(classify('registry.test/builds/shop-prod/api:1', builds), 'own');
  t.equal(classify('registry.test/builds/shop-dev/api:1', builds), 'shop-dev');
  for (const other of ['victim-prod', 'shop-two-prod', 'shopping-prod', 'a-shop-prod']) {
    t.equal(classify(`registry.test/builds/${other}/api:1`, builds), 'image_not_allowed', other);
  }
  t.equal(classify('ghcr.io/builds/victim-prod/api:1', builds), 'own', 'another host');
  t.equal(classify('registry.test/builds/victim-prod:1', builds), 'own', 'no build has this name');
  const deep = { registry: 'registry.test/builds/eu' };
  t.equal(classify('registry.test/builds/eu/victim-prod/api:1', deep), 'image_not_allowed');
  t.equal(classify('registry.test/builds/us/victim-prod/api:1', deep), 'own', 'another path of the registry');
  t.equal(classify('localhost/builds/victim-prod/api:1', { registry: 'localhost/builds' }), 'image_not_allowed');
  t.equal(classify('registry.test/builds/victim-prod/api:1', undefined), 'own', 'an installation that builds nothing');
});

t.test('every name of this machine is one registry', async (t) => {
  const builds = { registry: 'localhost:5000/builds' };
  const names = [
    'localhost',
    'LOCALHOST',
    'a.localhost',
    '127.0.0.1',
    '127.9',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '[::1]',
  ];
  for (const name of [...names, '[::ffff:7f00:1]', '[0:0::1]', '[::]']) {
    t.equal(classify(`${name}:5000/builds/victim-prod/api:1`, builds), 'image_not_allowed', name);
  }
  t.equal(classify('localhost:5001/builds/victim-prod/api:1', builds), 'own', 'another registry');
});

t.test('every name of Docker Hub is one registry', async (t) => {
  const builds = { registry: 'docker.io/acme' };
  for (const name of ['', 'docker.io/', 'index.docker.io/', 'registry-1.docker.io/', 'Docker.IO:443/']) {
    t.equal(classify(`${name}acme/victim-prod/api:1`, builds), 'image_not_allowed', name);
  }
  t.equal(classify('node:22', builds), 'own');
  t.equal(classify('ghcr.io/acme/victim-prod/api:1', builds), 'own');
});

t.test('text that Kubernetes refuses as an image is refused', async (t) => {
  const builds = { registry: 'registry.test/builds' };
  for (const text of [
    '',
    'A',
    'a//b',
    'a/../b',
    'a/%2e/b',
    'a b',
    'a@sha256:1',
    'http://a/b',
    `a/${'b'.repeat(1_023)}`,
  ]) {
    t.equal(classify(text, builds), 'invalid_value', text.slice(0, 20));
  }
  t.equal(classify(`a/${'b'.repeat(1_022)}`, builds), 'own', 'the longest');
  t.equal(classify('[:::::]:5000/builds/victim-prod/api:1', builds), 'own', 'a host that Kubernetes cannot reach');
});

t.test('an image is built here when its name is that of a build', async (t) => {
  const builds = { registry: 'registry.test/builds', pushAddress: 'https://push.test:5000' };
  t.ok(isBuilt('registry.test/builds/shop-prod/api:1', builds));
  t.ok(isBuilt('push.test:5000/builds/shop-prod/api:1', builds), 'the address that builds push to');
  t.notOk(isBuilt('push.test/builds/shop-prod/api:1', builds), 'another port');
  t.notOk(isBuilt('registry.test/builds/shop-prod:1', builds), 'without an app');
  t.notOk(isBuilt('registry.test/builds/shop/api:1', builds), 'not an environment');
  t.notOk(isBuilt('registry.test/builds:1', builds), 'without an environment');
  t.notOk(isBuilt('registry.test/builds/shop-prod/api:1', undefined));
});

t.test('the registry has the images of an app at one address and path', async (t) => {
  const app = { repository: 'registry.test:5000/builds/shop-prod/api', namespace: 'shop-prod', app: 'api' };
  const builds = { registry: 'registry.test:5000/builds' };
  const path = 'builds/shop-prod/api';
  t.same(repositoryAt(builds, app), { address: 'https://registry.test:5000', path });
  const pushAddress = 'http://push.test:80/';
  t.same(repositoryAt({ ...builds, pushAddress }, app), { address: 'http://push.test', path });
  for (const change of [
    { app: 'web' },
    { namespace: 'shop-dev' },
    { repository: 'registry.test:5000/builds/shop-prod/api/x' },
    { repository: 'old.test/builds/shop-prod/api' },
  ]) {
    t.equal(repositoryAt(builds, { ...app, ...change }), undefined, JSON.stringify(change));
  }
});

t.test('repositories are compared without tag and digest', async (t) => {
  t.ok(isSameRepository('r.test/a/b:1', `R.test:443/a/b@sha256:${'a'.repeat(64)}`));
  t.ok(isSameRepository('node:22', 'docker.io/library/node'));
  t.notOk(isSameRepository('r.test/a/b:1', 'r.test/a/bb:1'));
  t.ok(isSameRepository('my.app:1', 'docker.io/my.app:2'), 'a name without a slash has no host');
  t.notOk(isSameRepository('Registry/a:1', 'docker.io/registry/a:1'), 'a path has no capitals');
});
