import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { commandOf, placeFlags } from '../api/command.ts';
import { projectsQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { assistantText as words } from '../text/assistant.ts';
import { text } from '../text/common.ts';
import { AskForm } from './ask-form.tsx';
import { Conversations } from './conversations.tsx';
import type { Exchange } from './exchange.ts';
import { ExchangeView } from './exchange-view.tsx';
import { pageOf, pageText, suggestionsOf } from './page.ts';
import { assistantQuery, type AssistantView } from './queries.ts';
import { Unavailable } from './unavailable.tsx';
import { useConversation } from './use-conversation.ts';
import { usePage } from './use-page.ts';
import { useQuestion, type QuestionState } from './use-question.ts';
import { WhatIsSent } from './what-is-sent.tsx';

interface PanelProps {
  isOpen: boolean;
  /** Whether it covers the page, as on a narrow screen. */
  covers: boolean;
  /** Changes each time that the user opens it. */
  focus: number;
  close: () => void;
}

/** The assistant beside the page. While it is closed, the answer is written further. */
export function AssistantPanel({ isOpen, covers, focus, close }: PanelProps) {
  const id = useId();
  const aside = useRef<HTMLElement>(null);
  useEffect(() => {
    // The field has taken the focus already, if there is one.
    if (!aside.current?.contains(document.activeElement)) aside.current?.focus();
  }, [focus]);
  return (
    <aside
      ref={aside}
      hidden={!isOpen}
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.nativeEvent.isComposing || document.querySelector('dialog[open]')) return;
        event.preventDefault();
        close();
      }}
      className="fixed inset-y-0 right-0 z-10 flex w-full flex-col border-l border-zinc-300 bg-white text-sm lg:w-112 dark:border-zinc-700 dark:bg-zinc-950"
    >
      <AssistantContent titleId={id} focus={focus} close={close} followed={covers ? close : stay} />
    </aside>
  );
}

const stay = () => undefined;

interface ContentProps {
  titleId: string;
  focus: number;
  close: () => void;
  /** The user has followed a link of the panel. */
  followed: () => void;
}

function AssistantContent({ titleId, focus, close, followed }: ContentProps) {
  const here = usePage();
  const conversation = useConversation();
  const question = useQuestion();
  const [lists, setLists] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const project = conversation.conversation?.project ?? here.project ?? chosen;
  const isAvailable = useQuery(assistantQuery).data?.available;
  return (
    <>
      <header className="flex flex-wrap items-center gap-2 border-b border-zinc-200 px-4 py-2 dark:border-zinc-800">
        <div className="min-w-0 flex-1">
          <h2 id={titleId} className="font-semibold">
            {words.title}
          </h2>
          {project !== undefined && <p className="text-xs">{words.about(project)}</p>}
        </div>
        <Button onClick={close}>{text.close}</Button>
        <div className="flex basis-full flex-wrap gap-2 empty:hidden">
          {project !== undefined && <Button onClick={() => setLists(!lists)}>{lists ? words.back : words.list}</Button>}
          {conversation.conversation && (
            <Button
              onClick={() => {
                conversation.begin();
                setLists(false);
              }}
            >
              {words.begin}
            </Button>
          )}
        </div>
      </header>
      {isAvailable === false && !conversation.conversation && !lists ? (
        // Also where no project is chosen, such as on the page with the provider.
        <div className="flex-1 overflow-y-auto p-4">
          <Unavailable />
        </div>
      ) : project === undefined ? (
        <div className="p-4">
          <ChooseProject choose={setChosen} />
        </div>
      ) : lists ? (
        <div className="flex-1 overflow-y-auto p-4">
          <Conversations
            project={project}
            open={(id) => {
              setLists(false);
              void conversation.open(project, id).catch(stay);
            }}
            deleted={(id) => {
              if (conversation.conversation?.id === id) conversation.begin();
            }}
          />
        </div>
      ) : (
        <Talk {...{ project, here, conversation, question, focus, followed }} />
      )}
    </>
  );
}

