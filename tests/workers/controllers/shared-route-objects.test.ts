import t from 'tap';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { settleDeployments } from '../../support/cluster.ts';
import { runningControllers } from '../../support/every-controller.ts';
import { fixedId } from '../../support/state-space.ts';

t.test(
  'shared objects of routes exist once for each environment, and are restored when someone changes them',
  async (t) => {
    const { clock, kube } = await runningControllers(t, { environments: ['prod', 'dev'] });
    const names = Array.from({ length: 5 }, (_, number) => `w${number}`);
    for (const namespace of ['shop-prod', 'shop-dev']) {
      const workload = (kind: string, name: string, spec: object): KubeObject => ({
        apiVersion: 'platform.svc/v1',
        kind,
        metadata: { name, namespace },
        spec,
      });
      for (const [number, name] of names.entries()) {
        const image = 'registry.test/api:1';
        const release = { generation: 1, deploymentId: fixedId(9), image };
        await kube.create(workload('App', name, { image, port: 8080, replicas: 1, release }));
        const code = { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 };
        if (namespace === 'shop-prod') await kube.create(workload('Function', `f${number}`, code));
      }
    }
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      await settleDeployments(kube);
    }
    const stored = () =>
      [kinds.Middleware, kinds.ServersTransport]
        .flatMap((kind) => kube.all(kind))
        .map(({ metadata, spec }) => ({ place: `${metadata.namespace}/${metadata.name}`, spec }));
    const places = (objects: { place: string }[]) => objects.map(({ place }) => place).sort();
    const before = stored();
    t.same(places(before), [
      'shop-dev/svc-pods',
      'shop-dev/svc-retry',
      'shop-dev/svc-strip',
      'shop-dev/svc-strip-key',
      'shop-prod/svc-pods',
      'shop-prod/svc-retry',
      'shop-prod/svc-strip',
      'shop-prod/svc-strip-key',
      'svc-system/svc-pods',
      'svc-system/svc-retry',
      'svc-system/svc-strip',
      'svc-system/svc-strip-key',
    ]);
    t.equal(kube.all(kinds.IngressRoute).length, 15);

    const middleware = { apiVersion: kinds.Middleware.apiVersion, kind: kinds.Middleware.kind };
    for (const namespace of ['shop-prod', 'svc-system']) {
      const calls = kube.calls.length;
      await kube.delete({ ...middleware, namespace, name: 'svc-strip' });
      const { apiVersion, kind } = kinds.ServersTransport;
      await kube.delete({ apiVersion, kind, namespace, name: 'svc-pods' });
      const harmless = { headers: { customRequestHeaders: { 'X-Nothing': '' } } };
      const live = await kube.get<KubeObject>(kinds.Middleware, 'svc-strip-key', namespace);
      if (!live) throw new Error('no Middleware');
      await kube.replace({ ...live, spec: harmless });
      await clock.advance(1_000);
      const sorted = (objects: ReturnType<typeof stored>) => [...objects].sort((a, b) => (a.place < b.place ? -1 : 1));
      t.same(sorted(stored()), sorted(before), namespace);
      const writes = kube.calls.slice(calls).filter(({ verb }) => ['create', 'replace'].includes(verb));
      t.notOk(
        writes.some(({ kind: written }) => written === 'IngressRoute'),
        'no route changes',
      );
    }
  },
);
