import type { Platform } from './platform.ts';

/** A JSON Schema, as far as the tests read it. */
export interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

interface Parameter {
  name: string;
  in: 'path' | 'query';
  schema: Schema;
}

/** One route of the management API, as its OpenAPI document describes it. */
export interface Operation {
  method: string;
  /** With the prefix, and parameters in braces: `/api/v1/projects/{project}`. */
  path: string;
  /** Names the role that the route requires. */
  description: string;
  security: unknown[];
  parameters: Parameter[];
  body: Schema | undefined;
  /** The declared answers of success, by status: the schema of the body; undefined for an answer without JSON. */
  answers: Map<number, Schema | undefined>;
}

interface Document {
  servers: { url: string }[];
  paths: Record<string, { servers?: { url: string }[] } & Record<string, unknown>>;
}

interface DocumentedOperation {
  description?: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const methods = new Set(['get', 'put', 'post', 'patch', 'delete']);

/** Every route in the OpenAPI document of a running platform. */
export async function documentedOperations(platform: Platform): Promise<Operation[]> {
  const answer = await platform.request(`${platform.info.api}/api/v1/openapi.json`);
  const document = JSON.parse(answer.body) as Document;
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.has(method))
      .map(([method, value]) => {
        const operation = value as DocumentedOperation;
        const [server] = item.servers ?? document.servers;
        return {
          method: method.toUpperCase(),
          path: new URL(server?.url ?? '').pathname.replace(/\/$/, '') + path,
          description: operation.description ?? '',
          security: operation.security ?? [],
          parameters: operation.parameters ?? [],
          body: operation.requestBody?.content['application/json']?.schema,
          answers: new Map(
            Object.entries(operation.responses)
              .filter(([status]) => /^\d+$/.test(status))
              .map(([status, { content }]) => [Number(status), content?.['application/json']?.schema]),
          ),
        };
      }),
  );
}

/** The path of an operation with its parameters filled in. */
export function pathOf({ path, parameters }: Operation, value: (parameter: Parameter) => string): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return encodeURIComponent(value({ name, in: 'path', schema: parameterOf(parameters, name) }));
  });
  return filled;
}

function parameterOf(parameters: readonly Parameter[], name: string): Schema {
  return parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema ?? {};
}
