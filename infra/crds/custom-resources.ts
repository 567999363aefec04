import { buildDefinition } from './build.ts';
import { hostNameDefinition, workloadNameDefinition } from './claims.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { platformConfigDefinition } from './platform-config.ts';
import { projectDefinition } from './project.ts';
import { serviceDefinition } from './service.ts';
import { volumeDefinition } from './volume.ts';
import { appDefinition, functionDefinition, jobDefinition } from './workloads.ts';

/** All custom resources of the platform. */
export const customResourceDefinitions: readonly CustomResourceDefinition[] = [
  projectDefinition,
  appDefinition,
  functionDefinition,
  jobDefinition,
  volumeDefinition,
  buildDefinition,
  serviceDefinition,
  workloadNameDefinition,
  hostNameDefinition,
  platformConfigDefinition,
];
