import { setImmediate } from 'node:timers/promises';
import type { AnswerEvent } from '../contracts/api/assistant.ts';
import { includesLevel, type AssistantLevel } from '../domain/assistant.ts';
import type { AuditFields } from '../http/route.ts';
import type { ToolCaller } from './call-route.ts';
import type { ChatCall } from './provider.ts';
import { fieldsAtLevel, toolsAtLevel } from './data-levels.ts';
import { createLineSources, sourceOf } from './sources.ts';
import type { Tools, ToolView } from './tools.ts';
import { hasUnseen, hasUnseenInText, withoutUnseen } from './unseen.ts';

/** Characters of all results of one answer. */
const resultsMax = 200_000;
/** Calls of one answer. */
const callsMax = 24;

/** Stores the audit entry of a call, or rejects. */
export type RecordCall = (fields: AuditFields) => Promise<void>;

/** The tools as a model has them for one answer. */
export interface ModelTools {
  /** Without the arguments that the platform decides: the project, and whether the user has confirmed. */
  views: readonly ToolView[];
  /** @returns the result for the model, and what the user sees of the call; rejects when it cannot be recorded */
  call(call: ChatCall): Promise<{ content: string; events: AnswerEvent[] }>;
  /** The single lines of logs that an answer names. */
  linesIn(answer: string): AnswerEvent[];
}

interface ModelToolsOptions {
  tools: Tools;
  level: AssistantLevel;
  project: string;
  caller: ToolCaller;
  recordCall: RecordCall;
}

/** @param options.project the only project whose objects the tools show, whatever the model asks for */
export function createModelTools({ tools, level, project, caller, recordCall }: ModelToolsOptions): ModelTools {
  const available = toolsAtLevel(tools.list(caller.session), level);
  const byName = new Map(available.map((tool) => [tool.name, tool]));
  let [room, calls] = [resultsMax, 0];
  const lines = createLineSources();
  const refusal = (tool: string, reason: string) => ({
    content: reason,
    events: [{ type: 'tool' as const, tool, names: {}, refused: true }],
  });

  return {
    views: available.map(withoutDecided),
    async call(call) {
      const tool = byName.get(call.name);
      if (!tool) return refusal('unknown', 'There is no such tool.');
      if (++calls > callsMax) return refusal(tool.name, `There were ${callsMax} calls already. Answer now.`);
      const args = argumentsOf(call.arguments);
      if (!args) return refusal(tool.name, 'The arguments must be a JSON object.');
      // A session sends nothing anyway.
      delete args['confirm'];
      const isInProject = 'project' in propertiesOf(tool);
      if (isInProject && args['project'] !== undefined && args['project'] !== project) {
        return refusal(tool.name, `This conversation is about the project ${project} only.`);
      }
      const complete = isInProject ? { ...args, project } : args;
      const result = await tools.call(caller, tool.name, complete, {
        keeps: fieldsAtLevel(tool.name, level),
        hidesUsers: includesLevel(level, 'logs') ? 'in refusals' : 'everywhere',
      });
      const names = shownNames(result.names);
      const { prepared, isError } = result;
      if (prepared && (hasUnseen(prepared.parts.line) || hasUnseenInText(prepared.parts.input))) {
        return refusal(tool.name, 'The request contains characters that are not seen. Prepare it without them.');
      }
      if (result.audit !== false) await recordCall(result.audit);
      // The next result gets its turn after other requests.
      await setImmediate();
      const { text } = result;
      room -= text.length;
      const source = isError || prepared ? undefined : sourceOf(tool.name, names);
      const { request, command } = prepared ?? {};
      if (source?.kind === 'logs' && room >= 0) lines.add(source, text);
      return {
        content: room < 0 ? 'The result is left out, because the results are too large together.' : text,
        events: [
          { type: 'tool', tool: tool.name, names, refused: isError },
          ...(request && command !== undefined ? [preparedEvent(request, command)] : []),
          ...(source ? [{ type: 'source' as const, ...source }] : []),
        ],
      };
    },
    linesIn: (answer) => lines.namedIn(answer).map((source) => ({ type: 'source', ...source })),
  };
}

function preparedEvent({ method, path, body }: { method: string; path: string; body?: object }, command: string) {
  return {
    type: 'prepared' as const,
    method,
    path,
    ...(body && { body: Object.fromEntries(Object.entries(body)) as Record<string, unknown> }),
    command,
  };
}

function argumentsOf(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function propertiesOf({ inputSchema }: ToolView): Record<string, unknown> {
  return (inputSchema['properties'] ?? {}) as Record<string, unknown>;
}

function withoutDecided(tool: ToolView): ToolView {
  const { project: _project, confirm: _confirm, ...properties } = propertiesOf(tool);
  return { ...tool, inputSchema: { ...tool.inputSchema, properties } };
}

/** The names of a call, which the model chose, for people. */
function shownNames(names: Readonly<Record<string, string>>): Record<string, string> {
  const { tool: _, ...objects } = names;
  return Object.fromEntries(
    Object.entries(objects).map(([name, value]) => [name, withoutUnseen(value).replaceAll(/[\t\n]/g, ' ')]),
  );
}
