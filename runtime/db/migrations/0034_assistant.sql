-- Up Migration

-- The provider of the assistant, in at most one row.
CREATE TABLE assistant_provider (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  -- the base address of an OpenAI-compatible server, without a slash at its end
  url text NOT NULL,
  model text NOT NULL,
  -- sealed for this address only; null without one
  key text,
  -- what may be sent, see runtime/domain/assistant.ts
  level text NOT NULL,
  -- private networks in which the address may be
  networks text[] NOT NULL,
  messages_per_hour integer NOT NULL,
  tokens_per_day bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- What a user wrote to the assistant in a project. Nobody else reads it, and it can contain anything, so it is sealed.
CREATE TABLE assistant_conversations (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  project_id uuid NOT NULL,
  -- sealed; null before the first message
  title text,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- of the last message
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX assistant_conversations_of_user ON assistant_conversations (user_id, project_id, id);
CREATE INDEX assistant_conversations_by_age ON assistant_conversations (updated_at);

CREATE TABLE assistant_messages (
  id uuid PRIMARY KEY,
  conversation_id uuid NOT NULL REFERENCES assistant_conversations ON DELETE CASCADE,
  -- see runtime/records/assistant-messages.ts
  state text NOT NULL,
  -- the question and its answer, as sealed JSON
  content text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX assistant_messages_of_conversation ON assistant_messages (conversation_id, id);

-- Messages and tokens of a user in an hour.
CREATE TABLE assistant_usage (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  messages integer NOT NULL DEFAULT 0,
  tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, hour)
);

CREATE INDEX assistant_usage_by_hour ON assistant_usage (hour);
