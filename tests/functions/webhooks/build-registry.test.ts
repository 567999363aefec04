import t from 'tap';
import { createBuildsReader } from '../../../functions/webhooks/build-registry.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { fakeClock } from '../../support/clock.ts';

t.test('the registry of builds is read at most every 5 s, and outlives an outage', async (t) => {
  const clock = fakeClock();
  let registry: string | undefined;
  let reads = 0;
  const get = () => {
    reads++;
    if (registry === undefined) return Promise.reject(new Error('away'));
    const builds = { image: 'r.test/builder:1', registry, baseImages: {} };
    return Promise.resolve({
      spec: { appsDomain: 'apps.test', cluster: 'home', runtimeImages: { node: 'r.test/node:1' }, builds },
    });
  };
  const read = createBuildsReader({ kube: { get } as unknown as Pick<KubeClient, 'get'>, clock });
  const registryText = async () => `${(await read())?.registry} after ${reads}`;
  t.equal(await registryText(), 'undefined after 1', 'without an answer, images are not judged');
  registry = 'r.test/one';
  t.same(
    await Promise.all([registryText(), registryText()]),
    ['r.test/one after 2', 'r.test/one after 2'],
    'at once after a failure',
  );
  registry = 'r.test/two';
  clock.jump(-3_600_000);
  await clock.advance(4_999);
  t.equal(await registryText(), 'r.test/one after 2');
  await clock.advance(1);
  t.equal(await registryText(), 'r.test/two after 3');
  registry = undefined;
  await clock.advance(5_000);
  t.equal(await registryText(), 'r.test/two after 4', 'the last answer');
  t.equal(await registryText(), 'r.test/two after 5');
});
