import { Readable } from 'node:stream';
import type { Id } from '../domain/ids.ts';
import { platformTokens } from '../domain/platform-tokens.ts';
import { Problem } from '../domain/problem.ts';
import { includesRole } from '../domain/roles.ts';
import { includesScope } from '../domain/token-scopes.ts';
import { problemBodyOf, problemOf } from '../http/errors.ts';
import { requireScope, type AuditFields, type Route, type Session } from '../http/route.ts';
import { argumentsSchema, requestOf, type RouteChoice } from './arguments.ts';
import type { RouteCaller, ToolCaller, ToolRequest } from './call-route.ts';
import type { ProjectRedact } from './project-redact.ts';
import { readTools, type ReadTool } from './read-tools.ts';
import { createRedact, type Redact } from './redaction.ts';
import { resultText, type ResultOptions } from './result-text.ts';
import type { WriteTool } from './write-tool.ts';
import { prepare, writeTools, type CommandParts, type PreparedRequest } from './write-tools.ts';

/** A tool as a model sees it. */
export interface ToolView {
  name: string;
  description: string;
  /** JSON Schema. */
  inputSchema: Readonly<Record<string, unknown>>;
  readOnly: boolean;
}

/** The result of a call, for a model. */
export interface ToolResult {
  text: string;
  /** Whether the call was refused or failed; `text` then has the code and the message of the API. */
  isError: boolean;
  /** Fields of the audit entry of the call; false for one that was refused, which leaves no entry. */
  audit: AuditFields | false;
  /** The tool, and the names of the objects that the request names. */
  names: Readonly<Record<string, string>>;
  /** Of a tool that changes something, the request that was not sent. */
  prepared?: (PreparedRequest & { parts: CommandParts }) | undefined;
}

interface CallOptions extends Pick<ResultOptions, 'keeps'> {
  hidesUsers?: 'everywhere' | 'in refusals';
}

/** The tools of the assistant and of other agents, called with the rights of their caller. */
export interface Tools {
  /** The tools that a caller can use. A role that only some projects give decides when the tool is called. */
  list(session: Session): ToolView[];
  /**
   * Never rejects. @param options.keeps the only fields of the result that are not left out; default all
   * @param options.hidesUsers where email addresses are masked; default nowhere
   */
  call(caller: ToolCaller, name: string, args: unknown, options?: CallOptions): Promise<ToolResult>;
}

export interface ToolDependencies {
  /** All routes of the management API. */
  routes: readonly Route[];
  caller: RouteCaller;
  projectRedact: ProjectRedact;
}

/** A tool with its routes. */
interface Tool extends ToolView, RouteChoice, Omit<ResultOptions, 'redact'>, Pick<ReadTool, 'shows'> {
  /** Set for a tool that changes something. */
  write?: WriteTool;
}

/** What became of a write. */
interface Written {
  sent: boolean;
  /** For the model. */
  value: unknown;
  prepared?: NonNullable<ToolResult['prepared']>;
  redact: Redact;
  projectId: Id | undefined;
}

/** Where a call sends nothing, why. */
const unconfirmed = 'It needs the argument confirm: true. Show the request to the user first.';
const withoutToken =
  'Only an access token can send it. Let the user run the command, or create a token: svc token create.';

/** @throws Error when a tool has a route that does not exist, or that no tool may call */
export function createTools({ routes, caller: routeCaller, projectRedact }: ToolDependencies): Tools {
  const all = [
    ...readTools.map((definition) => readTool(definition, routes)),
    ...writeTools.map((definition) => writeTool(definition, routes)),
  ];
  const tools = new Map(all.map((tool) => [tool.name, tool]));

  /** Masks the secrets of a request's project, of which the caller is known to be a member. */
  const redactFor = async (
    { params: { project }, query }: ToolRequest,
    { userId, token }: Session,
  ): Promise<Redact> => {
    const environment = query['environment'] ?? token?.environment ?? undefined;
    return project === undefined ? createRedact() : projectRedact(project, userId, environment);
  };

  /** Checks what a write would do, and sends it if the caller has confirmed it. */
  const write = async (
    { write: definition, scope }: Tool & { write: WriteTool },
    caller: ToolCaller,
    { route, request, args }: ReturnType<typeof requestOf>,
  ): Promise<Written> => {
    const body = definition.bodyOf?.(args);
    const complete = { ...request, body: body ?? (route.body ? {} : undefined) };
    const { session } = caller;
    const { projectId } = await routeCaller.check(route, caller, complete);
    if (scope !== undefined) requireScope({ session }, scope, 'This tool');
    if (body) definition.check?.(body);
    // Before it is sent: afterwards, nothing must fail that could make the caller send it again.
    const redact = await redactFor(request, session);
    const { prepared, parts } = prepare(definition, route, args, { ...request, body });
    if (!session.token || args['confirm'] !== true) {
      const value = { ...prepared, reason: session.token ? unconfirmed : withoutToken };
      return { sent: false, value, prepared: { ...value, parts }, redact, projectId };
    }
    const { reply } = await routeCaller.call(route, caller, complete);
    return { sent: true, value: { sent: true, status: reply.status, result: reply.body }, redact, projectId };
  };

  return {
    list: (session) =>
      [...tools.values()]
        .filter((tool) => isUsable(tool, session))
        .map(({ name, description, inputSchema, readOnly }) => ({ name, description, inputSchema, readOnly })),
    async call(caller, name, args, { keeps, hidesUsers: place } = {}) {
      const { session, log } = caller;
      const hidesUsers = place === 'everywhere';
      const tool = tools.get(name);
      const names: Record<string, string> = { tool: tool ? name : 'unknown' };
      try {
        if (!tool) throw new Problem('not_found', `There is no tool ${JSON.stringify(name.slice(0, 100))}.`);
        const call = requestOf(
          tool,
          session,
          args,
          tool.write ? [...Object.keys(tool.write.arguments), 'confirm'] : [],
        );
        const { route, request } = call;
        Object.assign(names, namesOf(request, createdBy(tool, call.args)));
        const { write: definition, hides, newestLast, shows = (body: unknown) => body } = tool;
        if (definition) {
          const { sent, value, prepared, redact, projectId } = await write(
            { ...tool, write: definition },
            caller,
            call,
          );
          // What was not sent has the variables of the caller only.
          const text = await resultText(value, { redact, hidesUsers, showsVariables: !sent });
          return { text, isError: false, audit: { ...names, sent, projectId }, names, prepared };
        }
        const { reply, projectId } = await routeCaller.call(route, caller, request);
        const { body } = reply;
        if (body instanceof Readable) throw new Error(`${route.path} answered a tool with a stream`);
        const text = await resultText(shows(body), {
          redact: await redactFor(request, session),
          hidesUsers,
          hides,
          keeps,
          newestLast,
        });
        return { text, isError: false, audit: { ...names, projectId }, names };
      } catch (error) {
        const problem = problemOf(error, caller.requestId);
        const entry = { ...names, code: problem.code };
        if (problem.status >= 500) log.error({ ...entry, err: problem.cause ?? problem }, 'tool call failed');
        else log.info(entry, 'tool call refused');
        // A message can repeat the request and the names of objects, but no value that only the project has.
        const text = await resultText(problemBodyOf(problem), {
          redact: createRedact(),
          hidesUsers: place !== undefined,
        });
        return { text, isError: true, audit: false, names };
      }
    },
  };
}

