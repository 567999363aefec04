import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { commandOf } from '../api/command.ts';
import { sessionQuery } from '../api/queries.ts';
import { Command } from '../parts/command.tsx';
import { Note } from '../parts/note.tsx';
import { platformText } from '../text/platform.ts';

/** Shows a part to platform admins, and tells others why they do not see it. The API decides in any case. */
export function AdminsOnly({ children }: { children: React.ReactNode }) {
  const { data: session } = useQuery(sessionQuery);
  // Once the session has ended, the page stays as it was, with what was written in it.
  const [known, setKnown] = useState(session);
  if (session && session !== known) setKnown(session);
  if (!known) return null;
  if (known.role === 'admin') return children;
  return (
    <div className="flex flex-col gap-3">
      <Note look="warn">{platformText.adminsOnly}</Note>
      <Command command={commandOf('user', 'update', known.email, '--role', 'admin')} />
    </div>
  );
}
