import type { V1Namespace } from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import { systemObject, type Manifest } from './object.ts';

/**
 * The namespace of the platform's own processes. The API server refuses pods in it that do not meet `restricted`.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
export function systemNamespaceManifest(): Manifest {
  return systemObject<V1Namespace>(
    kinds.Namespace,
    systemNamespace,
    {},
    { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
  );
}

/**
 * The namespace of builds. A build creates a user namespace, which neither `restricted` nor `baseline` allows. Only the
 * platform creates pods in this namespace.
 */
export function buildNamespaceManifest(): Manifest {
  return systemObject<V1Namespace>(
    kinds.Namespace,
    buildNamespace,
    {},
    { 'pod-security.kubernetes.io/enforce': 'privileged' },
  );
}
