import { auditActions } from '../../../../runtime/domain/audit.ts';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { auditText } from '../text/audit.ts';
import { auditSearch, localTime, ranges, type AuditSearch, type RangeName } from './search.ts';

const words = auditText.filters;
/** The beginnings of actions: `app.`, `binding.` and so on. */
const areas = [...new Set(auditActions.map((action) => `${action.split('.')[0]}.`))];

interface FilterProps {
  search: AuditSearch;
  /** The environments of the project; absent for the whole platform. */
  environments?: readonly string[];
  change: (search: AuditSearch) => void;
}

/** The filters of the list, which are in the address. */
export function AuditFilters({ search, environments, change }: FilterProps) {
  const { action = '', actor = '', object = '', project = '', environment = '', since = '', until } = search;
  const isFiltered = Object.keys(search).length > 0;
  return (
    <form
      // The fields follow the address.
      key={JSON.stringify(search)}
      role="search"
      aria-label={words.title}
      className="grid grid-cols-[repeat(auto-fill,minmax(13rem,1fr))] items-end gap-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        change(auditSearch(Object.fromEntries(new FormData(event.currentTarget))));
      }}
    >
      <Select
        label={words.action}
        name="action"
        defaultValue={action}
        options={[{ value: '', label: words.allActions }, ...withChosen(areas, action).map((value) => ({ value }))]}
      />
      <Field label={words.actor} name="actor" inputMode="email" defaultValue={actor} {...plain(320)} />
      {environments ? (
        <Select
          label={words.environment}
          name="environment"
          defaultValue={environment}
          options={[
            { value: '', label: words.allEnvironments },
            ...withChosen(environments, environment).map((value) => ({ value })),
          ]}
        />
      ) : (
        <>
          <Field label={words.project} name="project" defaultValue={project} {...plain(100)} />
          <Field label={words.environment} name="environment" defaultValue={environment} {...plain(100)} />
        </>
      )}
      <Field label={words.object} name="object" defaultValue={object} {...plain(400)} />
      <Select
        label={words.since}
        name="since"
        defaultValue={since}
        options={[
          { value: '', label: auditText.anyTime },
          ...Object.keys(ranges).map((value) => ({ value, label: auditText.ranges[value as RangeName] })),
        ]}
      />
      <Field
        label={words.until}
        name="until"
        type="datetime-local"
        min="2000-01-01T00:00"
        max="2099-12-31T23:59"
        defaultValue={until === undefined ? '' : localTime(until)}
      />
      <div className="flex gap-2">
        <Button type="submit">{words.apply}</Button>
        {isFiltered && <Button onClick={() => change({})}>{words.clear}</Button>}
      </div>
    </form>
  );
}

/** The values with the one of the address, which may be another one, such as a deleted environment. */
function withChosen(values: readonly string[], chosen: string): readonly string[] {
  return chosen === '' || values.includes(chosen) ? values : [...values, chosen];
}

const plain = (maxLength: number) => ({ maxLength, autoComplete: 'off', spellCheck: false }) as const;
