import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import { systemObject, type Manifest } from './object.ts';

/**
 * The namespace of the platform's own processes. The API server refuses a pod in it that is not as `restricted` wants.
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
export function systemNamespaceManifest(): Manifest {
  return systemObject(
    kinds.Namespace,
    systemNamespace,
    {},
    {
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    },
  );
}

/**
 * The namespace of builds. A build without rights on the node works in a user namespace of its own, which neither
 * `restricted` nor `baseline` lets it make; nobody but the platform makes pods here.
 */
export function buildNamespaceManifest(): Manifest {
  return systemObject(kinds.Namespace, buildNamespace, {}, { 'pod-security.kubernetes.io/enforce': 'privileged' });
}
