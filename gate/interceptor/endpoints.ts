import type { Logger } from 'pino';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, podFault, type Pod, type PodFault } from '../../runtime/contracts/pod.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { ObjectSource } from './object-source.ts';
import type { Probe } from './probe.ts';

/** Interval of probes while a pod is new or requests wait for it. */
const probeEveryMs = 20;
/**
 * Of all pods together: when many start at once, each waits for a processor for long, and the probes would take the
 * processors that the pods need.
 */
const probesPerSecond = 500;
/** A pod that has not responded for this long is probed less often. */
const eagerForMs = 60_000;
const patientEveryMs = 1_000;
/** A SYN that is lost before the pod's network is up is retransmitted only after 1 s; a new attempt is faster. */
const probeTimeoutMs = 100;

/** A serving pod of a function. */
export interface Endpoint {
  readonly functionId: string;
  readonly pod: string;
  readonly host: string;
  readonly port: number;
  /** Requests in flight. */
  inflight: number;
  /** Monotonic times: when the address was first seen, and when it first accepted a connection. */
  readonly seenAt: number;
  usableAt?: number;
}

export interface Endpoints {
  start(): void;
  stop(): void;
  /** The usable pod with the fewest requests; undefined without one. */
  pick(functionId: string): Endpoint | undefined;
  /** Reports that the pod refused or reset a connection. It gets no requests until it accepts a connection again. */
  suspect(endpoint: Endpoint): void;
  /** Set while the function has pods and all of them have a fault. */
  fault(functionId: string): PodFault | undefined;
  /**
   * Called with each function that has a newly usable pod or a new fault.
   * @returns a function that unsubscribes
   */
  onChange(listener: (functionId: string) => void): () => void;
}

export interface EndpointsOptions {
  pods: ObjectSource<Pod>;
  probe: Probe;
  clock: Clock;
  log: Logger;
}

interface Candidate {
  uid: string;
  endpoint: Endpoint | undefined;
  fault: PodFault | undefined;
  usable: boolean;
  probing: AbortController | undefined;
}

/**
 * The pods of all functions. A pod is usable as soon as its address accepts a TCP connection, which is earlier than the
 * kubelet's Ready and much earlier than Service endpoints. It stops being usable when it is being deleted, while its
 * preStop hook lets active requests finish.
 */
export function createEndpoints({ pods, probe, clock, log }: EndpointsOptions): Endpoints {
  const functions = new Map<string, Map<string, Candidate>>();
  const usable = new Map<string, Endpoint[]>();
  const listeners = new Set<(functionId: string) => void>();
  /** Pods that are probed now. */
  let probed = 0;
  let unsubscribe: (() => void) | undefined;

  const tell = (functionId: string) => {
    for (const listener of listeners) listener(functionId);
  };

  const index = (functionId: string) => {
    const list = [...(functions.get(functionId)?.values() ?? [])].flatMap((candidate) =>
      candidate.usable && candidate.endpoint ? [candidate.endpoint] : [],
    );
    if (list.length > 0) usable.set(functionId, list);
    else usable.delete(functionId);
  };

  /** From one probe of a pod until the next. */
  const probeInterval = (sinceMs: number): number =>
    sinceMs < eagerForMs ? Math.max(probeEveryMs, (probed * 1_000) / probesPerSecond) : patientEveryMs;

  const probeUntilUsable = async (candidate: Candidate, endpoint: Endpoint, signal: AbortSignal) => {
    const since = clock.monotonic();
    while (!signal.aborted) {
      const attemptedAt = clock.monotonic();
      const answers = await probe(endpoint.host, endpoint.port, probeTimeoutMs);
      if (signal.aborted) return;
      if (answers) {
        candidate.usable = true;
        candidate.probing = undefined;
        endpoint.usableAt ??= clock.monotonic();
        index(endpoint.functionId);
        log.debug({ functionId: endpoint.functionId, pod: endpoint.pod }, 'pod usable');
        tell(endpoint.functionId);
        return;
      }
      const every = probeInterval(clock.monotonic() - since);
      await clock.sleep(Math.max(0, attemptedAt + every - clock.monotonic()), signal).catch(() => undefined);
    }
  };

  const startProbing = (candidate: Candidate) => {
    const { endpoint } = candidate;
    if (candidate.probing || candidate.usable || !endpoint) return;
    candidate.probing = new AbortController();
    probed++;
    void probeUntilUsable(candidate, endpoint, candidate.probing.signal).finally(() => probed--);
  };

  const remove = (functionId: string, uid: string) => {
    const candidates = functions.get(functionId);
    const candidate = candidates?.get(uid);
    if (!candidates || !candidate) return;
    candidate.probing?.abort();
    candidates.delete(uid);
    if (candidates.size === 0) functions.delete(functionId);
    index(functionId);
  };

  const put = (functionId: string, pod: Stored<Pod>) => {
    const { uid, name } = pod.metadata;
    const candidates = functions.get(functionId) ?? new Map<string, Candidate>();
    functions.set(functionId, candidates);
    const candidate = candidates.get(uid) ?? {
      uid,
      endpoint: undefined,
      fault: undefined,
      usable: false,
      probing: undefined,
    };
    candidates.set(uid, candidate);
    const host = pod.status?.podIP;
    const port = pod.spec.containers[0]?.ports?.[0]?.containerPort;
    if (host !== undefined && port !== undefined && candidate.endpoint?.host !== host) {
      candidate.probing?.abort();
      candidate.probing = undefined;
      candidate.usable = false;
      candidate.endpoint = { functionId, pod: name, host, port, inflight: 0, seenAt: clock.monotonic() };
      index(functionId);
    }
    const hadFault = candidate.fault !== undefined;
    candidate.fault = podFault(pod);
    startProbing(candidate);
    if (!hadFault && candidate.fault) tell(functionId);
  };

  const take = (pod: Stored<Pod>) => {
    const functionId = pod.metadata.labels?.[idLabel];
    if (functionId === undefined) return;
    if (isPodLive(pod)) put(functionId, pod);
    else remove(functionId, pod.metadata.uid);
  };

  return {
    start() {
      unsubscribe = pods.onChange(({ type, object }) => {
        const functionId = object.metadata.labels?.[idLabel];
        if (type !== 'deleted') take(object);
        else if (functionId !== undefined) remove(functionId, object.metadata.uid);
      });
      for (const pod of pods.list()) take(pod);
    },
    stop() {
      unsubscribe?.();
      for (const candidates of functions.values()) {
        for (const candidate of candidates.values()) candidate.probing?.abort();
      }
      functions.clear();
      usable.clear();
    },
    pick(functionId) {
      const list = usable.get(functionId);
      let best = list?.[0];
      if (!list || !best || list.length === 1) return best;
      for (const endpoint of list) if (endpoint.inflight < best.inflight) best = endpoint;
      return best;
    },
    suspect(endpoint) {
      for (const candidate of functions.get(endpoint.functionId)?.values() ?? []) {
        if (candidate.endpoint !== endpoint || !candidate.usable) continue;
        candidate.usable = false;
        index(endpoint.functionId);
        startProbing(candidate);
      }
    },
    fault(functionId) {
      const candidates = functions.get(functionId);
      let first: PodFault | undefined;
      for (const candidate of candidates?.values() ?? []) {
        if (candidate.usable || !candidate.fault) return undefined;
        first ??= candidate.fault;
      }
      return first;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
