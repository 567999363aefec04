import t from 'tap';
import { collectedKinds } from '../../../../infra/local/controllers/controller-manager.ts';
import { installManifests } from '../../../../infra/install/install.ts';
import { environmentDefaults, environmentQuota } from '../../../../infra/manifests/environment.ts';
import type { PlatformSettings } from '../../../../infra/manifests/platform/settings.ts';
import { applyObject } from '../../../../runtime/kube/children.ts';
import { startApi } from '../../../support/local-api.ts';

const settings: PlatformSettings = {
  appsDomain: 'apps.localhost',
  cluster: 'local',
  scheme: 'http',
  entryPoints: ['web'],
  optional: {},
  scrape: false,
  images: {
    platform: 'svc/platform:1',
    functionNode: 'svc/function-node:1',
    postgres: 'svc/postgres:1',
    redis: 'svc/redis:1',
  },
  adminEmail: 'admin@example.com',
  failpoints: false,
};

/** Traefik's definitions, as far as the server needs them: any schema will do. */
const traefik = (kind: string, plural: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.traefik.io` },
  spec: {
    group: 'traefik.io',
    scope: 'Namespaced',
    names: { kind, plural },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

t.test('the platform installs, and its objects are stored unchanged', async (t) => {
  const { kube } = await startApi(t);
  await kube.create(traefik('IngressRoute', 'ingressroutes'));
  await kube.create(traefik('Middleware', 'middlewares'));
  await kube.create(traefik('ServersTransport', 'serverstransports'));
  const objects = installManifests(settings);
  for (const object of objects) {
    const { kind, metadata } = object;
    t.equal(await applyObject(kube, object), 'created', `${kind} ${metadata.name}`);
  }
  for (const object of objects) {
    const { kind, metadata } = object;
    t.equal(await applyObject(kube, object), 'unchanged', `${kind} ${metadata.name} again`);
  }
  const limits = { cpu: '2', memory: '1024Mi', storage: '10Gi', containerMemory: '0.5Gi', pods: 10 };
  for (const object of [environmentQuota('default', limits), environmentDefaults('default', limits)]) {
    t.equal(await applyObject(kube, object), 'created');
    t.equal(await applyObject(kube, object), 'unchanged', object.kind);
  }
  // Otherwise the controllers of the embedded cluster wait for ever.
  for (const kind of collectedKinds) await t.resolves(kube.list(kind), `${kind.kind} can be listed`);
});
