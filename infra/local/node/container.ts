import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { timestamp } from '../controllers/objects.ts';
import { imageIdOf } from './images.ts';
import { createLogWriter, forgetLogs, lastWords } from './logs.ts';
import { recordName } from './orphans.ts';
import { watchProbe } from './probe.ts';
import { execute, startProcessGroup, type Streams } from './process-group.ts';
import { familyOf, listeningPorts, processTable } from './process-table.ts';
import { podAddress, programOf, terminationFile, type ContainerPlace, type ContainerRuntime } from './program.ts';

/** What a container leaves as its message is cut off after so many characters, as Kubernetes does. */
const messageMax = 4096;
/** A program should listen after this long, or it is looked where it listens instead. */
const listenMs = 3_000;

/** The image of a container is not in the store. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}

/** How one life of a container ended, as in `state.terminated`. */
export interface Ended {
  exitCode: number;
  reason: string;
  message?: string;
  startedAt: string;
  finishedAt: string;
}

/** One life of a container, from its start to its end. */
export interface ContainerLife {
  readonly startedAt: string;
  /** Of its image, as `imageID` in the pod's status. */
  readonly imageID: string;
  readonly exited: Promise<Ended>;
  /** Whether its startup probe has succeeded. */
  started(): boolean;
  ready(): boolean;
  /** What is odd about it and no fault, such as a program that listens at another port. */
  remark(): string | undefined;
  /** Runs a command beside its program. @returns its exit code @throws StartError */
  execute(command: readonly string[], signal: AbortSignal, streams?: Streams): Promise<number>;
  /** Waits as its preStop hook says, asks it to end and kills it when the time is over. The first call counts. */
  stop(graceSeconds: number): Promise<void>;
  /** Ends it at once, also while it is being stopped. */
  kill(): void;
}

/**
 * Starts a container.
 * @param onChange called whenever readiness, start or remark changed
 * @throws ImageError, ConfigError or StartError, each of which another try may cure
 */
export async function startContainer(
  runtime: ContainerRuntime,
  place: ContainerPlace,
  onChange: () => void,
): Promise<ContainerLife> {
  const { clock, images, memory } = runtime;
  const { pod, container, folder, life } = place;
  const { startupProbe, readinessProbe, livenessProbe } = container;
  const image = await images.find(container.image);
  if (!image) {
    throw new ImageError(
      `image "${container.image}" is not on this machine; make it with "svc image build DIR -t ${container.image}"`,
    );
  }
  const program = await programOf(runtime, place, image);
  const logs = createLogWriter({ folder, life, clock });
  const group = await startProcessGroup(program, {
    container: program.container,
    recordFile: join(folder, recordName),
    onOutput: (stream, chunk) => logs.write(stream, chunk),
  }).catch((error: unknown) => {
    logs.close();
    throw error;
  });
  const startedAt = timestamp(clock.now());
  const ending = new AbortController();
  const now = { started: startupProbe === undefined, ready: false, remark: undefined as string | undefined };
  now.ready = now.started && readinessProbe === undefined;
  let killedFor: string | undefined;
  let stopping: Promise<void> | undefined;

  const change = (next: Partial<typeof now>) => {
    Object.assign(now, next);
    onChange();
  };
  const stop = (graceSeconds: number) => (stopping ??= end(graceSeconds));
  const end = async (graceSeconds: number) => {
    const deadline = clock.monotonic() + graceSeconds * 1000;
    const rest = (ms: number) =>
      clock.sleep(Math.max(0, Math.min(ms, deadline - clock.monotonic())), ending.signal).catch(() => undefined);
    const { sleep } = container.lifecycle?.preStop ?? {};
    if (sleep) await rest(sleep.seconds * 1000);
    group.terminate();
    await rest(Infinity);
    if (!ending.signal.aborted) group.kill();
    await exited;
  };
  const run: ContainerLife['execute'] = (command, signal, streams) =>
    execute({ ...program, command: program.translate(command) }, signal, streams);
  const attempt = async (command: readonly string[], timeoutMs: number): Promise<number> => {
    const late = AbortSignal.timeout(timeoutMs);
    const code = await run(command, late);
    return late.aborted ? 1 : code;
  };

  const context = { container, address: podAddress, execute: attempt, clock, signal: ending.signal };
  const restart = (graceSeconds: number | undefined) =>
    void stop(graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30);
  const watch = async () => {
    if (startupProbe) {
      const begun = new AbortController();
      const signal = AbortSignal.any([ending.signal, begun.signal]);
      await watchProbe(startupProbe, { ...context, signal }, (well) => {
        if (!well) restart(startupProbe.terminationGracePeriodSeconds);
        begun.abort();
        now.started = well;
      });
      if (!now.started) return;
      change({ ready: readinessProbe === undefined });
    }
    await Promise.all([
      readinessProbe && watchProbe(readinessProbe, context, (ready) => change({ ready })),
      livenessProbe &&
        watchProbe(livenessProbe, context, (well) => {
          if (!well) restart(livenessProbe.terminationGracePeriodSeconds);
        }),
      watchPorts(),
    ]);
  };
  const watchPorts = async () => {
    const given = container.ports?.map(({ containerPort }) => containerPort) ?? [];
    while (given.length > 0) {
      await clock.sleep(listenMs, ending.signal).catch(() => undefined);
      if (now.ready || ending.signal.aborted) break;
      const open = listeningPorts(familyOf(processTable(), group.leader));
      const remark = open.length === 0 || given.some((port) => open.includes(port)) ? undefined : ignored(open, given);
      if (remark !== now.remark) change({ remark });
    }
    if (now.remark !== undefined) change({ remark: undefined });
  };

  const limitBytes = parseBytes(container.resources?.limits?.['memory'] ?? '') ?? Infinity;
  const onExceeded = () => {
    killedFor = 'OOMKilled';
    group.kill();
  };
  const unwatch = limitBytes < Infinity && memory.add({ leader: group.leader, limitBytes, onExceeded });

  const over = async (): Promise<Ended> => {
    const exitCode = await group.exited;
    ending.abort(new Error('the container ended'));
    if (unwatch) unwatch();
    logs.close();
    now.ready = false;
    await forgetLogs(folder, life);
    const wordy = exitCode !== 0 && container.terminationMessagePolicy === 'FallbackToLogsOnError';
    const left = await readFile(join(folder, terminationFile(life)), 'utf8').catch(() => '');
    const message = left.slice(0, messageMax) || (wordy ? await lastWords(folder, life) : '');
    const reason = killedFor ?? (exitCode === 0 ? 'Completed' : 'Error');
    const finishedAt = timestamp(clock.now());
    return { exitCode, reason, ...(message !== '' && { message }), startedAt, finishedAt };
  };
  const exited = over();
  const watching = watch();
  return {
    startedAt,
    imageID: imageIdOf(container.image, image),
    exited: watching.then(() => exited),
    started: () => now.started,
    ready: () => now.ready,
    remark: () => now.remark,
    execute: (command, signal, streams) => run(command, AbortSignal.any([signal, ending.signal]), streams),
    stop,
    kill: () => group.kill(),
  };
}

function ignored(open: readonly number[], given: readonly number[]): string {
  return `the program listens at port ${[...new Set(open)].join(', ')} and not at ${given.join(', ')}: pods share this machine's ports, so it has to listen at the one in the variable PORT`;
}
