import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { V1Container } from '@kubernetes/client-node';
import t from 'tap';
import { pushContainerImage } from '../../infra/images/builder/container-image.ts';
import { readSettings } from '../../infra/images/builder/settings.ts';
import { buildJob } from '../../infra/manifests/build.ts';
import { buildSpec, type Build } from '../../runtime/contracts/resources/build.ts';
import { newId } from '../../runtime/domain/ids.ts';

/**
 * A user who can deploy can run any code in a build, and a program can escape from the chroot of a RUN step. So the
 * container that runs this code has no secret of the installation, and other containers do not trust what it leaves.
 */
const source = { url: 'https://git.test/api.git' };
const build: Build = {
  apiVersion: 'platform.svc/v1',
  kind: 'Build',
  metadata: { name: 'build-1', namespace: 'svc-builds' },
  spec: { app: 'api', namespace: 'shop-prod', source },
};
const settings = { image: 'r.test/builder:1', registry: 'r.test/builds', baseImages: {} };
const cacheDigest = `sha256:${'c'.repeat(64)}`;
/** The build of an app that was built before, whose pod has one more step. */
const job = buildJob({ ...build, spec: { ...build.spec, cacheDigest } }, settings);
const { initContainers = [], containers, volumes = [] } = job.spec.template.spec ?? { containers: [] };
const step = (stepName: string) =>
  [...initContainers, ...containers].find(({ name }) => name === stepName) as V1Container;
const mounts = (stepName: string) => (step(stepName).volumeMounts ?? []).map(({ name }) => name);

t.test('the steps run one after the other, and the push is the last', (t) => {
  const names = (pod: { initContainers?: { name: string }[]; containers: { name: string }[] } = { containers: [] }) =>
    [pod.initContainers ?? [], pod.containers].map((list) => list.map(({ name }) => name));
  t.same(
    names(job.spec.template.spec),
    [['restore', 'clone', 'build'], ['push']],
    'the first sees nothing of the source',
  );
  t.same(names(buildJob(build, settings).spec.template.spec), [['clone', 'build'], ['push']]);
  t.end();
});

t.test('nobody can guess the name of an image, not even of the same revision of the same app', (t) => {
  const names = Array.from({ length: 20 }, () => {
    const spec = { app: 'api', namespace: 'shop-prod', deploymentId: newId(), revision: 1, source };
    const { template } = buildJob({ ...build, spec }, settings).spec;
    return template.spec?.containers[0]?.env?.find(({ name }) => name === 'BUILD_TARGET')?.value ?? '';
  });
  t.equal(new Set(names).size, names.length);
  const form = /^r\.test\/builds\/shop-prod\/api:1-([0-9a-f]{16})$/;
  const digits = names.map((name) => form.exec(name)?.[1] ?? '');
  // The first one is partly fixed, the time of the deployment comes before them.
  for (let place = 1; place < 16; place++)
    t.ok(new Set(digits.map((each) => each[place])).size > 3, `the digit ${place} is random`);
  t.end();
});

t.test('a build reads the cache of its own app and namespace, whatever its spec says', (t) => {
  const variables = Object.fromEntries((step('restore').env ?? []).map(({ name, value }) => [name, value]));
  t.match(variables, { BUILD_CACHE_DIGEST: cacheDigest, BUILD_TARGET: 'r.test/builds/shop-prod/api:build-1' });
  // The step asks for this digest in the target's repository.
  for (const forged of [
    `r.test/builds/other-prod/api@${cacheDigest}`,
    `../other@${cacheDigest}`,
    'latest',
    `${cacheDigest}/x`,
  ]) {
    t.equal(buildSpec.safeParse({ ...build.spec, cacheDigest: forged }).success, false, forged);
  }
  t.equal(buildSpec.safeParse({ ...build.spec, cacheDigest }).success, true);
  t.end();
});

t.test('the step that runs strangers’ code mounts no credentials but those that all deployers may read', (t) => {
  const secrets = volumes.flatMap(({ name, secret }) => (secret ? [[name, secret.secretName] as const] : []));
  t.same(
    secrets.filter(([name]) => mounts('build').includes(name)),
    [['registry-base', 'svc-base-registry']],
  );
  t.same(
    secrets.filter(([name]) => mounts('push').includes(name)),
    [['registry-push', 'svc-registry']],
  );
  t.same(
    secrets.filter(([name]) => mounts('restore').includes(name)),
    [['registry-push', 'svc-registry']],
  );
  t.same(
    secrets.filter(([name]) => mounts('clone').includes(name)),
    [['credentials', 'build-1']],
  );
  t.end();
});

t.test('the steps share the workspace and nothing else', (t) => {
  for (const [one, other] of [
    ['clone', 'build'],
    ['build', 'push'],
    ['clone', 'push'],
    ['restore', 'clone'],
    ['restore', 'build'],
  ] as const) {
    t.same(
      mounts(one).filter((name) => mounts(other).includes(name)),
      ['workspace'],
      `${one} and ${other}`,
    );
  }
  t.end();
});

t.test('the steps with the credentials of the registry have no right that a build needs', (t) => {
  for (const name of ['restore', 'push']) {
    t.match(step(name).securityContext, {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
  }
  t.end();
});

t.test('a build that leaves a link in place of its image gets nothing pushed', async (t) => {
  const workspace = mkdtempSync(join(tmpdir(), 'svc-build-'));
  t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
  const settings = readSettings({
    BUILD_WORKSPACE: workspace,
    BUILD_URL: 'https://git.test/api.git',
    BUILD_IMAGE: 'r.test/builds/shop-prod/api:1',
    BUILD_TARGET: 'r.test/builds/shop-prod/api:1',
    BUILD_RESULT: join(workspace, 'result'),
  });
  await t.rejects(pushContainerImage(settings), { name: 'BuildFailure', message: 'the build left no image' });
  const secret = join(workspace, 'config.json');
  writeFileSync(secret, '{}');
  symlinkSync(secret, join(workspace, 'image.tar'));
  await t.rejects(pushContainerImage(settings), { name: 'BuildFailure', message: 'the build left no image' });
});
