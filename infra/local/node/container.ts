import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { timestamp } from '../controllers/objects.ts';
import { imageIdOf, publishImage } from './images.ts';
import { readLogTail } from './log-reader.ts';
import { createLogWriter, deleteOldLogs } from './logs.ts';
import { recordName } from './orphans.ts';
import { watchProbe } from './probe.ts';
import { execute, startProcessGroup, type Streams } from './process-group.ts';
import { processFamily, listeningPorts, processTable } from './process-table.ts';
import { executeInTerminal, type Terminal } from './terminal.ts';
import { podAddress, createProgram, terminationFile, type ContainerPlace, type ContainerRuntime } from './program.ts';

/** Maximum length of a termination message in characters, as in Kubernetes. */
const messageMax = 4096;
/** How long a program may take to listen before the node looks for the ports that it listens on. */
const listenMs = 3_000;

/** The image of a container is not in the store. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}

/** How a run of a container ended, as in `state.terminated`. */
export interface Termination {
  exitCode: number;
  reason: string;
  message?: string;
  startedAt: string;
  finishedAt: string;
}

/** One run of a container, from start to end. */
export interface RunningContainer {
  /** The process id of its first process. */
  readonly leader: number;
  readonly startedAt: string;
  /** The image, as in `imageID` of the pod's status. */
  readonly imageID: string;
  readonly exited: Promise<Termination>;
  /** Whether the startup probe has succeeded. */
  started(): boolean;
  ready(): boolean;
  /** A problem that does not stop the container, such as a program that listens on another port. */
  warning(): string | undefined;
  /** Runs a command in the container, or in a terminal in it. @returns its exit code @throws StartError */
  execute(command: readonly string[], signal: AbortSignal, streams?: Streams, terminal?: Terminal): Promise<number>;
  /**
   * Runs the preStop hook, sends SIGTERM, and kills the container when the grace period is over. Only the first call
   * has an effect.
   */
  stop(graceSeconds: number): Promise<void>;
  /** Kills the container immediately, also during {@link stop}. */
  kill(): void;
}

/**
 * Starts a container.
 * @param onChange called after each change of readiness, start or warning
 * @throws ImageError, ConfigError or StartError; another attempt may succeed
 */
