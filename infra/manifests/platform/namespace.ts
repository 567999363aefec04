import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemNamespace } from '../../../runtime/domain/labels.ts';
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
