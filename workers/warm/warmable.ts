import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import { warmTemplate, type WarmTemplate } from '../../infra/manifests/warm-pool.ts';
import { boundServices } from '../../runtime/contracts/resources/binding.ts';
import { functionLimits, inlineCode, type FunctionResource } from '../../runtime/contracts/resources/function.ts';

/**
 * The template of generic pods that a function can start in; undefined for one that starts cold or never does. A policy
 * selects the pods of a function with bindings, and needs time until it is in force for a pod with new labels. Pure.
 */
export function warmTemplateOf(
  { spec, metadata }: FunctionResource,
  { spec: { template } }: FunctionDeployment,
): WarmTemplate | undefined {
  const code = inlineCode(spec);
  const startsFromZero = spec.trigger === 'http' && functionLimits(spec).minReplicas === 0;
  const isBound = boundServices(spec).length > 0;
  if (!code || !startsFromZero || isBound || metadata.deletionTimestamp !== undefined) return undefined;
  return warmTemplate(template, code.runtime);
}
