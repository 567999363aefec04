import t from 'tap';
import type { KubeObject, OwnerReference, Stored } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { startControllers, template } from '../../../support/local-controllers.ts';

const settings = (name: string, owners: Partial<OwnerReference>[] = [], finalizers: string[] = []): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace: 'default',
    ...(owners.length > 0 && { ownerReferences: owners as OwnerReference[] }),
    ...(finalizers.length > 0 && { finalizers }),
  },
});
const ownedBy = ({ metadata: { name, uid } }: Stored<KubeObject>, block = false) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  ...(block && { blockOwnerDeletion: true }),
});
const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name });
const names = (objects: Stored<KubeObject>[]) => objects.map(({ metadata }) => metadata.name).join(' ');

t.test('an object without an existing owner is deleted, with its own children; others stay', async (t) => {
  const { kube, create, all, until } = await startControllers(t);
  const one = await create(settings('one'));
  const two = await create(settings('two'));
  const child = await create(settings('child', [ownedBy(one)]));
  await create(settings('grandchild', [ownedBy(child)]));
  await create(settings('shared', [ownedBy(one), ownedBy(two)]));
  await create(settings('foreign', [{ apiVersion: 'unknown/v1', kind: 'Thing', name: 'x', uid: 'u' }]));
  await kube.delete(ref('one'));
  await until('the children are gone', () => names(all(kinds.ConfigMap)) === 'two shared foreign' && 'yes');
  const shared = all(kinds.ConfigMap).find(({ metadata }) => metadata.name === 'shared');
  t.same(
    shared?.metadata.ownerReferences?.map(({ name }) => name),
    ['two'],
  );
});

t.test('a child of an owner that was deleted before, or of its namesake, is deleted', async (t) => {
  const { create, all, until } = await startControllers(t);
  await create(settings('owner'));
  await create(settings('late', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'of an earlier one' }]));
  await until('it is gone', () => names(all(kinds.ConfigMap)) === 'owner' && 'yes');
  t.pass();
});

t.test('foreground deletion deletes the owner last; orphaning keeps the children', async (t) => {
  const { kube, create, all, until } = await startControllers(t);
  const owner = await create(settings('owner', [], ['foregroundDeletion']));
  await create(settings('blocking', [ownedBy(owner, true)], ['another-writer/else']));
  const other = await create(settings('other', [], ['orphan']));
  await create(settings('left', [ownedBy(other)]));
  await kube.delete(ref('owner'));
  await kube.delete(ref('other'));
  await until('the orphan is free', () => {
    const [left] = all(kinds.ConfigMap).filter(({ metadata }) => metadata.name === 'left');
    return left?.metadata.ownerReferences?.length === 0 && !names(all(kinds.ConfigMap)).includes('other') && 'yes';
  });
  await until('the child is going', () =>
    all(kinds.ConfigMap).find(
      ({ metadata }) => metadata.name === 'blocking' && metadata.deletionTimestamp !== undefined,
    ),
  );
  t.match(names(all(kinds.ConfigMap)), 'owner', 'it waits');
  await kube.mergePatch(ref('blocking'), { metadata: { finalizers: [] } });
  await until('both are gone', () => names(all(kinds.ConfigMap)) === 'left' && 'yes');
});

t.test("a Deployment's ReplicaSets and pods are deleted with it", async (t) => {
  const { kube, create, all, until } = await startControllers(t);
  const labels = { app: 'web' };
  await create({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: template(labels) },
  });
  await until('it has pods', () => all(kinds.Pod).length === 2 && 'yes');
  await kube.delete({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' });
  await until('nothing is left', () => all(kinds.Pod).length + all(kinds.ReplicaSet).length === 0 && 'yes');
  t.pass();
});
