import { appLabel, idLabel, kindLabel, workloadLabels } from '../../runtime/domain/labels.ts';
import type { NetworkPolicy } from './environment-network.ts';
import { workloadOf, type FunctionIdentity } from './function-identity.ts';

/** The name of a function's own policy. */
export function boundServicesPolicyName(name: string): string {
  return `function-${name}`;
}

/**
 * Lets the pods of a function connect to the services that it is bound to, in addition to `functionsPolicy`. Pure.
 * @param services names of services in its environment, at least one
 */
export function boundServicesPolicy(identity: FunctionIdentity, services: readonly string[]): NetworkPolicy {
  const { id, name, namespace } = identity;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: boundServicesPolicyName(name), namespace, labels: workloadLabels(workloadOf(identity)) },
    spec: {
      podSelector: { matchLabels: { [idLabel]: id } },
      policyTypes: ['Egress'],
      ingress: [],
      egress: [
        {
          to: services.map((service) => ({
            podSelector: { matchLabels: { [kindLabel]: 'Service', [appLabel]: service } },
          })),
        },
      ],
    },
  };
}
