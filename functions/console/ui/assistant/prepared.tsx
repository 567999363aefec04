import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useProjectChange } from '../api/change.ts';
import { projectQuery } from '../api/queries.ts';
import { useMay, useMayNot } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { linkLook } from '../parts/page.tsx';
import { useFindPath, type FindPath } from '../shell/places.ts';
import { assistantText } from '../text/assistant.ts';
import { Difference } from './difference.tsx';
import type { Prepared } from './exchange.ts';
import { FunctionCard } from './function-card.tsx';
import { isForm, readPrepared, requestOf, type Operation, type SentOperation } from './prepared-request.ts';

const words = assistantText.prepared;

interface PreparedProps {
  project: string;
  prepared: Prepared;
  followed: () => void;
}

/** A request that the assistant has prepared: what it would change, and its command. Only the user sends it. */
export function PreparedCard({ project, prepared, followed }: PreparedProps) {
  const environments = useQuery(projectQuery(project)).data?.environments ?? [];
  const ready = readPrepared(prepared, project);
  const environment = ready?.environment ?? (environments.length === 1 ? environments[0]?.name : undefined);
  const { command } = prepared;
  const title = ready && titleOf(ready.operation);
  return (
    <section
      aria-label={title ?? words.title}
      className="flex flex-col gap-2 rounded-md border border-zinc-300 p-3 dark:border-zinc-700"
    >
      <p className="text-xs text-zinc-600 dark:text-zinc-400">{words.title}</p>
      {title !== undefined && <p className="font-medium">{title}</p>}
      {!ready && (
        <>
          <p>{words.unknown}</p>
          <Command command={command} />
        </>
      )}
      {ready &&
        (isForm(ready.operation) ? (
          <FunctionCard {...{ project, environment, command, followed }} operation={ready.operation} />
        ) : (
          <SentCard
            {...{ project, environment, command, followed }}
            named={ready.environment}
            operation={ready.operation}
          />
        ))}
    </section>
  );
}

interface SentProps {
  project: string;
  /** The environment that the request names. */
  named: string | undefined;
  /** The same, or the only one of the project. */
  environment: string | undefined;
  operation: SentOperation;
  command: string;
  followed: () => void;
}

function SentCard({ project, named, environment, operation, command, followed }: SentProps) {
  const find = useFindPath();
  const may = useMay(project, 'deployer');
  const mayNot = useMayNot(project, 'deployer');
  const send = useProjectChange<unknown>(project);
  const title = titleOf(operation);
  const result = environment === undefined ? undefined : resultOf(find, { project, environment }, operation);
  return (
    <>
      <Difference place={{ project, environment: environment ?? '' }} operation={operation} />
      <Command command={command} />
      {send.error && <ErrorNote error={send.error} />}
      {send.isSuccess && (
        <Note look="good">
          {words.sent}{' '}
          {result !== undefined && (
            // The router has this path, which only its types cannot know.
            <Link to={result as '/'} className={linkLook} onClick={followed}>
              {words.show}
            </Link>
          )}
        </Note>
      )}
      {may && !send.isSuccess && (
        <div>
          <Button
            look="primary"
            disabled={send.isPending}
            onClick={() => send.mutate(requestOf({ environment: named, operation }))}
          >
            {title}
          </Button>
        </div>
      )}
      {mayNot && <p>{words.mayNot}</p>}
    </>
  );
}

/** What a request does, in the words of the console and not of the model: it is also the name of the button. */
function titleOf(operation: Operation): string {
  const { operations } = words;
  switch (operation.kind) {
    case 'deploy':
    case 'scale':
    case 'rollback':
      return operations[operation.kind](operation.app);
    case 'run':
      return operations.run(operation.job);
    case 'cancel':
      return operations.cancel();
    case 'create':
    case 'code':
    case 'restart':
    case 'variables':
    case 'redrive':
    default:
      return operations[operation.kind](operation.name);
  }
}

/** The page that shows what becomes of a request. */
function resultOf(find: FindPath, place: { project: string; environment: string }, operation: SentOperation) {
  switch (operation.kind) {
    case 'deploy':
    case 'rollback':
      return find('deployments', { ...place, app: operation.app });
    case 'scale':
      return find('app', { ...place, app: operation.app });
    case 'restart':
      return operation.of === 'app'
        ? find('deployments', { ...place, app: operation.name })
        : find('function', { ...place, function: operation.name });
    case 'run':
      return find('jobRuns', { ...place, job: operation.job });
    case 'variables':
      return find(operation.of, { ...place, [operation.of]: operation.name });
    case 'redrive':
      return find('functionEvents', { ...place, function: operation.name });
    case 'cancel':
    default:
      return find('overview', place);
  }
}
