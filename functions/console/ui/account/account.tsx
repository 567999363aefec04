import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { commandOf } from '../api/command.ts';
import { projectsQuery, sessionQuery } from '../api/queries.ts';
import { Select } from '../parts/choice.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Heading } from '../parts/page.tsx';
import { PasswordForm } from '../session/password-form.tsx';
import { accountText as words } from '../text/account.ts';
import { Sessions } from './sessions.tsx';
import { Tokens } from './tokens.tsx';

/** What belongs to the user alone: the password, the sessions, and the access tokens of programs that act for the user. */
export function Account() {
  const session = useQuery(sessionQuery).data;
  return (
    <>
      <Heading title={words.title} />
      <div className="flex flex-col gap-8">
        {session && (
          <Facts
            facts={[
              [words.email, session.email],
              [words.role, words.roles[session.role]],
            ]}
          />
        )}
        <Command command={commandOf('whoami')} />
        <TokensOfProject />
        <Password />
        <Sessions />
      </div>
    </>
  );
}

function Password() {
  return (
    <section aria-labelledby="password" className="flex max-w-md flex-col gap-4">
      <h2 id="password" className="text-lg font-semibold">
        {words.password.title}
      </h2>
      <p className="text-sm">{words.password.hint}</p>
      <PasswordForm current={words.password.current} success={words.password.changed} />
      <Command command={commandOf('user', 'password')} />
    </section>
  );
}

/** The tokens of the project in the address, else of the first one. */
function TokensOfProject() {
  const { project: chosen } = useSearch({ from: '/frame/account' });
  const navigate = useNavigate();
  return (
    <section aria-labelledby="tokens" className="flex flex-col gap-4">
      <h2 id="tokens" className="text-lg font-semibold">
        {words.tokens.title}
      </h2>
      <p className="text-sm">{words.tokens.hint}</p>
      <Loaded query={useQuery(projectsQuery)}>
        {({ items }) => {
          const names = items.map(({ name }) => name);
          const project = chosen ?? names[0];
          if (project === undefined) {
            const command = commandOf('project', 'create', 'shop');
            return <Empty title={words.tokens.noProjects} hint={words.tokens.noProjectsHint} command={command} />;
          }
          // A link can name a project beyond the first page of the list.
          const options = names.includes(project) ? names : [project, ...names];
          return (
            <>
              <div className="max-w-md">
                <Select
                  label={words.tokens.project}
                  options={options.map((value) => ({ value }))}
                  value={project}
                  onChange={(event) => void navigate({ to: '/account', search: { project: event.target.value } })}
                />
              </div>
              <Tokens key={project} project={project} />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
