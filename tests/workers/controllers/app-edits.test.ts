import t, { type Test } from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../../runtime/domain/labels.ts';
import { endDeployment, listDeployments } from '../../../runtime/records/deployments.ts';
import type { Deployment } from '../../../workers/controllers/deployment-object.ts';
import { namespace, setUp } from './app-world.ts';

const image = (version: number | string) => `registry.test/api:${version}`;

/** An app that runs the release of its first deployment. */
async function running(t: Test) {
  const world = await setUp(t);
  const { kube, pass, create, release, app } = world;
  await create();
  await pass();
  await release(1);
  await pass();
  const workloadId = (await app()).metadata.labels?.[idLabel] ?? '';
  const history = () => listDeployments(world.pool, workloadId, { limit: 100 });
  const deployment = async () => {
    const deployment = await kube.get<Deployment>(kinds.Deployment, 'api', namespace);
    if (!deployment) throw new Error('no deployment');
    return deployment;
  };
  const runs = async () => (await deployment()).spec.template.spec?.containers?.[0]?.image;
  /** `kubectl set image deployment/api app=…` */
  const setImage = async (newImage: string) => {
    const live = await deployment();
    const pod = live.spec.template.spec;
    const containers = pod?.containers?.map((one) => ({ ...one, image: newImage })) ?? [];
    const template = { ...live.spec.template, spec: { ...pod, containers } };
    await kube.replace({ ...live, spec: { ...live.spec, template } });
  };
  return { ...world, history, runs, setImage };
}

t.test('another image in the App starts a deployment, once for each edit', async (t) => {
  const { pass, change, release, history, runs, app } = await running(t);
  t.equal((await history()).length, 1, 'the first');
  await change({ image: image(2) });
  await pass();
  await pass();
  t.match(await history(), [
    { revision: 2, trigger: 'manual', actor: 'kubectl', image: image(2), state: 'accepted' },
    { revision: 1, state: 'superseded' },
  ]);
  t.equal(await runs(), image(1), 'pods wait for the release');
  await release(2);
  await pass();
  t.equal(await runs(), image(2));
  for (const version of [1, 2, 1]) {
    await change({ image: image(version) });
    await pass();
  }
  t.same(
    (await history()).map((entry) => [entry.revision, entry.image]),
    [5, 4, 3, 2, 1].map((revision) => [revision, image(revision % 2 === 0 ? 2 : 1)]),
  );
  t.match((await app()).status, { image: image(1), imageEdits: 4 });
});

t.test('a pass that is cut off after recording a deployment does not record a second one', async (t) => {
  const { kube, pass, change, history } = await running(t);
  await change({ image: image(2) });
  kube.intercept = ({ verb }) => {
    if (verb === 'replaceStatus') throw new Error('cut off');
  };
  await t.rejects(pass(), /cut off/);
  kube.intercept = undefined;
  await change({ port: 9000 });
  await pass();
  t.equal((await history()).length, 2);
  await change({ image: image(3) });
  await pass();
  t.match((await history())[0], { revision: 3, image: image(3) });
});

t.test('another image in the release or in the Deployment starts a deployment too', async (t) => {
  const { pool, pass, change, release, history, runs, setImage } = await running(t);
  await change({ release: { image: image('by-hand') } });
  await pass();
  await pass();
  t.match(await history(), [{ revision: 2, actor: 'kubectl', image: image('by-hand') }, { revision: 1 }]);
  t.equal(await runs(), image(1));
  await release(2, image('by-hand'));
  await pass();
  t.equal(await runs(), image('by-hand'));

  await setImage(image('set'));
  await pass();
  await pass();
  const [third] = await history();
  t.match(third, { revision: 3, actor: 'kubectl', image: image('set') });
  t.equal(await runs(), image('set'), 'the Deployment is not changed until its release exists');
  await endDeployment(pool, third?.id ?? '', 'cancelled', 'Cancelled.');
  await pass();
  t.equal(await runs(), image('by-hand'), 'the Deployment is reverted when no release will follow');
  t.equal((await history()).length, 3);
});

t.test('an image that cannot be deployed is reported, and starts no deployment', async (t) => {
  const { kube, pass, change, history, runs, setImage } = await running(t);
  await setImage('nginx');
  await pass();
  await change({ image: 'nginx' });
  await pass();
  await pass();
  t.equal(await runs(), image(1));
  t.equal((await history()).length, 1);
  t.match(
    kube.all(kinds.Event).filter((event) => 'reason' in event && event.reason === 'ImageRefused'),
    [{ message: /^Deployment: "nginx" is not a full image reference/ }, { message: /^spec\.image: / }],
  );
});