function ChooseProject({ choose }: { choose: (project: string) => void }) {
  return (
    <Loaded query={useQuery(projectsQuery)}>
      {({ items }) =>
        items.length === 0 ? (
          <p>{words.noProject}</p>
        ) : (
          <div className="flex flex-col gap-3">
            <p>{words.chooseProject}</p>
            <Select
              label={words.project}
              value=""
              options={[{ value: '', label: text.none }, ...items.map(({ name }) => ({ value: name }))]}
              onChange={({ target }) => target.value !== '' && choose(target.value)}
            />
          </div>
        )
      }
    </Loaded>
  );
}

interface TalkProps {
  project: string;
  here: ReturnType<typeof usePage>;
  conversation: ReturnType<typeof useConversation>;
  question: QuestionState;
  focus: number;
  followed: () => void;
}

/** The conversation, and the field for the next question. */
function Talk({ project, here, conversation, question, focus, followed }: TalkProps) {
  const query = useQuery(assistantQuery);
  const exchanges = conversation.conversation?.exchanges ?? [];
  const isHere = here.project === project;
  const place = isHere ? here.address.params : {};
  const end = useEnd(exchanges);
  return (
    <>
      <div
        ref={end.ref}
        onScroll={end.onScroll}
        role="log"
        aria-label={words.messages}
        aria-busy={conversation.isAnswering}
        tabIndex={0}
        className="flex flex-1 flex-col gap-6 overflow-y-auto p-4"
      >
        <Loaded query={query}>
          {(view) => (view.available ? <WhatIsSent view={view} isOpen={exchanges.length === 0} /> : <Unavailable />)}
        </Loaded>
        {exchanges.map((exchange, index) => (
          <ExchangeView
            key={exchange.key}
            project={project}
            exchange={exchange}
            isAnswering={conversation.isAnswering && index === exchanges.length - 1}
            place={place}
            followed={followed}
          />
        ))}
        {conversation.error !== null && <ErrorNote error={conversation.error} />}
        {!isHere && here.project !== undefined && <p>{words.otherProject(project, here.project)}</p>}
      </div>
      {query.data?.available && (
        <div className="max-h-2/3 overflow-y-auto border-t border-zinc-200 p-4 dark:border-zinc-800">
          <Ask view={query.data} {...{ project, here, conversation, question, focus }} />
        </div>
      )}
    </>
  );
}

interface AskProps extends Omit<TalkProps, 'followed'> {
  view: AssistantView;
}

function Ask({ view, project, here, conversation, question, focus }: AskProps) {
  const { address, deployment } = here;
  const page = here.project === project ? pageOf(address, deployment) : {};
  const isNew = (conversation.conversation?.exchanges.length ?? 0) === 0;
  const flags =
    page.environment === undefined ? ['--project', project] : placeFlags({ project, environment: page.environment });
  const ask: React.ComponentProps<typeof AskForm>['ask'] = async ({ sendsPage, ...asked }) => {
    try {
      await conversation.ask({ project, ...asked, page: sendsPage ? page : {} });
      return true;
    } catch {
      // The conversation shows why.
      return false;
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <AskForm
        question={question}
        limits={view.limits}
        suggestions={isNew ? suggestionsOf(address, view.level ?? 'names', deployment) : []}
        page={pageText(page)}
        isAnswering={conversation.isAnswering}
        ask={ask}
        stop={conversation.stop}
        focus={focus}
      />
      <Command command={commandOf('ask', '…', ...flags)} />
    </div>
  );
}

/** Keeps the end of the conversation in view while the user is there. */
function useEnd(exchanges: readonly Exchange[]) {
  const ref = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = ref.current;
    if (element && exchanges.length > 0 && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [exchanges]);
  return {
    ref,
    onScroll: ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: React.UIEvent) => {
      isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
    },
  };
}
