import { createHash } from 'node:crypto';
import type { Id } from './ids.ts';
import { Problem } from './problem.ts';

/** A domain outside the apps domain in which projects may choose hosts: itself and every name below it. */
export interface HostDomain {
  domain: string;
  /** The projects that may; absent: all of them. */
  projects?: readonly string[];
}

/** Whether the settings allow a project to use a host. Pure. */
export function isHostAllowed(host: string, project: string, domains: readonly HostDomain[] = []): boolean {
  return domains.some(
    ({ domain, projects }) =>
      (host === domain || host.endsWith(`.${domain}`)) && (projects === undefined || projects.includes(project)),
  );
}

/** A DNS record of the type TXT. */
export interface HostChallenge {
  name: string;
  value: string;
}

/**
 * The TXT record by which a domain's owner lets a project use a host. The value is of one project, so that it proves
 * nothing for another; it is no secret. Pure.
 */
export function hostChallenge(host: string, projectId: Id): HostChallenge {
  const token = createHash('sha256').update(`svc-challenge:${projectId}`).digest('hex').slice(0, 40);
  return { name: `_svc-challenge.${host}`, value: `svc-project=${token}` };
}

/** @param challenge the record that would prove the host; undefined where the installation accepts no proofs */
export function hostNotAllowed(host: string, project: string, challenge: HostChallenge | undefined): Problem {
  const admin = `a platform admin can allow the domain (svc platform config set --host-domain)`;
  const how = challenge
    ? `To prove that the domain is yours, create the DNS record ${challenge.name} TXT "${challenge.value}" and try again; or ${admin}.`
    : `It is outside the apps domain; ${admin}.`;
  return new Problem('host_not_allowed', `The project "${project}" may not use the host "${host}". ${how}`, {
    details: { host, ...(challenge && { challenge }) },
  });
}
