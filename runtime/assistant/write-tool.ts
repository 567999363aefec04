import type { TokenScope } from '../domain/token-scopes.ts';
import type { Route } from '../http/route.ts';
import { wrong } from './arguments.ts';
import type { ToolRequest } from './call-route.ts';
import type { ToolKind } from './read-tools.ts';

export type Args = Readonly<Record<string, unknown>>;

/** A command of `svc`. */
interface WriteCommand {
  /** The words after `svc`. */
  words: string[];
  options?: string[];
  /** What the command reads from standard input, in lines. */
  input?: string;
}

/** A tool that changes something. Without a confirmation, it prepares the request and the command of `svc`. */
export interface WriteTool {
  name: string;
  /** For a model: what it changes, and what follows. */
  description: string;
  method: Exclude<Route['method'], 'GET'>;
  /** The route's path; `{kind}` stands for each of `kinds`. */
  path: string;
  kinds?: readonly ToolKind[];
  /** The scope that the arguments of the tool need, if it is not the route's. */
  scope?: TokenScope;
  /** JSON Schemas of the arguments that the body is made of, of which `required` are required. */
  arguments: Readonly<Record<string, object>>;
  required?: readonly string[];
  /** The body of the request; absent: none. */
  bodyOf?: (args: Args) => object;
  /** The argument with the name of what the request creates, which its path does not have. */
  creates?: 'function';
  /** What the API would refuse of the body that its schema does not. @throws Problem */
  check?: (body: object) => void;
  commandOf: (args: Args, params: ToolRequest['params']) => WriteCommand;
}

/** Those of the arguments that the caller has set. */
export const present = (args: Args, names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]])));

/**
 * An option of a command with its value; nothing without one.
 * @throws Problem `invalid_request` for a value that the command would take for another option
 */
export function option(name: string, value: unknown): string[] {
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  const text = String(value);
  if (text.startsWith('-')) throw wrong(`${JSON.stringify(text.slice(0, 100))} is not a value of ${name}`);
  return [name, text];
}

/** The argument `variables`, values by name. @throws Problem `invalid_request` */
export function variablesOf({ variables }: Args): Record<string, unknown> {
  if (typeof variables !== 'object' || variables === null || Array.isArray(variables)) {
    throw wrong('The argument variables must be an object, such as {"LOG_LEVEL": "debug"}');
  }
  const entries = Object.entries(variables);
  if (entries.length === 0 || entries.some(([, value]) => typeof value !== 'string')) {
    throw wrong('The argument variables must have at least one variable, and each value must be a text');
  }
  return Object.fromEntries(entries);
}
