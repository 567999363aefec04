import { join } from 'node:path';
import { parseBytes } from '../../../runtime/domain/quantity.ts';
import { timestamp } from '../controllers/objects.ts';
import { createLogWriter, forgetLogs, lastWords } from './logs.ts';
import { recordName } from './orphans.ts';
import { watchProbe } from './probe.ts';
import { execute, startProcessGroup, type Streams } from './process-group.ts';
import { containerVariable, familyOf, processTable } from './process-table.ts';
import { podAddress, programOf, translated, type ContainerPlace, type ContainerRuntime } from './program.ts';
import { listeningPorts } from './sockets.ts';

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
  readonly exited: Promise<Ended>;
  /** Whether its startup probe has succeeded. */
  started(): boolean;
  ready(): boolean;
  /** What is odd about it and no fault, such as a program that listens at another port. */
  remark(): string | undefined;
  /** Runs a command beside its program. @returns its exit code @throws StartError */
  execute(command: readonly string[], signal: AbortSignal, streams?: Streams): Promise<number>;
  /** Runs the preStop hook, asks it to end and kills it when the time is over. The first call counts. */
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
  const image = await images.find(container.image);
  if (!image) {
    throw new ImageError(
      `image "${container.image}" is not on this machine; make it with "svc image build DIR -t ${container.image}"`,
    );
  }
  const program = await programOf(runtime, place, image);
  const logs = createLogWriter({ folder, life, clock });
  const group = await startProcessGroup(program, {
    container: program.env[containerVariable] ?? '',
    recordFile: join(folder, recordName),
    onOutput: (stream, chunk) => logs.write(stream, chunk),
  }).catch((error: unknown) => {
    logs.close();
    throw error;
  });
  const startedAt = timestamp(clock.now());
  const ending = new AbortController();
  let started = container.startupProbe === undefined;
  let ready = started && container.readinessProbe === undefined;
  let remark: string | undefined;
  let killedFor: string | undefined;
  let stopping: Promise<void> | undefined;

  const stop = async (graceSeconds: number) => {
    const { preStop } = container.lifecycle ?? {};
    const deadline = clock.monotonic() + graceSeconds * 1000;
    const left = () => Math.max(0, deadline - clock.monotonic());
    const rest = (ms: number) => clock.sleep(Math.min(ms, left()), ending.signal).catch(() => undefined);
    if (preStop?.sleep) await rest(preStop.sleep.seconds * 1000);
    if (preStop?.exec) await Promise.race([attempt(preStop.exec.command, left()), rest(left())]);
    group.terminate();
    await rest(left());
    if (!ending.signal.aborted) group.kill();
    await exited;
  };
  const run: ContainerLife['execute'] = (command, signal, streams) =>
    execute({ ...program, command: translated(command, program) }, signal, streams);
  /** Exit codes of what was too late, and of what did not even start, are those of `timeout` and the shell. */
  const attempt = async (command: readonly string[], timeoutMs: number): Promise<number> => {
    const late = AbortSignal.timeout(timeoutMs);
    const code = await run(command, late).catch(() => 126);
    return late.aborted ? 124 : code;
  };

  const context = { container, address: podAddress, execute: attempt, clock, signal: ending.signal };
  const restart = (graceSeconds: number | undefined) => {
    stopping ??= stop(graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30);
  };
  const set = (change: () => void) => {
    change();
    onChange();
  };
  const watch = async () => {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    if (startupProbe) {
      const begun = new AbortController();
      const signal = AbortSignal.any([ending.signal, begun.signal]);
      await watchProbe(startupProbe, { ...context, signal }, (failure) => {
        if (failure !== undefined) restart(startupProbe.terminationGracePeriodSeconds);
        begun.abort();
        started = failure === undefined;
      });
      if (!started) return;
      set(() => (ready = readinessProbe === undefined));
    }
    await Promise.all([
      readinessProbe && watchProbe(readinessProbe, context, (failure) => set(() => (ready = failure === undefined))),
      livenessProbe &&
        watchProbe(livenessProbe, context, (failure) => {
          if (failure !== undefined) restart(livenessProbe.terminationGracePeriodSeconds);
        }),
      watchPorts(),
    ]);
  };
  const watchPorts = async () => {
    const given = container.ports?.map(({ containerPort }) => containerPort) ?? [];
    while (given.length > 0) {
      await clock.sleep(listenMs, ending.signal).catch(() => undefined);
      if (ready || ending.signal.aborted) break;
      const open = listeningPorts(familyOf(processTable(), group.leader));
      const next = open.length === 0 || given.some((port) => open.includes(port)) ? undefined : ignored(open, given);
      if (next !== remark) set(() => (remark = next));
    }
    if (remark !== undefined) set(() => (remark = undefined));
  };

  const limitBytes = parseBytes(container.resources?.limits?.['memory'] ?? '');
  const unwatch =
    limitBytes === undefined
      ? undefined
      : memory.add({
          leader: group.leader,
          limitBytes,
          onExceeded() {
            killedFor = 'OOMKilled';
            group.kill();
          },
        });

  const end = async (): Promise<Ended> => {
    const exitCode = await group.exited;
    ending.abort(new Error('the container ended'));
    unwatch?.();
    logs.close();
    ready = false;
    await forgetLogs(folder, life);
    const wordy = exitCode !== 0 && container.terminationMessagePolicy === 'FallbackToLogsOnError';
    const message = wordy ? await lastWords(folder, life) : '';
    return {
      exitCode,
      reason: killedFor ?? (exitCode === 0 ? 'Completed' : 'Error'),
      ...(message !== '' && { message }),
      startedAt,
      finishedAt: timestamp(clock.now()),
    };
  };
  const exited = end();
  const watching = watch();
  const watched = async () => {
    const ended = await exited;
    await watching;
    return ended;
  };
  return {
    startedAt,
    exited: watched(),
    started: () => started,
    ready: () => ready,
    remark: () => remark,
    execute: (command, signal, streams) => run(command, AbortSignal.any([signal, ending.signal]), streams),
    stop: (graceSeconds) => (stopping ??= stop(graceSeconds)),
    kill: () => group.kill(),
  };
}

function ignored(open: readonly number[], given: readonly number[]): string {
  return `the program listens at port ${[...new Set(open)].join(', ')} and not at ${given.join(', ')}: pods share this machine's ports, so it has to listen at the one in the variable PORT`;
}
