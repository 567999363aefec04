import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requestThroughIngress, type IngressAnswer, type IngressRequest } from '../../infra/demo/ingress.ts';
import { run, type Ended } from '../../infra/demo/program.ts';
import { homeFolder } from '../../infra/local/home.ts';
import { readRunInfo, type RunInfo } from '../../infra/run-info.ts';
import { runCommandLine } from './command-line.ts';
import { createKubectlGet } from './kubectl-get.ts';
import { kubectlEnv, kubectlProgram } from './kubectl.ts';

/** An HTTP answer with its whole body. */
export interface Answer extends IngressAnswer {
  json(): Record<string, unknown>;
}

/** The platform that `npm test` (or a person, with `npm start`) started, used as its users do. */
export interface Platform {
  info: RunInfo;
  /** Where the command line keeps the admin's session (`XDG_CONFIG_HOME`). */
  configFolder: string;
  /**
   * Runs the command line, signed in as the admin, with `input` on its standard input.
   * @param variables of the environment, such as `SVC_TOKEN` of another caller
   */
  svc(args: string[], input?: string, variables?: Readonly<Record<string, string>>): Promise<Ended>;
  /** As {@link svc}, but throws unless it succeeds; returns the trimmed output. */
  ok(args: string[], input?: string): Promise<string>;
  /** As {@link ok} with `-o json`. */
  json<T>(args: string[]): Promise<T>;
  /** Calls that only get objects do not start the program. */
  kubectl(...args: string[]): Promise<Ended>;
  /** As {@link kubectl}, with this text on standard input. */
  kubectlInput(input: string, ...args: string[]): Promise<Ended>;
  /** A request through the ingress to a public URL (its host is sent, its address is loopback). */
  request(url: string, options?: IngressRequest): Promise<Answer>;
  /** Every body of an answer with a status of 400 or more, for the search for secrets. */
  errorBodies: string[];
}

/** A command takes moments; one that hangs is stopped, and repeated if it only reads. */
const kubectlLimitMs = 30_000;

/** A name that no other test uses. */
export function uniqueName(prefix: string): string {
  return `${prefix}${randomBytes(3).toString('hex')}`;
}

/** The running platform, with the command line signed in. @throws Error when none is running */
export async function runningPlatform(): Promise<Platform> {
  const folder = homeFolder(process.env);
  const info = readRunInfo(folder);
  const config = join(folder, `cli-${process.pid}`);
  mkdirSync(config, { recursive: true });
  const env = { XDG_CONFIG_HOME: config, SVC_API: info.api, NO_COLOR: '1' };
  const errorBodies: string[] = [];
  const svc: Platform['svc'] = (args, input, variables) =>
    runCommandLine(args, { env: { ...env, ...variables }, input });
  const ok = async (args: string[], input?: string) => {
    const ended = await svc(args, input);
    if (ended.code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${ended.code}: ${ended.stderr}`);
    return ended.stdout.trim();
  };
  const get = createKubectlGet(info.kubeconfig);
  const kubectl = async (args: string[], input?: string): Promise<Ended> => {
    const answer = await get(args);
    if (answer) return answer;
    const kubeconfig = ['--kubeconfig', info.kubeconfig];
    const from = performance.now();
    const ended = await run(kubectlProgram, [...kubeconfig, ...args], {
      env: kubectlEnv,
      input,
      limitMs: kubectlLimitMs,
    });
    const hung = performance.now() - from >= kubectlLimitMs;
    return hung && args.includes('get') ? kubectl(args) : ended;
  };
  await ok(
    ['login', '--api', info.api, '--email', info.adminEmail, '--password-stdin'],
    readFileSync(info.adminPasswordFile, 'utf8'),
  );
  return {
    info,
    configFolder: config,
    svc,
    ok,
    errorBodies,
    json: async <T>(args: string[]) => JSON.parse(await ok([...args, '-o', 'json'])) as T,
    kubectl: (...args) => kubectl(args),
    kubectlInput: (input, ...args) => kubectl(args, input),
    request: async (url, options = {}) => {
      const answer = await requestThroughIngress(info.ingress, url, options);
      if (answer.status >= 400) errorBodies.push(answer.body);
      return { ...answer, json: () => JSON.parse(answer.body) as Record<string, unknown> };
    },
  };
}

/**
 * Repeats a request until the answer meets the condition; the time-out is tap's. For state that spreads (routes, views)
 * without an event for clients. A look that starts a process, such as one by kubectl, is repeated after as long as it took:
 * several tests that wait would otherwise use the processors that what they wait for needs.
 */
export async function eventually<T>(look: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const startedAt = performance.now();
    const value = await look();
    if (holds(value)) return value;
    const tookMs = performance.now() - startedAt;
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(tookMs, 100), 500)));
  }
}

/** The part of a tap test that a project needs; its parent has it too, which tap's types do not say. */
interface Owner {
  parent?: unknown;
  teardown(end: () => unknown): void;
}

/**
 * A project with the environment `prod`. Its deletion begins when the test ends, and the file waits for its end: old
 * pods keep serving for seconds, and the next test does not have to wait for them.
 */
export async function testProject(
  t: Owner,
  platform: Platform,
  { project = uniqueName('e2e'), environment = 'prod' }: { project?: string; environment?: string } = {},
): Promise<{ project: string; namespace: string; flags: string[] }> {
  await platform.ok(['project', 'create', project, '--environment', environment]);
  let file = t;
  while (file.parent) file = file.parent as Owner;
  const waitUntilGone = async () => {
    const { code, stderr } = await platform.svc(['project', 'delete', project, '--yes']);
    if (code !== 0 && !stderr.includes('(not_found)')) throw new Error(`the project ${project} stays: ${stderr}`);
  };
  t.teardown(async () => {
    if (t === file) return waitUntilGone();
    await platform.ok(['project', 'delete', project, '--yes', '--no-wait']);
    file.teardown(waitUntilGone);
  });
  const flags = ['--project', project, '--environment', environment];
  return { project, namespace: `${project}-${environment}`, flags };
}
