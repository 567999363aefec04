import type { Answer, Call } from './answers.ts';

const core = '/api/v1/namespaces/{ns}';
const apps = '/apis/apps/v1/namespaces/{ns}';
const batch = '/apis/batch/v1/namespaces/{ns}';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const strategic = 'application/strategic-merge-patch+json';

/** Written by the deployment controller, and read by `kubectl rollout history` only. */
const revision = 'metadata/annotations';

type Answers = ReadonlyMap<string, Answer>;

const body = (answers: Answers, name: string) => answers.get(name)?.body;
const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: name, tier: 'a' } },
  data: { a: '1' },
  ...more,
});
const template = (more: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      {
        name: 'web',
        image: 'registry.example/web:1',
        ports: [{ containerPort: 8080 }],
        env: [
          { name: 'A', value: '1' },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        ],
        resources: { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: 0.25 } },
        readinessProbe: { httpGet: { port: 8080 } },
        volumeMounts: [{ name: 'config', mountPath: '/config' }],
      },
    ],
    volumes: [
      { name: 'config', configMap: { name: 'one' } },
      { name: 'scratch', emptyDir: {} },
    ],
    ...more,
  },
});
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  // Zero, so that controllers do not affect the comparison.
  spec: { replicas: 0, selector: { matchLabels: { app: 'web' } }, template: template() },
});
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'once' },
  spec: { suspend: true, template: template({ restartPolicy: 'Never' }) },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'parrots.{ns}.example.com' },
  spec: {
    group: '{ns}.example.com',
    scope: 'Namespaced',
    names: { plural: 'parrots', kind: 'Parrot', shortNames: ['pt'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Colour', type: 'string', jsonPath: '.spec.colour' },
          { name: 'Words', type: 'integer', jsonPath: '.spec.words', priority: 1 },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['colour'],
                'x-kubernetes-validations': [
                  {
                    rule: 'self.words <= 100 || self.colour == "green"',
                    message: 'only green ones know more than 100 words',
                  },
                  { rule: 'self.colour == oldSelf.colour', message: 'a colour stays' },
                ],
                properties: {
                  colour: { type: 'string', enum: ['green', 'blue'], maxLength: 10 },
                  words: { type: 'integer', minimum: 1, maximum: 1000, default: 5 },
                  name: { type: 'string', pattern: '^[a-z]+$', minLength: 2 },
                  toys: {
                    type: 'array',
                    maxItems: 2,
                    items: {
                      type: 'object',
                      required: ['id'],
                      properties: { id: { type: 'string' }, loud: { type: 'boolean', default: true } },
                    },
                  },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};
const parrots = '/apis/{ns}.example.com/v1/namespaces/{ns}/parrots';
const parrot = (name: string, spec: object, more: object = {}) => ({
  apiVersion: '{ns}.example.com/v1',
  kind: 'Parrot',
  metadata: { name },
  spec,
  ...more,
});

const owned = (
  name: string,
  owner: { kind: string; apiVersion: string; metadata: { name: string; uid: string } },
  finalizers?: string[],
) => ({
  ...configMap(name),
  metadata: {
    name,
    ...(finalizers && { finalizers }),
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: owner.metadata.name,
        uid: owner.metadata.uid,
        blockOwnerDeletion: true,
      },
    ],
  },
});

/** The requests to both servers, in this order. */
export const calls: readonly Call[] = [
  {
    name: 'namespace',
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: '{ns}', labels: { team: 'blue' } } },
  },
  { name: 'default account', path: `${core}/serviceaccounts/default`, until: ({ status }) => status === 200 },
  { name: 'root certificate', path: `${core}/configmaps/kube-root-ca.crt`, until: ({ status }) => status === 200 },

  { name: 'create', method: 'POST', path: `${core}/configmaps`, body: configMap('one') },
  { name: 'create again', method: 'POST', path: `${core}/configmaps`, body: configMap('one') },
  { name: 'create without a name', method: 'POST', path: `${core}/configmaps`, body: configMap('') },
  {
    name: 'create with a bad name',
    compared: 'reason',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('Not_A_Name'),
  },
  {
    name: 'create with a bad label',
    compared: 'reason',
    method: 'POST',
    path: `${core}/configmaps`,
    body: { metadata: { name: 'bad', labels: { a: 'not a label' } } },
  },
  {
    name: 'create with a version',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('versioned', { metadata: { name: 'versioned', resourceVersion: '1' } }),
  },
  {
    name: 'create in another namespace',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('x', { metadata: { name: 'x', namespace: 'default' } }),
  },
  {
    name: 'create in no namespace',
    method: 'POST',
    path: '/api/v1/namespaces/{ns}-none/configmaps',
    body: configMap('x'),
  },
  {
    name: 'create another kind',
    compared: 'reason',
    method: 'POST',
    path: `${core}/configmaps`,
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } },
  },
  {
    name: 'create with an unknown field, strictly',
    method: 'POST',
    path: `${core}/configmaps?fieldValidation=Strict`,
    body: configMap('x', { datum: {} }),
  },
  {
    name: 'create with a wrong type',
    compared: 'reason',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('x', { data: { a: 1 } }),
  },
  { name: 'dry run', method: 'POST', path: `${core}/configmaps?dryRun=All`, body: configMap('dry') },
  { name: 'get after a dry run', path: `${core}/configmaps/dry` },
  { name: 'get', path: `${core}/configmaps/one` },
  { name: 'get nothing', path: `${core}/configmaps/none` },
  { name: 'get an unknown resource', path: `${core}/parrots/one` },
  { name: 'get an unknown group', path: '/apis/nobody.example.com/v1/things' },
  {
    name: 'replace',
    method: 'PUT',
    path: `${core}/configmaps/one`,
    body: (a) => ({ ...body(a, 'create'), data: { a: '2' } }),
  },
  {
    name: 'replace with an old version',
    method: 'PUT',
    path: `${core}/configmaps/one`,
    body: (a) => ({ ...body(a, 'create'), data: {} }),
  },
  {
    name: 'replace without a version',
    method: 'PUT',
    path: `${core}/configmaps/one`,
    body: configMap('one', { data: { b: '3' } }),
  },
  {
    name: 'replace by the same',
    method: 'PUT',
    path: `${core}/configmaps/one`,
    body: (a) => body(a, 'replace without a version'),
  },
  { name: 'replace under another name', method: 'PUT', path: `${core}/configmaps/one`, body: configMap('two') },
  {
    name: 'replace another uid',
    compared: 'reason',
    method: 'PUT',
    path: `${core}/configmaps/one`,
    body: configMap('one', { metadata: { name: 'one', uid: '019a0000-0000-7000-8000-000000000001' } }),
  },
  { name: 'replace nothing', method: 'PUT', path: `${core}/configmaps/none`, body: configMap('none') },
  {
    name: 'merge patch',
    method: 'PATCH',
    path: `${core}/configmaps/one`,
    body: { data: { b: null, c: '4' }, metadata: { labels: { tier: 'b' } } },
  },
  {
    name: 'merge patch with an old version',
    method: 'PATCH',
    path: `${core}/configmaps/one`,
    body: (a) => ({ metadata: { resourceVersion: body(a, 'create').metadata.resourceVersion }, data: { d: '5' } }),
  },
  { name: 'merge patch of nothing', method: 'PATCH', path: `${core}/configmaps/none`, body: { data: {} } },
  { name: 'immutable', method: 'POST', path: `${core}/configmaps`, body: configMap('fixed', { immutable: true }) },
  { name: 'change what is immutable', method: 'PATCH', path: `${core}/configmaps/fixed`, body: { data: { a: '2' } } },
  { name: 'make it mutable', method: 'PATCH', path: `${core}/configmaps/fixed`, body: { immutable: false } },
  {
    name: 'label what is immutable',
    method: 'PATCH',
    path: `${core}/configmaps/fixed`,
    body: { metadata: { labels: { tier: 'c' } } },
  },

  {
    name: 'secret',
    method: 'POST',
    path: `${core}/secrets`,
    body: { metadata: { name: 'token' }, stringData: { a: 'text' }, data: { b: 'AAE=' }, immutable: true },
  },
  {
    name: 'secret that is no base64',
    compared: 'reason',
    method: 'POST',
    path: `${core}/secrets`,
    body: { metadata: { name: 'bad' }, data: { b: '***' } },
  },
  {
    name: 'secret of another type',
    method: 'PATCH',
    path: `${core}/secrets/token`,
    body: { type: 'example.com/other' },
  },
  { name: 'secret changed', method: 'PATCH', path: `${core}/secrets/token`, body: { data: { b: 'AAI=' } } },
  { name: 'secret deleted', method: 'DELETE', path: `${core}/secrets/token` },

  { name: 'list', path: `${core}/configmaps?labelSelector=app` },
  { name: 'list by label', path: `${core}/configmaps?labelSelector=app%3Done` },
  { name: 'list by set', path: `${core}/configmaps?labelSelector=app,tier%20notin%20(b,d)` },
  { name: 'list by absence', path: `${core}/configmaps?labelSelector=!app` },
  { name: 'list by a bad selector', compared: 'reason', path: `${core}/configmaps?labelSelector=a%3D%3D%3Db` },
  { name: 'list by name', path: `${core}/configmaps?fieldSelector=metadata.name%3Done` },
  { name: 'list by an unknown field', path: `${core}/configmaps?fieldSelector=data.a%3D1` },
  { name: 'first page', path: `${core}/configmaps?limit=2` },
  { name: 'list secrets by type', path: `${core}/secrets?fieldSelector=type%3DOpaque` },
  { name: 'table', path: `${core}/configmaps?labelSelector=app%3Done`, accept: table },

  { name: 'deployment', method: 'POST', path: `${apps}/deployments`, body: deployment('web') },
  {
    name: 'deployment without a matching selector',
    method: 'POST',
    path: `${apps}/deployments`,
    body: { ...deployment('bad'), spec: { ...deployment('bad').spec, selector: { matchLabels: { app: 'other' } } } },
  },
  {
    name: 'deployment without anything',
    method: 'POST',
    path: `${apps}/deployments`,
    body: { metadata: { name: 'bad' }, spec: {} },
  },
  {
    name: 'deployment with a wrong type',
    compared: 'reason',
    method: 'POST',
    path: `${apps}/deployments`,
    body: { metadata: { name: 'bad' }, spec: { replicas: 'two' } },
  },
  {
    name: 'deployment with unknown fields, strictly',
    method: 'POST',
    path: `${apps}/deployments?fieldValidation=Strict`,
    body: { ...deployment('bad'), spec: { ...deployment('bad').spec, replica: 3 } },
  },
  {
    name: 'deployment settled',
    ignored: [revision],
    path: `${apps}/deployments/web`,
    until: ({ body: { status } }) => status?.observedGeneration === 1,
  },
  { name: 'scale', path: `${apps}/deployments/web/scale` },
  {
    name: 'scale by patch',
    method: 'PATCH',
    path: `${apps}/deployments/web/scale?dryRun=All`,
    body: { spec: { replicas: 3 } },
  },
  {
    name: 'scale with an old version',
    method: 'PUT',
    path: `${apps}/deployments/web/scale`,
    body: {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'web', namespace: '{ns}', resourceVersion: '1' },
      spec: { replicas: 1 },
    },
  },
  { name: 'scale nothing', path: `${apps}/deployments/none/scale` },
  {
    name: 'change the selector',
    method: 'PATCH',
    path: `${apps}/deployments/web`,
    body: { spec: { selector: { matchLabels: { app: 'other' } } } },
  },
  {
    name: 'change the history',
    ignored: [revision],
    method: 'PATCH',
    path: `${apps}/deployments/web?dryRun=All`,
    body: { spec: { revisionHistoryLimit: 2 } },
  },
  {
    name: 'status by patch',
    ignored: [revision],
    method: 'PATCH',
    path: `${apps}/deployments/web/status?dryRun=All`,
    body: { spec: { replicas: 7 }, status: { collisionCount: 3 } },
  },

  { name: 'job', method: 'POST', path: `${batch}/jobs`, body: job },
  {
    name: 'job that restarts always',
    method: 'POST',
    path: `${batch}/jobs`,
    body: { metadata: { name: 'bad' }, spec: { template: template() } },
  },
  {
    name: 'change a job',
    compared: 'reason',
    method: 'PATCH',
    path: `${batch}/jobs/once`,
    body: { spec: { template: { spec: { restartPolicy: 'OnFailure' } } } },
  },
  {
    name: 'cron job',
    method: 'POST',
    path: `${batch}/cronjobs`,
    body: {
      metadata: { name: 'nightly' },
      spec: {
        schedule: '0 3 * * *',
        timeZone: 'Europe/Vienna',
        suspend: true,
        jobTemplate: { spec: { template: template({ restartPolicy: 'OnFailure' }) } },
      },
    },
  },
  { name: 'cron jobs as a table', path: `${batch}/cronjobs`, accept: table },

  {
    name: 'service',
    method: 'POST',
    path: `${core}/services`,
    body: {
      metadata: { name: 'web' },
      spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  },
  { name: 'services as a table', path: `${core}/services`, accept: table },
  {
    name: 'claim',
    ignored: ['metadata/finalizers'],
    method: 'POST',
    path: `${core}/persistentvolumeclaims`,
    body: {
      metadata: { name: 'data' },
      spec: {
        storageClassName: 'none',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1024Mi' } },
      },
    },
  },
  {
    name: 'change a claim',
    compared: 'reason',
    method: 'PATCH',
    path: `${core}/persistentvolumeclaims/data`,
    body: { spec: { accessModes: ['ReadWriteMany'] } },
  },
  {
    name: 'network policy',
    method: 'POST',
    path: '/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies',
    body: { metadata: { name: 'deny' }, spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }], egress: [{}] } },
  },
  {
    name: 'role binding',
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings',
    body: {
      metadata: { name: 'view' },
      roleRef: { kind: 'Role', name: 'view' },
      subjects: [
        { kind: 'ServiceAccount', name: 'default', namespace: '{ns}' },
        { kind: 'Group', name: 'all' },
      ],
    },
  },
  {
    name: 'change a role reference',
    compared: 'reason',
    method: 'PATCH',
    path: '/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings/view',
    body: { roleRef: { name: 'edit' } },
  },
  {
    name: 'lease',
    method: 'POST',
    path: '/apis/coordination.k8s.io/v1/namespaces/{ns}/leases',
    body: { metadata: { name: 'lead' }, spec: { holderIdentity: '', leaseDurationSeconds: 15 } },
  },
  {
    name: 'replace a lease without a version',
    method: 'PUT',
    path: '/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/lead',
    body: { metadata: { name: 'lead' }, spec: { holderIdentity: 'me' } },
  },
  {
    name: 'event',
    method: 'POST',
    path: `${core}/events`,
    body: {
      metadata: { name: 'e1' },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', name: 'one', namespace: '{ns}' },
      reason: 'Tested',
      message: 'it was',
      type: 'Normal',
      source: { component: 'test' },
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
    },
  },
  { name: 'events of an object', path: `${core}/events?fieldSelector=involvedObject.name%3Done,type%3DNormal` },
  { name: 'events as a table', path: `${core}/events?fieldSelector=reason%3DTested`, accept: table },

  {
    name: 'definition',
    compared: 'reason',
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: definition,
  },
  {
    name: 'definition established',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parrots.{ns}.example.com',
    until: ({ body: { status } }) =>
      status?.conditions?.every((condition: { status: string }) => condition.status === 'True'),
  },
  { name: 'resources of the group', path: '/apis/{ns}.example.com/v1', until: ({ status }) => status === 200 },
  {
    name: 'parrot',
    method: 'POST',
    path: parrots,
    until: ({ status }) => status !== 404,
    body: parrot('polly', { colour: 'green', toys: [{ id: 'bell' }], unknown: 1 }, { status: { dropped: true } }),
  },
  {
    name: 'parrot of the wrong shape',
    method: 'POST',
    path: parrots,
    body: parrot('bad', { colour: 'red', words: 'many', name: 'A', toys: [{ loud: 'x' }] }),
  },
  { name: 'parrot without a colour', method: 'POST', path: parrots, body: parrot('bad', { words: 0 }) },
  {
    name: 'parrot without a spec',
    method: 'POST',
    path: parrots,
    body: { apiVersion: '{ns}.example.com/v1', kind: 'Parrot', metadata: { name: 'bad' } },
  },
  {
    name: 'parrot with too many toys',
    method: 'POST',
    path: parrots,
    body: parrot('bad', { colour: 'blue', toys: [{ id: 'a' }, { id: 'a' }, { id: 'b' }] }),
  },
  {
    name: 'parrot that breaks a rule',
    method: 'POST',
    path: parrots,
    body: parrot('bad', { colour: 'blue', words: 200 }),
  },
  {
    name: 'parrot with an unknown field, strictly',
    method: 'POST',
    path: `${parrots}?fieldValidation=Strict`,
    body: parrot('bad', { colour: 'blue', unknown: 1 }),
  },
  {
    name: 'parrot of another version',
    method: 'POST',
    path: parrots,
    body: { ...parrot('bad', {}), apiVersion: '{ns}.example.com/v2' },
  },
  { name: 'parrot repainted', method: 'PATCH', path: `${parrots}/polly`, body: { spec: { colour: 'blue' } } },
  { name: 'parrot taught', method: 'PATCH', path: `${parrots}/polly`, body: { spec: { words: 50 } } },
  { name: 'parrot labelled', method: 'PATCH', path: `${parrots}/polly`, body: { metadata: { labels: { a: 'b' } } } },
  {
    name: 'parrot replaced without a version',
    method: 'PUT',
    path: `${parrots}/polly`,
    body: parrot('polly', { colour: 'green' }),
  },
  {
    name: 'parrot status',
    method: 'PATCH',
    path: `${parrots}/polly/status`,
    body: { spec: { words: 99 }, status: { conditions: [{ type: 'Ready', status: 'True' }] } },
  },
  {
    name: 'parrot by strategic merge',
    compared: 'reason',
    method: 'PATCH',
    path: `${parrots}/polly`,
    body: {},
    contentType: strategic,
  },
  { name: 'parrots', path: parrots },
  { name: 'parrots as a table', path: parrots, accept: table },
  { name: 'a parrot as a table', path: `${parrots}/polly`, accept: table },
  { name: 'parrot scale', path: `${parrots}/polly/scale` },

  {
    name: 'finalizer',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('held', { metadata: { name: 'held', finalizers: ['example.com/hold'] } }),
  },
  {
    name: 'bad finalizer',
    method: 'POST',
    path: `${core}/configmaps`,
    body: configMap('bad', { metadata: { name: 'unheld', finalizers: ['hold'] } }),
  },
  {
    name: 'delete what is held',
    method: 'DELETE',
    path: `${core}/configmaps/held`,
    body: { propagationPolicy: 'Background' },
  },
  { name: 'delete it again', method: 'DELETE', path: `${core}/configmaps/held` },
  {
    name: 'add a finalizer to what goes',
    method: 'PATCH',
    path: `${core}/configmaps/held`,
    body: { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } },
  },
  { name: 'let it go', method: 'PATCH', path: `${core}/configmaps/held`, body: { metadata: { finalizers: null } } },
  { name: 'it is gone', path: `${core}/configmaps/held` },
  {
    name: 'held parrot',
    method: 'POST',
    path: parrots,
    body: { ...parrot('kept', { colour: 'blue' }), metadata: { name: 'kept', finalizers: ['example.com/hold'] } },
  },
  { name: 'delete the held parrot', method: 'DELETE', path: `${parrots}/kept` },
  { name: 'let the parrot go', method: 'PATCH', path: `${parrots}/kept`, body: { metadata: { finalizers: [] } } },
  {
    name: 'delete with another uid',
    method: 'DELETE',
    path: `${core}/configmaps/one`,
    body: { preconditions: { uid: '019a0000-0000-7000-8000-000000000001' } },
  },
  {
    name: 'delete with an old version',
    method: 'DELETE',
    path: `${core}/configmaps/one`,
    body: (a) => ({ preconditions: { resourceVersion: body(a, 'create').metadata.resourceVersion } }),
  },
  { name: 'delete', method: 'DELETE', path: `${core}/configmaps/one` },
  { name: 'delete nothing', method: 'DELETE', path: `${core}/configmaps/one` },
  {
    name: 'delete by an unknown policy',
    method: 'DELETE',
    path: `${core}/configmaps/fixed`,
    body: { propagationPolicy: 'Sideways' },
  },
  {
    name: 'delete a deployment in the foreground',
    ignored: [revision],
    method: 'DELETE',
    path: `${apps}/deployments/web?dryRun=All`,
    body: { propagationPolicy: 'Foreground' },
  },

  { name: 'owner', method: 'POST', path: `${core}/configmaps`, body: configMap('owner') },
  { name: 'owned', method: 'POST', path: `${core}/configmaps`, body: (a) => owned('owned', body(a, 'owner')) },
  {
    name: 'delete the owner',
    method: 'DELETE',
    path: `${core}/configmaps/owner`,
    body: { propagationPolicy: 'Background' },
  },
  { name: 'the owned one goes', path: `${core}/configmaps/owned`, until: ({ status }) => status === 404 },
  { name: 'second owner', method: 'POST', path: `${core}/configmaps`, body: configMap('owner') },
  {
    name: 'held and owned',
    method: 'POST',
    path: `${core}/configmaps`,
    body: (a) => owned('owned', body(a, 'second owner'), ['example.com/hold']),
  },
  {
    name: 'delete in the foreground',
    method: 'DELETE',
    path: `${core}/configmaps/owner`,
    body: { propagationPolicy: 'Foreground' },
  },
  { name: 'the owner waits', path: `${core}/configmaps/owner` },
  {
    name: 'the owned one is held',
    path: `${core}/configmaps/owned`,
    // Deleted in the foreground as well, until the garbage collector has found that it owns nothing.
    until: ({ body: { metadata } }) =>
      metadata?.deletionTimestamp !== undefined && !metadata.finalizers.includes('foregroundDeletion'),
  },
  {
    name: 'let the owned one go',
    method: 'PATCH',
    path: `${core}/configmaps/owned`,
    body: { metadata: { finalizers: null } },
  },
  { name: 'then the owner goes', path: `${core}/configmaps/owner`, until: ({ status }) => status === 404 },
  { name: 'third owner', method: 'POST', path: `${core}/configmaps`, body: configMap('owner') },
  {
    name: 'orphan to be',
    method: 'POST',
    path: `${core}/configmaps`,
    body: (a) => owned('orphan', body(a, 'third owner')),
  },
  {
    name: 'delete and leave orphans',
    method: 'DELETE',
    path: `${core}/configmaps/owner`,
    body: { propagationPolicy: 'Orphan' },
  },
  { name: 'the third owner goes', path: `${core}/configmaps/owner`, until: ({ status }) => status === 404 },
  { name: 'the orphan stays', path: `${core}/configmaps/orphan` },

  { name: 'put on a collection', method: 'PUT', path: `${core}/configmaps`, body: configMap('x') },
  { name: 'post on an object', method: 'POST', path: `${core}/configmaps/fixed`, body: configMap('x') },
  { name: 'namespaced without a namespace', method: 'POST', path: '/api/v1/configmaps', body: configMap('x') },
  {
    name: 'apply in the wrong type',
    compared: 'reason',
    method: 'PATCH',
    path: `${parrots}/polly`,
    body: {},
    contentType: 'text/plain',
  },
  { name: 'watch of one', path: `${parrots}?watch=true&fieldSelector=metadata.name%3Dpolly&timeoutSeconds=1` },
  { name: 'watch with a bad version', compared: 'reason', path: `${parrots}?watch=true&resourceVersion=abc` },

  {
    name: 'delete the definition',
    method: 'DELETE',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parrots.{ns}.example.com',
  },
  {
    name: 'definition gone',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/parrots.{ns}.example.com',
    until: ({ status }) => status === 404,
  },
  { name: 'delete the namespace', method: 'DELETE', path: '/api/v1/namespaces/{ns}' },
  { name: 'namespace gone', path: '/api/v1/namespaces/{ns}', until: ({ status }) => status === 404 },
];
