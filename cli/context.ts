import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../runtime/domain/clock.ts';
import { createClient, type ApiClient } from './client.ts';
import {
  configurationFile,
  contextName,
  normaliseAddress,
  readConfiguration,
  withChanges,
  writeConfiguration,
  type Configuration,
  type Environment,
  type Login,
} from './configuration.ts';
import { createConnections, type Connections } from './connection.ts';
import { exitCodes, Failure, usageFailure } from './failure.ts';
import type { Formatter } from './formatter.ts';
import type { Host } from './host-volumes.ts';
import type { OutputFormat, Output } from './output.ts';

/** The process around a command; tests pass their own. */
export interface ProgramOptions {
  env: Environment;
  stdin: Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => void };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean };
  clock: Clock;
  /** The version of the command line. */
  version: string;
  /** Handles Ctrl-C with the listener until the returned function is called. Absent: Ctrl-C ends the process. */
  onInterrupt?: (listener: () => void) => () => void;
  /** The platform that was started from this machine, if any. */
  local?: () => LocalPlatform | undefined;
  /** This machine; absent: its volumes are not checked. */
  host?: () => Host;
}

/** The platform that the folder `SVC_HOME` of this machine describes. */
export interface LocalPlatform {
  /** `local` after `svc up`, `cluster` for a test cluster. */
  target: 'local' | 'cluster';
  /** The management API's address. */
  api: string;
  /** The process of `svc up`; undefined when it is not running. */
  process: number | undefined;
  /** The platform's processes that crashed again and again and wait for their next start. */
  waitingProcesses?: () => Promise<WaitingProcess[]>;
  /** The persistent volumes of the embedded cluster, each with its folder on this machine. */
  volumes?: () => Promise<{ name: string; folder: string }[]>;
}

/** A process in its back-off. */
export interface WaitingProcess {
  name: string;
  /** The kubelet's message, such as `back-off 300s restarting failed container=…`. */
  message: string;
}

/** A project and environment by name; without an environment the API uses the project's only one. */
interface ScopeNames {
  project: string;
  environment: string | undefined;
}

/** The option that names the management API. */
interface ApiFlags {
  api?: string | undefined;
}

/** The dependencies of a command. */
export interface Context extends ProgramOptions {
  /** What `svc login` and `svc project use` have saved. */
  configuration: Configuration;
  /** The name from `--context`, `SVC_CONTEXT` or `svc context use`; it need not exist. */
  contextName: string | undefined;
  /** Changes the configuration that is in the file now, and saves it. */
  configure(change: (configuration: Configuration) => Configuration): void;
  /** The saved login for the address that {@link api} uses, with the name of its context; empty when there is none. */
  login(flags: ApiFlags): Login & { context?: string };
  /** Saves changes of the login for that address; fields that are undefined are removed. */
  remember(flags: ApiFlags, changes: { [Field in keyof Login]: Login[Field] | undefined }): void;
  /** The management API at the address from the option, the environment or the configuration. @throws Failure without one */
  api(flags: ApiFlags, options?: { anonymous?: boolean }): ApiClient;
  /** The address that {@link api} uses. @throws Failure (usage) when the context that the user names does not exist */
  address(flags: ApiFlags): string;
  /** Whether a token for that address is stored. */
  signedIn(flags: ApiFlags): boolean;
  /** @throws Failure when no project is set */
  scope(flags: ApiFlags & { project: string | undefined; environment: string | undefined }): ScopeNames;
  /** The project of commands without `--project`, if one is set. */
  defaultProject(flags: ApiFlags): string | undefined;
  formatter: Formatter;
  /** Prints data on stdout. */
  print(output: Output, format: OutputFormat | undefined): void;
  /** Prints one line of progress or advice on stderr. */
  say: (line: string) => void;
  /** Closes the connections. */
  close(): void;
}

