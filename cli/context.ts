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
import { render, type OutputFormat, type Shown } from './output.ts';

/** The world around a command, so that tests can be it. */
export interface Surroundings {
  env: Environment;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
  clock: Clock;
  /** The version of the command line. */
  version: string;
  /** Calls at Ctrl-C instead of ending the process, until the answer is called. Absent: nobody can interrupt. */
  onInterrupt?: (listener: () => void) => () => void;
  /** The platform that was brought up from this machine, if there is one. */
  local?: () => LocalPlatform | undefined;
}

/** The platform that this machine's folder of the platform (`SVC_HOME`) tells of. */
export interface LocalPlatform {
  /** Whether `svc up` has put it on this machine, or it runs on a cluster. */
  target: 'local' | 'cluster';
  /** The management API's address. */
  api: string;
  /** The process of `svc up`; undefined while there is none. */
  process: number | undefined;
}

/** Where in the platform a command acts; the API chooses a project's only environment when none is named. */
export interface Scope {
  project: string;
  environment: string | undefined;
}

/** What a command works with. */
export interface Context extends Surroundings {
  configuration: Configuration;
  /** Remembers; the fields that are undefined are forgotten. */
  remember(changes: { [Field in keyof Configuration]: Configuration[Field] | undefined }): void;
  /** The management API at the address that flag, environment or configuration give. @throws Failure without one */
  api(flags: { api?: string | undefined }, options?: { anonymous?: boolean }): ApiClient;
  /** The address that {@link api} uses. */
  address(flags: { api?: string | undefined }): string;
  /** Whether there is a token for that address. */
  signedIn(flags: { api?: string | undefined }): boolean;
  /** @throws Failure when no project is named */
  scope(flags: { project: string | undefined; environment: string | undefined }): Scope;
  /** Prints data on stdout. */
  print(shown: Shown, format: OutputFormat | undefined): void;
  /** Prints one line of progress or advice on stderr. */
  say: (line: string) => void;
  /** Ends the connections. */
  close(): void;
}

export function createContext(surroundings: Surroundings): Context {
  const { env, stdout, stderr, clock, version } = surroundings;
  const file = configurationFile(env);
  const configuration = readConfiguration(file);
  let connections: Connections | undefined;

  const address = (flags: { api?: string | undefined }): string => {
    const typed = flags.api ?? (env['SVC_API'] || configuration.api || surroundings.local?.()?.api);
    if (typed !== undefined) return normaliseAddress(typed);
    throw new Failure('There is no address of a management API yet.', {
      code: 'unauthenticated',
      hint: 'sign in: svc login --api https://console.<apps domain>; or start one on this machine: svc up',
      exitCode: exitCodes.notSignedIn,
    });
  };
  // A token that was given for one address is never sent to another one.
  const tokenFor = (api: string): string | undefined =>
    env['SVC_TOKEN'] || (configuration.api === api ? configuration.token : undefined);

  return {
    ...surroundings,
    configuration,
    remember(changes) {
      Object.assign(configuration, changes);
      const known = Object.entries(configuration).filter(([, value]) => value !== undefined);
      writeConfiguration(file, Object.fromEntries(known));
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
        throw usageFailure(
          'No project is named.',
          'give --project, set SVC_PROJECT, or choose one: svc project use <name>',
        );
      }
      // The remembered environment belongs to the remembered project.
      const remembered = project === configuration.project ? configuration.environment : undefined;
      return { project, environment: flags.environment ?? (env['SVC_ENVIRONMENT'] || remembered) };
    },
    print: (shown, format = 'table') => void stdout.write(render(shown, format)),
    say: (line) => void stderr.write(`${line}\n`),
    close: () => connections?.close(),
  };
}
