import type { V1DeploymentSpec, V1DeploymentStatus, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { Json, KubeObject } from '../../runtime/contracts/kubernetes.ts';

/** The fields of a Deployment that the App controller reads. */
export interface Deployment extends KubeObject {
  spec: Pick<V1DeploymentSpec, 'replicas'> & { template: Json<V1PodTemplateSpec> };
  status?: Json<V1DeploymentStatus>;
}
