import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api/client.ts';
import { commandOf } from '../api/command.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { linkLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { assistantText } from '../text/assistant.ts';
import { conversationsPath, conversationsQuery, type ConversationView } from './queries.ts';

const words = assistantText.conversations;
const titleOf = ({ title }: ConversationView): string => title || words.untitled;

interface ConversationsProps {
  project: string;
  open: (id: string) => void;
  /** A conversation was deleted. */
  deleted: (id: string) => void;
}

/** The conversations of the user in a project: to open, and to delete. */
export function Conversations({ project, open, deleted }: ConversationsProps) {
  const query = useInfiniteQuery(conversationsQuery(project));
  const [chosen, setChosen] = useState<ConversationView>();
  return (
    <div className="flex flex-col gap-3">
      <p>{words.hint}</p>
      <Loaded query={query}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          return items.length === 0 ? (
            <p>{words.empty}</p>
          ) : (
            <ul className="flex flex-col">
              {items.map((conversation) => (
                <li
                  key={conversation.id}
                  className="flex items-center gap-2 border-b border-zinc-200 py-2 dark:border-zinc-800"
                >
                  <button
                    type="button"
                    className={`${linkLook} min-w-0 flex-1 text-left wrap-anywhere`}
                    aria-label={words.open(titleOf(conversation))}
                    onClick={() => open(conversation.id)}
                  >
                    {titleOf(conversation)}
                  </button>
                  <span className="text-xs whitespace-nowrap text-zinc-600 dark:text-zinc-400">
                    <Time at={conversation.updatedAt} />
                  </span>
                  <Button aria-label={words.deleteName(titleOf(conversation))} onClick={() => setChosen(conversation)}>
                    {words.delete}
                  </Button>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
      {query.hasNextPage && (
        <div>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            {words.older}
          </Button>
        </div>
      )}
      {chosen && (
        <DeleteDialog
          project={project}
          conversation={chosen}
          close={() => setChosen(undefined)}
          deleted={() => deleted(chosen.id)}
        />
      )}
    </div>
  );
}

interface DeleteProps {
  project: string;
  conversation: ConversationView;
  close: () => void;
  deleted: () => void;
}

function DeleteDialog({ project, conversation, close, deleted }: DeleteProps) {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => request(conversationsPath(project, conversation.id), { method: 'DELETE' }),
    onSuccess: async () => {
      close();
      deleted();
      await client.invalidateQueries({ queryKey: conversationsQuery(project).queryKey });
    },
  });
  return (
    <FormDialog
      title={words.deleteTitle}
      close={close}
      action={words.delete}
      look="danger"
      command={commandOf('conversation', 'delete', conversation.id, '--project', project)}
      request={remove}
      submit={() => remove.mutate()}
    >
      <p>{words.deleteWhat(titleOf(conversation))}</p>
    </FormDialog>
  );
}
