import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** A conversation of a user in a project. */
export interface Conversation {
  id: Id;
  /** Sealed; null before the first message. */
  title: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** The states of a message: see `contracts/api/assistant.ts`. */
type MessageState = 'answering' | 'answered' | 'failed' | 'cancelled';

/** A question with its answer. */
export interface ConversationMessage {
  id: Id;
  state: MessageState;
  /** Sealed JSON. */
  content: string;
  createdAt: Date;
}

/** Whose conversations: nobody else sees them, and a new project with the name of an old one has none. */
export interface ConversationOwner {
  userId: Id;
  projectId: Id;
}

const columns = `id, title, created_at AS "createdAt", updated_at AS "updatedAt"`;

/**
 * Creates a conversation, and deletes the oldest ones of the owner beyond `max`, those without a message first: each
 * question that is refused leaves one, and must not replace an answer.
 */
export async function insertConversation(
  database: Database,
  id: Id,
  { userId, projectId }: ConversationOwner,
  max: number,
): Promise<Conversation> {
  const { rows } = await database.query<Conversation>(
    `INSERT INTO assistant_conversations (id, user_id, project_id) VALUES ($1, $2, $3) RETURNING ${columns}`,
    [id, userId, projectId],
  );
  await database.query(
    `DELETE FROM assistant_conversations WHERE id IN (
       SELECT id FROM assistant_conversations WHERE user_id = $1 AND project_id = $2 AND id <> $4
       ORDER BY title IS NULL, id DESC OFFSET $3)`,
    [userId, projectId, max - 1, id],
  );
  const [row] = rows;
  if (!row) throw new Error('nothing was written');
  return row;
}

/** Up to `limit` conversations with a message, newest first, older than the conversation `before`. */
export async function listConversations(
  database: Database,
  { userId, projectId }: ConversationOwner,
  { limit, before }: { limit: number; before?: Id | undefined },
): Promise<Conversation[]> {
  const { rows } = await database.query<Conversation>(
    `SELECT ${columns} FROM assistant_conversations
     WHERE user_id = $1 AND project_id = $2 AND title IS NOT NULL AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
    [userId, projectId, before ?? null, limit],
  );
  return rows;
}

export async function findConversation(
  database: Database,
  id: Id,
  { userId, projectId }: ConversationOwner,
): Promise<Conversation | undefined> {
  const { rows } = await database.query<Conversation>(
    `SELECT ${columns} FROM assistant_conversations WHERE id = $1 AND user_id = $2 AND project_id = $3`,
    [id, userId, projectId],
  );
  return rows[0];
}

/** @returns whether there was one */
export async function deleteConversation(
  database: Database,
  id: Id,
  { userId, projectId }: ConversationOwner,
): Promise<boolean> {
  const { rowCount } = await database.query(
    'DELETE FROM assistant_conversations WHERE id = $1 AND user_id = $2 AND project_id = $3',
    [id, userId, projectId],
  );
  return rowCount === 1;
}

/** The messages of a conversation, oldest first. */
export async function listMessages(database: Database, conversationId: Id): Promise<ConversationMessage[]> {
  const { rows } = await database.query<ConversationMessage>(
    `SELECT id, state, content, created_at AS "createdAt" FROM assistant_messages WHERE conversation_id = $1 ORDER BY id`,
    [conversationId],
  );
  return rows;
}

/** Stores a question. @param title sealed; of a conversation without one @returns false when the conversation was deleted */
export async function insertMessage(
  database: Database,
  conversationId: Id,
  { id, content, title }: { id: Id; content: string; title: string },
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE assistant_conversations SET title = COALESCE(title, $2), updated_at = now() WHERE id = $1`,
    [conversationId, title],
  );
  if (rowCount === 0) return false;
  await database.query(
    `INSERT INTO assistant_messages (id, conversation_id, state, content) VALUES ($1, $2, 'answering', $3)`,
    [id, conversationId, content],
  );
  return true;
}

/** Stores the end of an answer; nothing when the conversation was deleted. */
export async function endMessage(
  database: Database,
  id: Id,
  { state, content }: Pick<ConversationMessage, 'state' | 'content'>,
): Promise<void> {
  await database.query('UPDATE assistant_messages SET state = $2, content = $3 WHERE id = $1', [id, state, content]);
}
