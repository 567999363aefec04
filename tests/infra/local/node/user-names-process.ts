import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openUserNames } from '../../../../infra/local/node/user-names.ts';
import { openUsers } from '../../../../infra/local/node/users.ts';
import { silentLog } from '../../../support/log.ts';

/** What a test asks: to give a new pod a user, or only for the name of a user. */
export type Question = { pod: string } | { user: number };

/** The user and the name that programs find for it; undefined when it has none. */
export interface Answer {
  user: number;
  name: string | undefined;
}

// The users of a node in its mount namespace. Answers questions on its IPC channel.
const [folder = ''] = process.argv.slice(2);
const folders = { node: folder, pods: join(folder, 'pods'), claims: join(folder, 'claims') };
const users = openUsers(folders, openUserNames(join(folder, 'passwd'), silentLog), join(folder, 'blocks'));

process.on('message', (question: Question) => void answer(question));

async function answer(question: Question): Promise<void> {
  const user = 'user' in question ? question.user : await users.assign(join(folders.pods, question.pod), []);
  process.send?.({ user, name: nameOf(user) } satisfies Answer);
}

function nameOf(user: number): string | undefined {
  try {
    return execFileSync('id', ['-nu', String(user)], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}