export async function startContainer(
  runtime: ContainerRuntime,
  place: ContainerPlace,
  onChange: () => void,
): Promise<RunningContainer> {
  const { clock, images, memory } = runtime;
  const { pod, container, folder, restartCount } = place;
  const { startupProbe, readinessProbe, livenessProbe } = container;
  const image = await images.find(container.image);
  if (!image) {
    throw new ImageError(
      `Image "${container.image}" is not on this machine. Build it with: svc image build DIR -t ${container.image}`,
    );
  }
  if (place.user !== undefined) await publishImage(image);
  const program = await createProgram(runtime, place, image);
  const { metadata } = pod;
  const logs = createLogWriter({
    folder,
    restartCount,
    clock,
    watch: runtime.logWatch,
    onLines: (stream, time, lines) => runtime.collect?.({ metadata, container: container.name, stream, time }, lines),
  });
  const group = await startProcessGroup(program, {
    container: program.container,
    recordFile: join(folder, recordName),
    onOutput: (stream, chunk) => logs.write(stream, chunk),
  }).catch((error: unknown) => {
    logs.close();
    throw error;
  });
  const startedAt = timestamp(clock.now());
  const ended = new AbortController();
  const current = { started: startupProbe === undefined, ready: false, warning: undefined as string | undefined };
  current.ready = current.started && readinessProbe === undefined;
  let killReason: string | undefined;
  let stopping: Promise<void> | undefined;

  const change = (next: Partial<typeof current>) => {
    Object.assign(current, next);
    onChange();
  };
  const stop = (graceSeconds: number) => (stopping ??= endGracefully(graceSeconds));
  const endGracefully = async (graceSeconds: number) => {
    const deadline = clock.monotonic() + graceSeconds * 1000;
    const wait = (ms: number) =>
      clock.sleep(Math.max(0, Math.min(ms, deadline - clock.monotonic())), ended.signal).catch(() => undefined);
    const { sleep } = container.lifecycle?.preStop ?? {};
    if (sleep) await wait(sleep.seconds * 1000);
    group.terminate();
    await wait(Infinity);
    if (!ended.signal.aborted) group.kill();
    await exited;
  };
  const run: RunningContainer['execute'] = (command, signal, streams, terminal) => {
    const translated = { ...program, command: program.translate(command) };
    return terminal ? executeInTerminal(translated, signal, streams, terminal) : execute(translated, signal, streams);
  };
  const attempt = async (command: readonly string[], timeoutMs: number): Promise<number> => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const code = await run(command, timeout);
    return timeout.aborted ? 1 : code;
  };

  const context = { container, address: podAddress, execute: attempt, clock, signal: ended.signal };
  const restart = (graceSeconds: number | undefined) =>
    void stop(graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30);
  const watch = async () => {
    if (startupProbe) {
      const startupDone = new AbortController();
      const signal = AbortSignal.any([ended.signal, startupDone.signal]);
      await watchProbe(startupProbe, { ...context, signal }, (success) => {
        if (!success) restart(startupProbe.terminationGracePeriodSeconds);
        startupDone.abort();
        current.started = success;
      });
      if (!current.started) return;
      change({ ready: readinessProbe === undefined });
    }
    await Promise.all([
      readinessProbe && watchProbe(readinessProbe, context, (ready) => change({ ready })),
      livenessProbe &&
        watchProbe(livenessProbe, context, (success) => {
          if (!success) restart(livenessProbe.terminationGracePeriodSeconds);
        }),
      watchPorts(),
    ]);
  };
  const watchPorts = async () => {
    const declared = container.ports?.map(({ containerPort }) => containerPort) ?? [];
    while (declared.length > 0) {
      await clock.sleep(listenMs, ended.signal).catch(() => undefined);
      if (current.ready || ended.signal.aborted) break;
      const openPorts = listeningPorts(processFamily(processTable(), group.leader));
      const warning =
        openPorts.length === 0 || declared.some((port) => openPorts.includes(port))
          ? undefined
          : portWarning(openPorts, declared);
      if (warning !== current.warning) change({ warning });
    }
    if (current.warning !== undefined) change({ warning: undefined });
  };

  const limitBytes = parseBytes(container.resources?.limits?.['memory'] ?? '') ?? Infinity;
  const onExceeded = () => {
    killReason = 'OOMKilled';
    group.kill();
  };
  const unwatch = limitBytes < Infinity && memory.add({ leader: group.leader, limitBytes, onExceeded });

  const waitForEnd = async (): Promise<Termination> => {
    const exitCode = await group.exited;
    ended.abort(new Error('the container ended'));
    if (unwatch) unwatch();
    logs.close();
    current.ready = false;
    await deleteOldLogs(folder, restartCount);
    const usesLogs = exitCode !== 0 && container.terminationMessagePolicy === 'FallbackToLogsOnError';
    const written = await readFile(join(folder, terminationFile(restartCount)), 'utf8').catch(() => '');
    const message = written.slice(0, messageMax) || (usesLogs ? await readLogTail(folder, restartCount) : '');
    const reason = killReason ?? (exitCode === 0 ? 'Completed' : 'Error');
    const finishedAt = timestamp(clock.now());
    return { exitCode, reason, ...(message !== '' && { message }), startedAt, finishedAt };
  };
  const exited = waitForEnd();
  const watching = watch();
  return {
    leader: group.leader,
    startedAt,
    imageID: imageIdOf(container.image, image),
    exited: watching.then(() => exited),
    started: () => current.started,
    ready: () => current.ready,
    warning: () => current.warning,
    execute: (command, signal, ...rest) => run(command, AbortSignal.any([signal, ended.signal]), ...rest),
    stop,
    kill: () => group.kill(),
  };
}

function portWarning(open: readonly number[], declared: readonly number[]): string {
  return `the program listens on port ${[...new Set(open)].join(', ')} instead of ${declared.join(', ')}: pods share this machine's ports, so the program must listen on the port in the variable PORT`;
}
