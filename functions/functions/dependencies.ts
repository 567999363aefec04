import type { WorkloadDependencies } from '../../runtime/api/workload-dependencies.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Session } from '../../runtime/http/route.ts';
import type { ObjectList } from '../../runtime/kube/kube-client.ts';

/** The dependencies of the routes of functions. */
export interface FunctionDependencies extends WorkloadDependencies {
  /** The projects in which a user has a role. */
  visibleProjects: (session: Session) => Promise<ObjectList<Project>>;
}
