import type { KubeObject, ObjectMeta } from '../../runtime/contracts/kubernetes.ts';
import type { AppSpec, Release } from '../../runtime/contracts/resources/app.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  podLabels,
  releaseAnnotation,
  servingSelector,
  systemNamespace,
  workloadLabels,
} from '../../runtime/domain/labels.ts';
import { spellingsPattern } from './header-spellings.ts';

/** Everything that an app's objects are made of. */
export interface AppManifestInput {
  id: Id;
  name: string;
  namespace: string;
  spec: Pick<AppSpec, 'port' | 'replicas' | 'healthPath'>;
  release: Release;
  /** The public host, claimed for this app. */
  host: string;
  /** Traefik's entry points that serve public routes. */
  entryPoints: readonly string[];
  /** Whether the route demands an API key. */
  gated: boolean;
}

/** Seconds without progress after which a rollout has failed. */
export const progressDeadlineSeconds = 120;
/** Seconds that a pod serves on after it is told to go: endpoints and the ingress hear of it meanwhile. */
const lingerSeconds = 3;
/** The ingress's names in the container and Service. */
const portName = 'http';

const keyHeader = 'X-API-Key';
const consumerHeaders = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name'];
/** What the plan's limits leave, for the app (IETF draft-ietf-httpapi-ratelimit-headers). */
const limitHeaders = ['RateLimit', 'RateLimit-Policy'];
/** Set by the checker or by nobody; the key itself by nobody, so that no app sees key material. */
const checkedHeaders = [...consumerHeaders, ...limitHeaders, keyHeader];
/**
 * Traefik tells the checker the method and the path in these. Behind a trusted proxy it would believe what the client
 * wrote there, and a client could pass for a preflight.
 */
const claimedHeaders = ['X-Forwarded-Method', 'X-Forwarded-Uri'];
/** An app that speaks HTTP/2 without TLS needs it to turn a request into a tunnel for requests that nobody checks. */
const tunnelHeader = 'HTTP2-Settings';

function metadata({ id, name, namespace }: AppManifestInput, objectName = name): ObjectMeta {
  return { name: objectName, namespace, labels: workloadLabels({ kind: 'App', name, id }) };
}

/** The pods, of one release at a time; an older one serves until as many newer pods are ready. Pure. */
export function appDeployment(input: AppManifestInput): KubeObject {
  const { id, name, spec, release } = input;
  const workload = { kind: 'App' as const, name, id };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadata(input),
    spec: {
      replicas: spec.replicas,
      revisionHistoryLimit: 2,
      progressDeadlineSeconds,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: servingSelector(workload) },
      template: {
        metadata: {
          labels: podLabels(workload, 'serve'),
          // New with every release, so that the same image deployed again still makes new pods.
          annotations: { [releaseAnnotation]: String(release.generation) },
        },
        spec: {
          automountServiceAccountToken: false,
          // Variables of every Service in the namespace would change what a pod sees by who lives beside it.
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 30,
          // Ordinary images run as root and change user themselves: an environment enforces `baseline`, not `restricted`.
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [appContainer(input)],
        },
      },
    },
  };
}

function appContainer({ spec, release }: AppManifestInput): object {
  return {
    name: 'app',
    image: imageOf(release),
    ports: [{ name: portName, containerPort: spec.port, protocol: 'TCP' }],
    env: [{ name: 'PORT', value: String(spec.port) }],
    ...(release.envSecret !== undefined && { envFrom: [{ secretRef: { name: release.envSecret } }] }),
    resources: { requests: { cpu: '20m', memory: '64Mi' } },
    readinessProbe: {
      ...(spec.healthPath === undefined
        ? { tcpSocket: { port: portName } }
        : { httpGet: { path: spec.healthPath, port: portName } }),
      periodSeconds: 2,
      timeoutSeconds: 2,
      failureThreshold: 3,
    },
    lifecycle: { preStop: { sleep: { seconds: lingerSeconds } } },
    // With the crash's last lines in the pod's status, a failed rollout can say why.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: { allowPrivilegeEscalation: false },
  };
}

/** A tag can be moved, a digest cannot: where the release knows it, exactly that image runs. */
function imageOf({ image, digest }: Release): string {
  return digest === undefined || image.includes('@') ? image : `${image}@${digest}`;
}

/** The address inside the cluster, port 80. It has no gate (spec.md §4.1). Pure. */
export function appService(input: AppManifestInput): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(input),
    spec: {
      selector: servingSelector({ kind: 'App', name: input.name }),
      ports: [{ name: portName, port: 80, targetPort: portName, protocol: 'TCP' }],
    },
  };
}

/** The public route. Middlewares run in the order given: what clients may not send goes before the checker adds it. Pure. */
export function appRoute(input: AppManifestInput): KubeObject {
  const { name, host, entryPoints, gated } = input;
  const middlewares = [stripName(name), gateName(name)].map((middleware) => ({ name: middleware }));
  return {
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'IngressRoute',
    metadata: metadata(input),
    spec: {
      entryPoints: [...entryPoints],
      routes: [
        {
          kind: 'Rule',
          match: `Host(\`${host}\`)`,
          services: [{ name, port: 80 }],
          ...(gated && { middlewares }),
        },
      ],
    },
  };
}

/**
 * The gate of the route: first it removes what only the checker and Traefik may say, then it asks the checker. They lie
 * beside the IngressRoute and call the checker by its address, so that Traefik needs no cross-namespace references. Pure.
 */
export function appMiddlewares(input: AppManifestInput): KubeObject[] {
  const { id, name } = input;
  const { apiVersion, kind } = { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware' };
  const removed = [...consumerHeaders, ...limitHeaders, ...claimedHeaders, tunnelHeader];
  return [
    {
      apiVersion,
      kind,
      metadata: metadata(input, stripName(name)),
      // An empty value removes the header.
      spec: { headers: { customRequestHeaders: Object.fromEntries(removed.map((header) => [header, ''])) } },
    },
    {
      apiVersion,
      kind,
      metadata: metadata(input, gateName(name)),
      spec: {
        forwardAuth: {
          address: `http://svc-authz.${systemNamespace}.svc/authorize?app=${id}`,
          // X-Forwarded-For as the entry point vouches for it (it empties what an untrusted client sent), and not only
          // its last hop: keys may be limited to addresses.
          trustForwardHeader: true,
          // The client's cookies and bodies are not the checker's business.
          authRequestHeaders: [keyHeader, 'Origin', 'Access-Control-Request-Method'],
          authResponseHeaders: checkedHeaders,
          // Of the request every spelling is removed, then the checker's own are added.
          authResponseHeadersRegex: spellingsPattern(checkedHeaders),
        },
      },
    },
  ];
}

function stripName(app: string): string {
  return `${app}-gate-strip`;
}

function gateName(app: string): string {
  return `${app}-gate`;
}
