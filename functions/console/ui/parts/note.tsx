import { ApiError } from '../api/client.ts';
import { text } from '../text/common.ts';
import { Button } from './button.tsx';

const looks = {
  bad: 'border-red-300 bg-red-50 text-red-900 dark:border-red-900 dark:bg-red-950 dark:text-red-100',
  warn: 'border-amber-300 bg-amber-50 text-amber-950 dark:border-amber-900 dark:bg-amber-950 dark:text-amber-100',
  good: 'border-emerald-300 bg-emerald-50 text-emerald-950 dark:border-emerald-900 dark:bg-emerald-950 dark:text-emerald-100',
};

/** A message that stays on the page. Errors are announced at once, other messages when the reader pauses. */
export function Note({ look, children }: { look: keyof typeof looks; children: React.ReactNode }) {
  return (
    <div role={look === 'bad' ? 'alert' : 'status'} className={`rounded-md border px-3 py-2 text-sm ${looks[look]}`}>
      {children}
    </div>
  );
}

/** What the API refused, with the code to search for and the id that finds the request in its log. */
export function ErrorNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const { code, requestId } = error instanceof ApiError ? error : { code: 'page_defect', requestId: undefined };
  return (
    <Note look="bad">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <p className="mt-1 text-xs">
        {text.errors.code} <code>{code}</code>
        {requestId !== undefined && (
          <>
            {' · '}
            {text.errors.requestId} <code>{requestId}</code>
          </>
        )}
      </p>
      {retry && (
        <Button className="mt-2" onClick={retry}>
          {text.retry}
        </Button>
      )}
    </Note>
  );
}
