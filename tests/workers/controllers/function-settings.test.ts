import t from 'tap';
import { functionDeployment, type FunctionDeployment } from '../../../infra/manifests/function.ts';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { keptDeployment, startSettings } from '../../../workers/controllers/function-settings.ts';

const hello = { id: '0190a0a0-0000-7000-8000-000000000001', name: 'hello', namespace: 'shop-prod' };
const image = 'registry.test/node:1';
const spec = { runtime: 'node' as const, code: 'first', port: 8080 };

type Spec = Parameters<typeof functionDeployment>[1];

function live(replicas: number, made: FunctionDeployment): Stored<FunctionDeployment> {
  return {
    ...made,
    metadata: { ...made.metadata, uid: 'u', resourceVersion: '1', generation: 1 },
    spec: { ...made.spec, replicas },
  };
}

const made = (change: Partial<Spec>, envSecret?: string) =>
  functionDeployment(hello, { ...spec, ...change }, { image, envSecret });
const settingsOf = ({ spec: { template } }: FunctionDeployment) => startSettings(template);

t.test('environment and limits of pods that run stay, and at zero they are those of now', (t) => {
  const before = made({ memory: '64Mi' }, 'function-hello-env-1');
  const now = made({ memory: '128Mi', cpu: '0.5' }, 'function-hello-env-2');
  const was = { envSecret: 'function-hello-env-1', memory: '64Mi' };
  const is = { envSecret: 'function-hello-env-2', memory: '128Mi', cpu: '500m' };
  t.same(settingsOf(keptDeployment(live(2, before), now)), was);
  t.equal(keptDeployment(live(2, before), now).spec.replicas, 2);
  t.same(settingsOf(keptDeployment(live(0, before), now)), is);
  t.equal(keptDeployment(live(0, before), now).spec.replicas, 0);
  t.same(settingsOf(keptDeployment(live(1, made({})), now)), { memory: '256Mi' }, 'without any, none is given');
  t.same(settingsOf(keptDeployment(live(1, before), made({}))), was, 'and what is gone stays');
  t.end();
});

t.test('whatever else makes new pods brings them along', (t) => {
  const before = made({ memory: '64Mi' }, 'function-hello-env-1');
  const is = { envSecret: 'function-hello-env-2', memory: '256Mi' };
  const restartedAt = '2026-11-22T10:00:00.000Z';
  const envSecret = 'function-hello-env-2';
  t.same(settingsOf(keptDeployment(live(1, before), made({ restartedAt }, envSecret))), { ...is, restartedAt });
  t.same(settingsOf(keptDeployment(live(1, before), made({ code: 'second' }, envSecret))), is);
  t.same(settingsOf(keptDeployment(live(1, before), made({ volumes: [{ name: 'd', path: '/d' }] }, envSecret))), is);
  t.end();
});