/** The name of what a tool creates, which is in no path. */
function createdBy({ write }: Tool, args: Readonly<Record<string, unknown>>): Record<string, string> {
  const name = write?.creates && args[write.creates];
  return write?.creates && typeof name === 'string' ? { [write.creates]: name } : {};
}

/** The names in a request's path and of what it creates, without tokens that were put there by mistake. */
function namesOf(
  { params, query: { environment } }: ToolRequest,
  created: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = { ...params, ...(environment !== undefined && { environment }), ...created };
  return Object.fromEntries(
    Object.entries(names).map(([name, value]) => [name, value.replaceAll(platformTokens, '[token]').slice(0, 100)]),
  );
}

function readTool(definition: ReadTool, routes: readonly Route[]): Tool {
  const { name, description, path, kinds, without, hides, shows, newestLast } = definition;
  const choice: RouteChoice = { routes: routesAt(routes, 'GET', path, kinds), kinds, without };
  return {
    ...choice,
    name,
    description,
    hides,
    ...(shows && { shows }),
    newestLast,
    inputSchema: argumentsSchema(choice),
    readOnly: true,
  };
}

const confirm = {
  type: 'boolean',
  description:
    'Whether the user has confirmed the change. Without true, nothing is sent, and the result is the request.',
};

function writeTool(write: WriteTool, routes: readonly Route[]): Tool {
  const { name, description, method, path, kinds, scope, arguments: own, required } = write;
  // What is no argument of the tool keeps the default of the route.
  const choice: RouteChoice = {
    routes: routesAt(routes, method, path, kinds),
    kinds,
    without: ['discardEvents'],
    scope,
  };
  const inputSchema = argumentsSchema(choice, { ...own, confirm }, required);
  return { ...choice, write, name, description, inputSchema, readOnly: false };
}

/** The routes of a tool by kind, or by '' for one without kinds. @throws Error for a route that is none for tools */
function routesAt(
  routes: readonly Route[],
  method: Route['method'],
  path: string,
  kinds: readonly string[] = [''],
): ReadonlyMap<string, Route> {
  return new Map(
    kinds.map((kind) => {
      const target = path.replaceAll('{kind}', kind);
      const route = routes.find((each) => each.method === method && each.path === target);
      if (!route) throw new Error(`there is no route ${method} ${target} for a tool`);
      // A GET route with an audit entry reveals something that only people should see.
      const reveals = method === 'GET' && route.audit !== undefined;
      if (reveals || route.webSocket !== undefined || route.jsonLines || route.lateBody) {
        throw new Error(`${method} ${target} cannot be a tool`);
      }
      return [kind, route];
    }),
  );
}

/** Whether the caller's role and scopes allow a tool, as far as they are known without a project. */
function isUsable({ routes, scope: ownScope }: RouteChoice, { role, token }: Session): boolean {
  return [...routes.values()].every(({ access }) => {
    if (access === 'principal' || access === 'bearer') return true;
    if (typeof access !== 'object') return !token && (access === 'session' || role === 'admin');
    if (!token) return true;
    const { project, scope } = access;
    const projectRole = token.userRole === 'admin' ? 'admin' : token.projectRole;
    return (
      scope !== undefined &&
      includesScope(token.scopes, ownScope ?? scope) &&
      projectRole !== null &&
      includesRole(projectRole, project)
    );
  });
}
