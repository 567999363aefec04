import { z } from 'zod';
import { page } from '../contracts/api/common.ts';
import { secretReveal, secretUpdate, secretView, type SecretView } from '../contracts/api/variables.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { Clock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';
import { referencesOf } from '../domain/variables.ts';
import { largeBodyLimit } from '../http/body.ts';
import type { Route } from '../http/route.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { Configurable } from '../workloads/objects.ts';
import { createSecretStore, noSecret, readSecrets, type WorkloadSecret } from '../workloads/secrets.ts';
import type { ObjectRoutes } from './object-routes.ts';
import type { VariableKind } from './variable-routes.ts';
import { checkVariableName } from './workload-variables.ts';

/** `/secrets` below a workload's path. Only project admins may read a value, and the audit log records it. */
export function secretRoutes<Workload extends Configurable>(
  objects: ObjectRoutes<Workload>,
  { kube, clock }: { kube: KubeClient; clock: Clock },
  { phrase, effect, onSecretChange }: VariableKind<Workload>,
): Route[] {
  const store = createSecretStore({ kube, clock });
  const one = { path: '/secrets/:secret', params: { secret: z.string().max(250) } } as const;

  return [
    objects.route({
      method: 'GET',
      path: '/secrets',
      access: { project: 'viewer', scope: 'read' },
      summary: `Lists the secrets of ${phrase} by name, without their values.`,
      replies: { 200: page(secretView) },
      async handle({ find }) {
        const workload = await find();
        const { secrets } = await readSecrets(kube, workload);
        return { status: 200, body: { items: secrets.map(secretToView) } };
      },
    }),
    objects.route({
      ...one,
      method: 'GET',
      access: { project: 'admin' },
      summary: 'Shows the value of a secret. The access is recorded in the audit log.',
      audit: 'secret.reveal',
      replies: { 200: secretReveal },
      async handle({ params: { secret: name }, find }) {
        const workload = await find();
        const { secrets } = await readSecrets(kube, workload);
        const secret = secrets.find((entry) => entry.name === name);
        if (!secret) throw noSecret(workload, name);
        return { status: 200, body: { ...secretToView(secret), value: secret.value } };
      },
    }),
    objects.route({
      ...one,
      method: 'PUT',
      access: { project: 'deployer', scope: 'write' },
      summary: `Sets a secret and keeps its previous value. Pods use the new value ${effect}.`,
      audit: 'secret.set',
      body: secretUpdate,
      bodyLimit: largeBodyLimit,
      replies: { 200: secretView },
      async handle({ params, body, findLiving }) {
        const workload = await findLiving();
        checkVariableName(params.secret, 'name');
        const secret = await store.set(workload, params.secret, body.value);
        await onSecretChange?.(workload);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    objects.route({
      ...one,
      path: '/secrets/:secret/restore',
      method: 'POST',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Restores the previous value of a secret, and keeps the current value as the previous one.',
      audit: 'secret.restore',
      replies: { 200: secretView },
      async handle({ params, findLiving }) {
        const workload = await findLiving();
        const secret = await store.restore(workload, params.secret);
        await onSecretChange?.(workload);
        return { status: 200, body: secretToView(secret) };
      },
    }),
    objects.route({
      ...one,
      method: 'DELETE',
      access: { project: 'deployer', scope: 'write' },
      summary: 'Deletes a secret and its previous value. Fails while a variable refers to it.',
      audit: 'secret.delete',
      replies: { 204: null },
      async handle({ params, findLiving }) {
        const workload = await findLiving();
        checkUnreferenced(workload, params.secret);
        await store.remove(workload, params.secret);
        await onSecretChange?.(workload);
        return { status: 204 };
      },
    }),
  ];
}

/** @throws Problem `in_use` that names the variables which refer to the secret */
function checkUnreferenced({ spec }: Stored<Configurable>, secret: string): void {
  const variables = (spec.env ?? []).filter(({ value }) => referencesOf(value).includes(secret));
  if (variables.length === 0) return;
  const names = variables.map(({ name }) => name);
  const [word, verb] = names.length === 1 ? ['variable', 'refers'] : ['variables', 'refer'];
  throw new Problem(
    'in_use',
    `The ${word} ${names.join(', ')} ${verb} to the secret "${secret}". Change the ${word} first.`,
    { details: { variables: names } },
  );
}

/** A secret without its value. */
function secretToView({ name, updatedAt, previous }: WorkloadSecret): SecretView {
  return { name, updatedAt: updatedAt.toISOString(), hasPrevious: previous !== undefined };
}
