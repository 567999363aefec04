import type { z } from 'zod';
import { sessionCreated, sessionView } from '../../runtime/contracts/api/sessions.ts';
import { contextName, withChanges } from '../configuration.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import type { FlagValues } from '../flags.ts';
import { readInputFile } from '../input-file.ts';
import { fields, type Field } from '../output.ts';
import { checkContextName } from './context.ts';
import type { loginFlags, logoutFlags, whoamiFlags } from '../session-flags.ts';
import { ask, askHidden, readStdin, withoutLineEnd } from '../prompt.ts';

const loopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Runs `svc login`. */
export async function login(context: Context, flags: FlagValues<typeof loginFlags>): Promise<void> {
  const api = context.address(flags);
  const { protocol, hostname } = new URL(api);
  if (protocol === 'http:' && !loopback.test(hostname)) {
    context.say(`warning: ${api} is not encrypted; the password is sent in plain text`);
  }
  const email = flags.email ?? (await ask(context, `Email address at ${api}`, 'use --email'));
  const password = await passwordOf(context, flags);
  if (password === '') throw usageFailure('The password is empty.');
  const target = targetOf(context, flags.context, api);
  const saved = context.configuration.contexts[target];
  const device = saved?.api === api ? saved.device : undefined;
  const { token, ...session } = await context
    .api(flags, { anonymous: true })
    .call('POST', '/session', sessionCreated, { body: { email, password, ...(device !== undefined && { device }) } });
  const changes = { api, token, email: session.email, device: session.device };
  context.configure((configuration) => ({
    // The default project belongs to the platform that the context had before.
    ...withChanges(configuration, target, saved?.api === api ? changes : { ...noProject, ...changes }),
    current: target,
  }));
  const several = Object.keys(context.configuration.contexts).length > 1;
  context.say(`signed in to ${api} as ${session.email}${several ? ` (context ${target})` : ''}`);
  if (session.passwordChangeRequired) context.say('change your password now: svc user password');
}

const noProject = { project: undefined, environment: undefined };

/** The context that keeps the login: the one that the user names, one for the same platform, or a new one. */
function targetOf({ configuration, env }: Context, flag: string | undefined, api: string): string {
  const { contexts, current = '' } = configuration;
  const name = flag ?? (env['SVC_CONTEXT'] || undefined);
  if (name !== undefined) return checkContextName(name);
  if (contexts[current]?.api === api) return current;
  return Object.keys(contexts).find((name) => contexts[name]?.api === api) ?? contextName(api, contexts);
}

async function passwordOf(
  context: Context,
  flags: { passwordStdin: boolean; passwordFile: string | undefined },
): Promise<string> {
  if (flags.passwordStdin && flags.passwordFile !== undefined) {
    throw usageFailure('Use either --password-stdin or --password-file.');
  }
  if (flags.passwordStdin) return readStdin(context);
  if (flags.passwordFile === undefined) {
    return askHidden(context, 'Password', 'use --password-stdin or --password-file');
  }
  return withoutLineEnd(readInputFile(flags.passwordFile).toString('utf8'));
}

/** Runs `svc logout`. */
export async function logout(context: Context, flags: FlagValues<typeof logoutFlags>): Promise<void> {
  if (!context.signedIn(flags)) {
    context.say('not signed in');
    return;
  }
  try {
    await context.api(flags).send('DELETE', '/session');
  } catch (error) {
    // The session may have ended already.
    if (!(error instanceof Failure) || error.code !== 'unauthenticated') throw error;
  } finally {
    context.remember(flags, { token: undefined, email: undefined });
  }
  context.say(`signed out of ${context.address(flags)}`);
}

function tokenFields(
  api: string,
  email: string,
  { name, project, environment, scopes, projectRole, expiresAt }: NonNullable<z.output<typeof sessionView>['token']>,
): Field[] {
  return [
    ['API', api],
    ['Token', name],
    ['Acts for', projectRole === undefined ? `${email}, who has no role in ${project}` : `${email}, ${projectRole}`],
    ['Project', project],
    ['Environment', environment ?? 'all'],
    ['Scopes', scopes.join(', ')],
    ['Expires', expiresAt],
  ];
}

/** Runs `svc whoami`. */
export async function whoami(context: Context, flags: FlagValues<typeof whoamiFlags>): Promise<void> {
  const session = await context.api(flags).call('GET', '/session', sessionView);
  const { project, environment, context: name } = context.login(flags);
  const api = context.address(flags);
  // The saved project is that of the person who signed in, not of a token.
  context.print(
    {
      data: {
        ...(name !== undefined && { context: name }),
        api,
        ...session,
        ...(!session.token && project !== undefined && { project }),
        ...(!session.token && environment && { environment }),
      },
      table: fields(
        session.token
          ? tokenFields(api, session.email, session.token)
          : [
              ['Context', name],
              ['API', api],
              ['Signed in as', session.email],
              ['Role', session.role],
              ['Project', project],
              ['Environment', environment],
            ],
      ),
      names: [session.token?.name ?? session.email],
    },
    flags.output,
  );
}