/** @param typed the name of `--context` */
export function createContext(options: ProgramOptions, formatter: Formatter, typed: string | undefined): Context {
  const { env, stdout, stderr, clock, version } = options;
  const file = configurationFile(env);
  const configuration = readConfiguration(file);
  const explicitName = typed ?? (env['SVC_CONTEXT'] || undefined);
  const name = explicitName ?? configuration.current;
  let connections: Connections | undefined;

  /** The context that the user names. */
  const selected = (): Login => {
    const { contexts } = configuration;
    const login = name === undefined ? undefined : contexts[name];
    if (login || explicitName === undefined) return login ?? {};
    throw usageFailure(
      `There is no context "${explicitName}".`,
      `${contextList(Object.keys(contexts))}; create one: svc login --context ${explicitName} --api <address>`,
    );
  };
  // --context is more specific than variables for every command of the shell.
  const variable = (variableName: string) => (typed === undefined ? env[variableName] || undefined : undefined);

  const address = (flags: ApiFlags): string => {
    const api = flags.api ?? variable('SVC_API') ?? selected().api ?? options.local?.()?.api;
    if (api !== undefined) return normaliseAddress(api);
    throw new Failure('No management API address is set.', {
      code: 'unauthenticated',
      hint: 'sign in: svc login --api https://console.<apps domain>, or start a platform on this machine: svc up',
      exitCode: exitCodes.notSignedIn,
    });
  };
  // A token is only sent to the address that issued it.
  const loginAt = (api: string): Login & { context?: string } => {
    const login = selected();
    if (name !== undefined && login.api === api) return { ...login, context: name };
    const other = Object.entries(configuration.contexts).find(([, candidate]) => candidate.api === api);
    return explicitName === undefined && other ? { ...other[1], context: other[0] } : {};
  };
  const tokenFor = (api: string): string | undefined => variable('SVC_TOKEN') ?? loginAt(api).token;
  const configure: Context['configure'] = (change) => {
    const changed = change(readConfiguration(file));
    writeConfiguration(file, changed);
    Object.assign(configuration, { current: undefined }, changed);
  };

  return {
    ...options,
    configuration,
    contextName: name,
    configure,
    login: (flags) => loginAt(address(flags)),
    remember(flags, changes) {
      const api = address(flags);
      const target = loginAt(api).context ?? contextName(api, configuration.contexts);
      configure((saved) => withChanges(saved, target, { api, ...changes }));
    },
    address,
    signedIn: (flags) => tokenFor(address(flags)) !== undefined,
    api(flags, { anonymous = false } = {}) {
      const api = address(flags);
      const token = anonymous ? undefined : tokenFor(api);
      if (token === undefined && !anonymous) {
        throw new Failure('You are not signed in.', {
          code: 'unauthenticated',
          hint: `sign in: svc login --api ${api}`,
          exitCode: exitCodes.notSignedIn,
        });
      }
      connections ??= createConnections();
      const isVariable = !anonymous && variable('SVC_TOKEN') !== undefined;
      return createClient({ api, token, isVariable, connections, clock, userAgent: `svc/${version}` });
    },
    defaultProject: (flags) => env['SVC_PROJECT'] || loginAt(address(flags)).project,
    scope(flags) {
      const saved = loginAt(address(flags));
      const project = flags.project ?? (env['SVC_PROJECT'] || saved.project);
      if (project === undefined) {
        throw usageFailure('No project is set.', 'use --project, set SVC_PROJECT, or run: svc project use <project>');
      }
      // The remembered environment belongs to the remembered project.
      const remembered = project === saved.project ? saved.environment : undefined;
      return { project, environment: flags.environment ?? (env['SVC_ENVIRONMENT'] || remembered) };
    },
    formatter,
    print: (output, format) => void stdout.write(formatter.document(output, format)),
    say: (line) => void stderr.write(`${line}\n`),
    close: () => connections?.close(),
  };
}

/** The saved contexts, for hints. */
export function contextList(names: readonly string[]): string {
  return names.length === 0 ? 'none is saved' : `the contexts are ${names.join(', ')}`;
}
