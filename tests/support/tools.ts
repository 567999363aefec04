import { createRouteCaller, type ToolCaller } from '../../runtime/assistant/call-route.ts';
import type { ProjectRedact } from '../../runtime/assistant/project-redact.ts';
import { createRedact } from '../../runtime/assistant/redaction.ts';
import { createTools, type Tools } from '../../runtime/assistant/tools.ts';
import { newId } from '../../runtime/domain/ids.ts';
import type { AuthorizeProject, Route, Session } from '../../runtime/http/route.ts';
import { declaredRoutes } from '../functions/all-routes.ts';
import { testSession } from './api.ts';
import { silentLog } from './log.ts';

/** Handlers by route, such as `GET /projects`. */
export type Handlers = Readonly<Record<string, Route['handle']>>;

export interface TestToolsOptions {
  handlers?: Handlers;
  /** Default: every user is an admin of every project. */
  authorize?: AuthorizeProject;
  /** Default: masks tokens only. */
  projectRedact?: ProjectRedact;
}

/** The tools of all declared routes, of which some have a handler. */
export async function testTools({
  handlers = {},
  authorize = async () => ({ projectId: newId(), role: 'admin' }),
  projectRedact = async () => createRedact(),
}: TestToolsOptions = {}): Promise<Tools> {
  const { routes } = await declaredRoutes();
  const withHandlers = routes.map((route) => {
    const handle = handlers[`${route.method} ${route.path}`];
    return handle ? { ...route, handle } : route;
  });
  return createTools({
    routes: withHandlers,
    caller: createRouteCaller({ authorize, recordAudit: async () => undefined }),
    projectRedact,
  });
}

/** A caller; default: a platform admin. */
export function toolCaller(session: Session = testSession): ToolCaller {
  return {
    session,
    clientAddress: '127.0.0.1',
    requestId: newId(),
    log: silentLog,
    signal: new AbortController().signal,
  };
}

/** A session of an access token of the project `shop`. */
export function tokenSession(token: Partial<NonNullable<Session['token']>> = {}): Session {
  return {
    ...testSession,
    role: 'member',
    token: {
      name: 'ci',
      projectId: '019a0000-0000-7000-8000-000000000003',
      project: 'shop',
      environmentId: null,
      environment: null,
      scopes: ['read'],
      expiresAt: new Date(),
      userRole: 'member',
      projectRole: 'deployer',
      ...token,
    },
  };
}

/** The data in the text of a result. @throws Error for a text without one fence */
export function dataOf(text: string): unknown {
  const [, marker, json = ''] = /\n<(data-[0-9a-f]{24})>\n([\s\S]*)\n<\1>$/.exec(text) ?? [];
  if (marker === undefined || text.split(`\n<${marker}>`).length !== 3)
    throw new Error(`no fence: ${text.slice(0, 300)}`);
  return JSON.parse(json);
}
