import { PassThrough, Writable } from 'node:stream';
import { rootGroup } from '../../cli/commands/root.ts';
import { runProgram } from '../../cli/program.ts';
import { createExecRoutes } from '../../functions/exec/handler.ts';
import { createOpenRuns, type OpenRuns } from '../../functions/exec/open-runs.ts';
import { createPortForwardRoutes } from '../../functions/port-forward/handler.ts';
import { createServiceRoutes } from '../../functions/services/handler.ts';
import type { PodExec } from '../../infra/local/apiserver/pod-exec.ts';
import { execute } from '../../infra/local/node/process-group.ts';
import { executeInTerminal } from '../../infra/local/node/terminal.ts';
import { customResourceDefinitions } from '../../infra/crds/custom-resources.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { podLabels, runLabel, type PodRole } from '../../runtime/domain/labels.ts';
import type { SocketLimits } from '../../runtime/http/web-sockets.ts';
import type { Authenticate, AuthorizeProject } from '../../runtime/http/route.ts';
import { applyObject } from '../../runtime/kube/children.ts';
import type { RecordAudit } from '../../runtime/records/audit-entries.ts';
import { testApi, type TestApi } from './api.ts';
import { startApi, type ApiUnderTest } from './local-api.ts';
import { recordingLog } from './log.ts';
import { environmentId, readyProject } from './objects.ts';

/** Runs the command of an exec as a process of this machine, as the node does. */
const runHere: PodExec = (_pod, { command, terminal }, streams, signal) => {
  const env = { PATH: process.env['PATH'] ?? '', GREETING: 'hello' };
  // The node's programs have further fields, which cannot be sent to another process.
  const program = { command, cwd: '/tmp', env, translate: () => [] };
  return terminal ? executeInTerminal(program, signal, streams, terminal) : execute(program, signal, streams);
};

export interface PodSessions extends ApiUnderTest {
  api: TestApi;
  /** All entries that console-api logged. */
  entries: () => Record<string, unknown>[];
  /** Creates an app, a function, a job or a service in `<project>-prod`. @returns its id */
  workload: (kind: 'App' | 'Function' | 'Job' | 'Service', name: string, project?: string) => Promise<string>;
  /** Creates a running pod of a workload. @param options.run the run that it belongs to */
  pod: (
    owner: { kind: 'App' | 'Function' | 'Job' | 'Service'; name: string; id: string; project?: string },
    options: { name: string; container: string; role?: PodRole; ready?: boolean; port?: number; run?: string },
  ) => Promise<void>;
  /** The sessions that have a run of their own. */
  openRuns: OpenRuns;
  /** Runs a command line of `svc`. */
  svc: (args: string[], options?: SvcOptions) => Promise<Ran>;
}

interface SvcOptions {
  stdin?: Buffer | PassThrough;
  /** The size of the terminal that standard output is. */
  size?: { columns: number; rows: number };
  onOutput?: (text: string, stdout: Writable) => void;
  onError?: (text: string) => void;
  /** Ctrl-C is pressed when this resolves. */
  interrupt?: Promise<void>;
}

interface Ran {
  code: number;
  stdout: Buffer;
  stderr: string;
}

interface Test {
  teardown(end: () => unknown): void;
}

const specs = {
  App: { image: 'r/api:1', port: 8080, replicas: 1, host: 'api.apps.test' },
  Function: { runtime: 'node', code: 'x', trigger: 'http', port: 8080, idleTimeoutSeconds: 300 },
  Job: { image: 'r/job:1', retries: 0 },
  Service: { type: 'postgres', storage: { size: '1Gi' } },
} as const;

/** A real API server with the projects `shop` and `blog`, and console-api's routes for sessions in pods. */
export async function podSessions(
  t: Test,
  options: {
    exec?: PodExec;
    idleMs?: number;
    socketLimits?: Partial<SocketLimits>;
    authenticate?: Authenticate;
    authorize?: AuthorizeProject;
    recordAudit?: RecordAudit;
    baseUrl?: string;
  } = {},
): Promise<PodSessions> {
  const { exec = runHere, idleMs = 60_000, ...apiOptions } = options;
  const cluster = await startApi(t, { exec });
  const { kube } = cluster;
  for (const definition of customResourceDefinitions) await applyObject(kube, definition);
  for (const object of ['shop', 'blog'].flatMap((name) => readyProject(name))) {
    const created = await kube.create(object);
    const status = (object as { status?: object }).status;
    if (status) await kube.replaceStatus({ ...created, status });
  }
  const recorded = recordingLog();
  const openRuns = createOpenRuns();
  const dependencies = { kube, clock: systemClock, idleMs, openRuns };
  const routes = [
    ...createExecRoutes(dependencies),
    ...createPortForwardRoutes(dependencies),
    ...createServiceRoutes(dependencies),
  ];
  const api = await testApi(t, { routes, log: recorded.log, ...apiOptions });

  return {
    ...cluster,
    api,
    entries: () => recorded.entries,
    async workload(kind, name, project = 'shop') {
      const id = newId();
      const labels = { 'platform.svc/id': id, 'platform.svc/environment-id': environmentId };
      const metadata = { name, namespace: `${project}-prod`, labels };
      const object = await kube.create({ apiVersion: 'platform.svc/v1', kind, metadata, spec: specs[kind] });
      const status = { phase: 'ready', host: `${name}.${project}-prod.svc`, port: 5432 };
      if (kind === 'Service') await kube.replaceStatus({ ...object, status });
      return id;
    },
    openRuns,
    async pod({ project = 'shop', ...owner }, { name, container, role = 'serve', ready = true, port, run }) {
      const labels = { ...podLabels(owner, role), ...(run !== undefined && { [runLabel]: run }) };
      const metadata = { name, namespace: `${project}-prod`, labels };
      const ports = port === undefined ? {} : { ports: [{ name: 'http', containerPort: port }] };
      const spec = { containers: [{ name: container, image: 'x:1', ...ports }] };
      const created = await kube.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
      const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
      const status: Pod['status'] = {
        phase: 'Running',
        podIP: '127.0.0.1',
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
        containerStatuses: [{ name: container, ready, restartCount: 0, state, imageID: 'x', lastState: {} }],
      };
      await kube.replaceStatus({ ...created, status });
    },
    async svc(args, { stdin = Buffer.alloc(0), size, onOutput, onError, interrupt } = {}) {
      const [stdout, stderr] = [sink(size, onOutput), sink({}, onError)];
      const input = stdin instanceof PassThrough ? stdin : new PassThrough().end(stdin);
      const code = await runProgram(rootGroup, args, {
        env: { XDG_CONFIG_HOME: '/nonexistent', SVC_API: api.url, SVC_TOKEN: 'good', SVC_PROJECT: 'shop' },
        stdin: input,
        stdout: stdout.stream,
        stderr: stderr.stream,
        onInterrupt: (listener) => {
          interrupt?.then(listener, () => undefined);
          return () => undefined;
        },
        clock: systemClock,
        version: '0.0.0',
      });
      return { code, stdout: stdout.content(), stderr: stderr.content().toString() };
    },
  };
}

function sink(size: object = {}, onOutput?: (text: string, stdout: Writable) => void) {
  const chunks: Buffer[] = [];
  const stream: Writable = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      onOutput?.(chunk.toString(), stream);
      done();
    },
  });
  return { stream: Object.assign(stream, size), content: () => Buffer.concat(chunks) };
}
