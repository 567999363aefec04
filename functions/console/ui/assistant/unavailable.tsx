import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { commandOf } from '../api/command.ts';
import { sessionQuery } from '../api/queries.ts';
import { Command } from '../parts/command.tsx';
import { linkLook } from '../parts/page.tsx';
import { assistantText } from '../text/assistant.ts';

const words = assistantText.unavailable;
const command = commandOf(
  ...['platform', 'assistant', 'set', '--url', 'https://api.openai.com/v1', '--model', 'gpt-5-mini', '--key-stdin'],
);

/** What to do while there is no provider: admins can set one, and members know whom to ask. */
export function Unavailable() {
  const isAdmin = useQuery(sessionQuery).data?.role === 'admin';
  return (
    <div className="flex flex-col gap-3">
      <p className="font-medium">{words.title}</p>
      <p>{isAdmin ? words.forAdmins : words.forMembers}</p>
      {isAdmin && (
        <Link to="/platform/assistant" className={linkLook}>
          {words.page}
        </Link>
      )}
      <Command command={`${command} < key`} />
    </div>
  );
}
