/** The texts of the promotion of an app. */
export const promotionText = {
  promote: 'Promote',
  title: (app: string) => `Promote ${app} to another environment`,
  target: 'Target environment',
  image: 'Image',
  revision: (revision: number) => `(revision ${revision})`,
  nothing: (environment: string) =>
    `No deployment has succeeded in ${environment} yet, so there is nothing to promote.`,
  now: (environment: string) => `Image in ${environment} now`,
  comes: 'Comes along',
  cannot: 'Cannot come along',
  stays: 'Stays unchanged there',
  deploys: (environment: string) => `The app exists in ${environment}. The image that runs here is deployed to it.`,
  creates: (environment: string) => `The app does not exist in ${environment}. It is created there.`,
  comesImage: 'the image, by digest, with its commit',
  comesSettings:
    'the image; port, health path, limits, replicas, variables, bindings, security headers, a gate that is on, and volumes that exist there',
  staysList: 'variables, secrets, settings, bindings, hosts, volumes and gate',
  cannotList: 'secrets, hosts, the git source, API keys, and data of volumes and services',
  secrets: 'Secrets of the new app',
  secretsHint: (environment: string) =>
    `Values are never copied. Enter those for ${environment}. A secret that stays empty can be set later, unless a variable refers to it.`,
  secret: (name: string) => `Value of ${name}`,
  servicesMissing: (environment: string, names: string) =>
    `${environment} does not have the services that the app is bound to: ${names}. Create them first.`,
  volumesMissing: (environment: string, names: string) =>
    `${environment} does not have the volumes ${names}. The app is created without them.`,
  accepted: (revision: number, environment: string) =>
    `The promotion is accepted as revision ${revision} of ${environment}.`,
  created: (environment: string) => `The app is created in ${environment}, and its first deployment follows.`,
  show: (app: string, environment: string) => `Show ${app} in ${environment}`,
  notCopied: 'To set up there',
  missing: {
    secret: (name: string) => `The secret ${name}:`,
    host: (host: string) => `A host in place of ${host}:`,
    volume: (name: string) => `The volume ${name}:`,
    mounts: 'Then mount the volumes:',
    git: 'The git source. Promote again to deploy the next images.',
    keys: 'API keys, which the app requires:',
  },
} as const;
