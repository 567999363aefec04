import { modelSchema } from '../model-schema.ts';
import type { Column, Resource, Strategy } from '../resource.ts';

interface Definition {
  /** The client library's name of the type; `V1` and the kind by default. */
  model?: string;
  namespaced?: boolean;
  shortNames?: readonly string[];
  /** Whether `kubectl get all` shows it. */
  all?: boolean;
  generation?: boolean;
  status?: boolean;
  scale?: boolean;
  unconditionalUpdate?: boolean;
  names?: Resource['names'];
  strategy?: Strategy;
  columns?: readonly Column[];
}

/** A built-in kind: namespaced, without generation or subresources unless told. */
export function define(apiVersion: string, kind: string, plural: string, definition: Definition = {}): Resource {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: definition.shortNames ?? [],
    categories: definition.all ? ['all'] : [],
    namespaced: definition.namespaced ?? true,
    generation: definition.generation ?? false,
    status: definition.status ?? false,
    scale: definition.scale ?? false,
    unconditionalUpdate: definition.unconditionalUpdate ?? true,
    names: definition.names ?? 'subdomain',
    schema: modelSchema(definition.model ?? `V1${kind}`),
    strategy: definition.strategy ?? {},
    columns: definition.columns ?? [],
    custom: false,
  };
}
