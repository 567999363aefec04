/** What a person may do in one project; each role may do what those before it may (docs/reference/roles.md). */
export const projectRoles = ['viewer', 'deployer', 'admin'] as const;

export type ProjectRole = (typeof projectRoles)[number];

/** What a person may do on the platform; an admin may do everything in every project, too. */
export const platformRoles = ['member', 'admin'] as const;

export type PlatformRole = (typeof platformRoles)[number];

/** Whether a role allows what needs another. */
export function includesRole(role: ProjectRole, needed: ProjectRole): boolean {
  return projectRoles.indexOf(role) >= projectRoles.indexOf(needed);
}
