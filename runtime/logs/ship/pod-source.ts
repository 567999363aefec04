import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { appLabel, managedByLabel, managedByValue, systemNamespace } from '../../domain/labels.ts';
import { readBytes } from '../../domain/read-bytes.ts';
import { workloadOfLabels } from '../../domain/workload-labels.ts';
import { isLabel, type LogRecord } from '../record.ts';
import { fs, https } from './builtins.ts';

const timeoutMs = 10_000;
/** Maximum bytes of an answer: the metadata of one node's pods. */
const answerMaxBytes = 16 * 1024 * 1024;

/** What the shipper has to know about a pod. */
export interface PodMetadata {
  uid: string;
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
}

/** Lists the platform's pods on this node. */
export interface PodSource {
  /** @throws Error when the API server does not answer or refuses */
  list(): Promise<PodMetadata[]>;
}

/** The API server as a pod reaches it. */
export interface PodSourceOptions {
  host: string;
  port: string;
  /** The folder of the service account's token and of the authority's certificate. */
  account: string;
  node: string;
}

/**
 * Asks for metadata only: neither the variables in a pod's spec nor its status are needed. The list comes from the API
 * server's memory. It is no watch, since new pods are noticed by their folders, and only
 * generic pods change their labels, before they print anything.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
 */
export function createPodSource({ host, port, account, node }: PodSourceOptions): PodSource {
  const query = new URLSearchParams({
    fieldSelector: `spec.nodeName=${node}`,
    labelSelector: `${managedByLabel}=${managedByValue}`,
    resourceVersion: '0',
  });
  return {
    async list() {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const options = {
          host,
          port,
          path: `/api/v1/pods?${query.toString()}`,
          ca: fs.readFileSync(join(account, 'ca.crt')),
          headers: {
            Accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
            Authorization: `Bearer ${fs.readFileSync(join(account, 'token'), 'utf8').trim()}`,
          },
          signal: AbortSignal.timeout(timeoutMs),
        };
        https.get(options, resolve).on('error', reject);
      });
      const tooLong = () => new Error('the answer of the API server is too long');
      const body = (await readBytes(response, answerMaxBytes, tooLong)).toString('utf8');
      if (response.statusCode !== 200) throw new Error(`the API server answers ${response.statusCode}`);
      const { items } = JSON.parse(body) as {
        items: { metadata: Omit<PodMetadata, 'labels'> & Partial<PodMetadata> }[] | null;
      };
      return (items ?? []).map(({ metadata: { uid, namespace, name, labels = {} } }) => ({
        uid,
        namespace,
        name,
        labels,
      }));
    },
  };
}

/** What a pod belongs to; undefined for pods whose logs are not shipped. */
export function logWorkloadOf({ namespace, labels }: PodMetadata): LogRecord['workload'] | undefined {
  if (labels[managedByLabel] !== managedByValue) return undefined;
  const workload =
    namespace === systemNamespace ? { kind: 'platform' as const, name: labels[appLabel] } : workloadOfLabels(labels);
  if (!workload || !isLabel(workload.name) || !isLabel(namespace)) return undefined;
  return { kind: workload.kind, name: workload.name };
}
