import { z } from 'zod';
import { assistantDefaults, assistantLevels, assistantLimits } from '../../domain/assistant.ts';
import { timestamp } from './common.ts';

const level = z.enum(assistantLevels);

/** `PUT /api/v1/platform/assistant`: replaces all settings; only the key is kept if it is absent and the address stays. */
export const assistantSettings = z.strictObject({
  /** The base address of an OpenAI-compatible server, such as `https://api.openai.com/v1`. */
  url: z.string().max(2000),
  model: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  /** Encrypted, sent to this address only, and in no response. Null: none. */
  key: z.string().max(4096).nullable().exactOptional(),
  level: level.default(assistantDefaults.level),
  /** Private networks in which the address may be, such as `10.20.0.0/16`. */
  networks: z.array(z.string().max(200)).max(20).default([]),
  /** Messages that one user may send in an hour. */
  messagesPerHour: z.int().min(1).max(10_000).default(assistantDefaults.messagesPerHour),
  /** Tokens that all users may use in a day, in UTC. One user may use half of them. */
  tokensPerDay: z.int().min(1).max(10_000_000_000).default(assistantDefaults.tokensPerDay),
});

/** `GET /api/v1/platform/assistant` */
export const assistantSettingsView = z.object({
  url: z.string(),
  model: z.string(),
  /** Whether a key is set. */
  key: z.boolean(),
  level,
  networks: z.array(z.string()),
  messagesPerHour: z.int(),
  tokensPerDay: z.int(),
  /** Tokens that were used today, in UTC. */
  tokensToday: z.int(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export type AssistantSettingsView = z.infer<typeof assistantSettingsView>;

/** Why an answer ended early; after its stream has begun, so these are no codes of a response. */
const answerFaults = [
  'provider_unreachable',
  'provider_refused',
  'provider_busy',
  'provider_failed',
  'provider_timeout',
  'provider_invalid',
  'provider_cut_off',
  'answer_timeout',
  'assistant_budget_used',
  'too_many_requests',
  'unavailable',
  'internal',
] as const;

export type AnswerFault = (typeof answerFaults)[number];

/** `POST …/assistant/test` */
export const assistantTest = z.object({
  status: z.enum(['ok', 'failed']),
  model: z.string(),
  milliseconds: z.int(),
  code: z.enum(answerFaults).optional(),
  error: z.string().optional(),
});

/** `GET /api/v1/assistant`: what a user should know before the first message. */
export const assistantView = z.object({
  /** Whether a provider is configured. */
  available: z.boolean(),
  model: z.string().optional(),
  /** The host of the provider; absent for one that may be in a private network. */
  host: z.string().optional(),
  level: level.optional(),
  /** What is sent to the provider. */
  sends: z.array(z.string()),
  limits: z.object({
    fileBytes: z.int(),
    messageBytes: z.int(),
    files: z.int(),
    questionLength: z.int(),
    messagesPerHour: z.int().optional(),
  }),
});

/** A name of an object; it is sent to the provider as data. */
const name = z.string().min(1).max(100);

/** The page from which a message is sent. */
const page = z.strictObject({
  environment: name.exactOptional(),
  app: name.exactOptional(),
  function: name.exactOptional(),
  job: name.exactOptional(),
  service: name.exactOptional(),
  /** The id of a deployment. */
  deployment: name.exactOptional(),
  /** The selection of a log. */
  logs: z
    .strictObject({
      pod: name.exactOptional(),
      level: name.exactOptional(),
      search: z.string().max(200).exactOptional(),
      since: z.string().max(40).exactOptional(),
      until: z.string().max(40).exactOptional(),
    })
    .exactOptional(),
});

export type AssistantPage = z.infer<typeof page>;

/** `POST …/conversations/{conversation}/messages` */
export const assistantQuestion = z.strictObject({
  text: z.string().min(1).max(assistantLimits.questionLength),
  /** Text files, each with its bytes in base64. They are sent with this message only, and not stored. */
  files: z
    .array(z.strictObject({ name: z.string().min(1).max(255), content: z.string() }))
    .max(assistantLimits.files)
    .default([]),
  page: page.default({}),
});

/** A call of a tool: its name, and the names of the objects. */
const toolCall = z.object({ tool: z.string(), names: z.record(z.string(), z.string()), refused: z.boolean() });

/** A request that was not sent, and the command that sends it. */
const preparedRequest = z.object({
  method: z.string(),
  path: z.string(),
  body: z.record(z.string(), z.unknown()).optional(),
  command: z.string(),
});

/** What an answer rests on. */
const source = z.object({
  kind: z.enum(['app', 'function', 'job', 'service', 'deployment', 'logs', 'events', 'key', 'project']),
  /** The object's name; a deployment's id. */
  name: z.string(),
  project: z.string(),
  environment: z.string().optional(),
  /** Of logs: the kind of what printed them. */
  of: z.string().optional(),
  /** Of logs: when the line was printed that the answer names, and by which pod. Absent: all lines that a call showed. */
  time: z.string().optional(),
  pod: z.string().optional(),
  /** The command of `svc` that shows it. */
  command: z.string().optional(),
});

export type AnswerSource = z.infer<typeof source>;

const usage = z.object({ inputTokens: z.int(), outputTokens: z.int() });

/** The lines of an answer. `done` or `error` is the last one. */
export const answerEvent = z.discriminatedUnion('type', [
  /** Further Markdown, without images, links and HTML. */
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool'), ...toolCall.shape }),
  z.object({ type: z.literal('prepared'), ...preparedRequest.shape }),
  z.object({ type: z.literal('source'), ...source.shape }),
  z.object({
    type: z.literal('done'),
    message: z.uuid(),
    usage,
    /** Whether the answer was too long, and was cut. */
    cut: z.boolean(),
  }),
  z.object({ type: z.literal('error'), code: z.enum(answerFaults), error: z.string() }),
]);

export type AnswerEvent = z.infer<typeof answerEvent>;

/** The states of a message. `answering` also stays when the platform stopped before the end of the answer. */
const messageStates = ['answering', 'answered', 'failed', 'cancelled'] as const;

/** A question with its answer. */
const assistantMessage = z.object({
  id: z.uuid(),
  question: z.string(),
  /** The files that were attached. */
  files: z.array(z.object({ name: z.string(), bytes: z.int() })),
  status: z.enum(messageStates),
  answer: z.string(),
  tools: z.array(toolCall),
  prepared: z.array(preparedRequest),
  sources: z.array(source),
  error: z.object({ code: z.string(), error: z.string() }).optional(),
  createdAt: timestamp,
});

export type AssistantMessage = z.infer<typeof assistantMessage>;

/** A conversation in a list. */
export const conversationView = z.object({
  id: z.uuid(),
  /** The beginning of its first question. */
  title: z.string(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

/** A conversation with its messages, oldest first. */
export const conversationDetails = conversationView.extend({ messages: z.array(assistantMessage) });
