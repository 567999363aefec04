import { text } from '../text/common.ts';
import { Facts } from './facts.tsx';
import { Note } from './note.tsx';

/** Something that has another value than a form showed first. */
export interface Difference {
  title: string;
  before: string;
  after: string;
}

const shown = (value: string) => value.replaceAll('\n', ', ') || text.none;

/** Says what others have changed while a form is open; what the user wrote stays in it. Nothing without differences. */
export function ChangedMeanwhile({ differences }: { differences: readonly Difference[] }) {
  return (
    differences.length > 0 && (
      <Note look="warn">
        <p>{text.changedMeanwhile.what}</p>
        <Facts
          facts={differences.map(({ title, before, after }) => [
            title,
            text.changedMeanwhile.difference(shown(before), shown(after)),
          ])}
        />
      </Note>
    )
  );
}
