import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay, useMayNot } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { createText } from '../text/create.ts';
import { Crumbs } from './crumbs.tsx';

interface CreationPageProps {
  place: Place;
  words: { title: string; create: string };
  /** The fields of the form. */
  children: React.ReactNode;
  submit: (form: HTMLFormElement) => void;
  /** Whether the form cannot be sent now. */
  disabled: boolean;
  /** Why the last request failed, unless a field shows it. */
  error: unknown;
  /** The words of the command that does the same, without the flags of the place. */
  command: readonly string[];
}

/** The page with the form of a new object in an environment. */
export function CreationPage({ place, words, children, submit, disabled, error, command }: CreationPageProps) {
  const mayCreate = useMay(place.project, 'deployer');
  const mayNotCreate = useMayNot(place.project, 'deployer');
  return (
    <>
      <Crumbs {...place} />
      <Heading title={words.title} />
      {mayCreate && (
        <form
          className="flex max-w-3xl flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            submit(event.currentTarget);
          }}
        >
          {children}
          {error !== null && <ErrorNote error={error} />}
          <div>
            <Button type="submit" look="primary" disabled={disabled}>
              {words.create}
            </Button>
          </div>
        </form>
      )}
      {mayNotCreate && <p className="text-sm">{createText.mayNot}</p>}
      <div className="mt-4">
        <Command command={commandOf(...command, ...placeFlags(place))} />
      </div>
    </>
  );
}
