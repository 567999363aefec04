import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createDevices } from '../../functions/sessions/devices.ts';
import { createTokenStore } from '../../functions/webhooks/token-store.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { generateWebhookToken } from '../../runtime/domain/api-key.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { idLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { parseKeyRing, type KeyRing } from '../../runtime/domain/sealed.ts';
import { fakeClock } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { silentLog } from '../support/log.ts';

/**
 * Keys are replaced while the platform runs, by the steps in docs/how-to/install-in-a-cluster.md: the replicas read their
 * ring when they start, so neighbours in this list run side by side. A copy of a key that was removed is good for
 * nothing.
 */
const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
const ring = (current: string, keys: Record<string, string>) => parseKeyRing(JSON.stringify({ current, keys }));
const steps: readonly KeyRing[] = [
  ring('k1', { k1: first }),
  ring('k1', { k1: first, k2: second }),
  ring('k2', { k1: first, k2: second }),
  ring('k2', { k2: second }),
];

function world() {
  const kube = fakeKube();
  const id = newId();
  const labels = { ...managedLabels(), [idLabel]: id };
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'api', namespace: 'shop-prod', labels },
    spec: {},
  });
  const clock = fakeClock(new Date());
  /** What a replica with this ring does. */
  return steps.map((keyRing) => {
    const tokens = createTokenStore({ kube, keyRing, log: silentLog });
    const devices = createDevices({ keyRing, clock });
    return {
      devices,
      async write(token: string) {
        const app = await kube.get<App>(kinds.App, 'api', 'shop-prod');
        if (!app) throw new Error('no app');
        return tokens.write(app, token, 0);
      },
      read: async (version: number) =>
        (await tokens.read({ namespace: 'shop-prod', app: 'api' }, { workloadId: id, versions: [version] }))[0],
    };
  });
}

t.test('in each step of a rotation, replicas of the steps before and after read what the others write', async (t) => {
  const replicas = world();
  const pairs = [0, 1].flatMap((step) => [[step, step + 1] as const, [step + 1, step] as const]);
  for (const [writer, reader] of pairs) {
    const token = generateWebhookToken();
    const version = (await replicas[writer]?.write(token)) ?? 0;
    t.equal(await replicas[reader]?.read(version), token, `written in step ${writer}, read in step ${reader}`);
    const device = replicas[writer]?.devices.issue('dana@svc.local', 'a');
    t.equal(replicas[reader]?.devices.idOf('dana@svc.local', device), 'a');
  }
});

t.test('a key that was removed opens nothing and forges nothing', async (t) => {
  const replicas = world();
  const [old, , , last] = replicas;
  const version = (await old?.write(generateWebhookToken())) ?? 0;
  t.equal(await last?.read(version), undefined, 'the webhook has no token, as one that was never enabled');
  t.equal(
    last?.devices.idOf('dana@svc.local', old?.devices.issue('dana@svc.local')),
    undefined,
    'a device is a stranger',
  );
  // The id of the key is not part of what is sealed.
  const renamed = old?.devices.issue('dana@svc.local').replace('.k1.', '.k2.');
  t.equal(last?.devices.idOf('dana@svc.local', renamed), undefined);
  const renewed = generateWebhookToken();
  t.equal(await last?.read((await last.write(renewed)) ?? 0), renewed, 'a new token works');
});
