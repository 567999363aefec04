import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../runtime/domain/clock.ts';
import { createClient, type ApiClient } from './client.ts';
import {
  configurationFile,
  normaliseAddress,
  readConfiguration,
  writeConfiguration,
  type Configuration,
  type Environment,
} from './configuration.ts';
import { createConnections, type Connections } from './connection.ts';
import { exitCodes, Failure, usageFailure } from './failure.ts';
import { render, type OutputFormat, type Output } from './output.ts';

/** The process around a command; tests pass their own. */
export interface ProgramOptions {
  env: Environment;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  clock: Clock;
  /** The version of the command line. */
  version: string;
  /** Handles Ctrl-C with the listener until the returned function is called. Absent: Ctrl-C ends the process. */
  onInterrupt?: (listener: () => void) => () => void;
  /** The platform that was started from this machine, if any. */
  local?: () => LocalPlatform | undefined;
}

/** The platform that the folder `SVC_HOME` of this machine describes. */
export interface LocalPlatform {
  /** `local` after `svc up`, `cluster` for a test cluster. */
  target: 'local' | 'cluster';
  /** The management API's address. */
  api: string;
  /** The process of `svc up`; undefined when it is not running. */
  process: number | undefined;
}

/** A project and environment by name; without an environment the API uses the project's only one. */
interface ScopeNames {
  project: string;
  environment: string | undefined;
}

/** The dependencies of a command. */
export interface Context extends ProgramOptions {
  configuration: Configuration;
  /** Saves changes of the configuration; fields that are undefined are removed. */
  remember(changes: { [Field in keyof Configuration]: Configuration[Field] | undefined }): void;
  /** The management API at the address from the flag, the environment or the configuration. @throws Failure without one */
  api(flags: { api?: string | undefined }, options?: { anonymous?: boolean }): ApiClient;
  /** The address that {@link api} uses. */
  address(flags: { api?: string | undefined }): string;
  /** Whether a token for that address is stored. */
  signedIn(flags: { api?: string | undefined }): boolean;
  /** @throws Failure when no project is set */
  scope(flags: { project: string | undefined; environment: string | undefined }): ScopeNames;
  /** Prints data on stdout. */
  print(output: Output, format: OutputFormat | undefined): void;
  /** Prints one line of progress or advice on stderr. */
  say: (line: string) => void;
  /** Closes the connections. */
  close(): void;
}

export function createContext(options: ProgramOptions): Context {
  const { env, stdout, stderr, clock, version } = options;
  const file = configurationFile(env);
  const configuration = readConfiguration(file);
  let connections: Connections | undefined;

  const address = (flags: { api?: string | undefined }): string => {
    const typed = flags.api ?? (env['SVC_API'] || configuration.api || options.local?.()?.api);
    if (typed !== undefined) return normaliseAddress(typed);
    throw new Failure('No management API address is set.', {
      code: 'unauthenticated',
      hint: 'sign in: svc login --api https://console.<apps domain>, or start a platform on this machine: svc up',
      exitCode: exitCodes.notSignedIn,
    });
  };
  // A token is only sent to the address that issued it.
  const tokenFor = (api: string): string | undefined =>
    env['SVC_TOKEN'] || (configuration.api === api ? configuration.token : undefined);

  return {
    ...options,
    configuration,
    remember(changes) {
      Object.assign(configuration, changes);
      const entries = Object.entries(configuration).filter(([, value]) => value !== undefined);
      writeConfiguration(file, Object.fromEntries(entries));
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
      return createClient({ api, token, connections, clock, userAgent: `svc/${version}` });
    },
    scope(flags) {
      const project = flags.project ?? (env['SVC_PROJECT'] || configuration.project);
      if (project === undefined) {
        throw usageFailure('No project is set.', 'use --project, set SVC_PROJECT, or run: svc project use <project>');
      }
      // The remembered environment belongs to the remembered project.
      const remembered = project === configuration.project ? configuration.environment : undefined;
      return { project, environment: flags.environment ?? (env['SVC_ENVIRONMENT'] || remembered) };
    },
    print: (output, format = 'table') => void stdout.write(render(output, format)),
    say: (line) => void stderr.write(`${line}\n`),
    close: () => connections?.close(),
  };
}
