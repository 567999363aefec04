import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import { resolveEnvironment, type Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { getLivingWorkload, getWorkload } from './workload-objects.ts';

/** What says which app a request is about: `/projects/:project/apps/:app` with `?environment=`. */
export interface AppRequest {
  params: { project: string; app: string };
  query: { environment?: string | undefined };
}

/** An app with the environment it lies in. */
export interface FoundApp {
  environment: Environment;
  app: Stored<App>;
}

/** The app of a request, being deleted or not. @throws Problem as {@link resolveEnvironment} does, and `not_found` */
export async function findApp(kube: KubeClient, { params, query }: AppRequest): Promise<FoundApp> {
  const environment = await resolveEnvironment(kube, params.project, query.environment);
  return { environment, app: await getWorkload<App>(kube, 'App', environment, params.app) };
}

/** The app of a request. @throws Problem as {@link findApp} does, and `not_ready` while it is being deleted */
export async function findLivingApp(kube: KubeClient, { params, query }: AppRequest): Promise<FoundApp> {
  const environment = await resolveEnvironment(kube, params.project, query.environment);
  return { environment, app: await getLivingWorkload<App>(kube, 'App', environment, params.app) };
}
