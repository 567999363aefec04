import { useState } from 'react';
import { text } from '../text/common.ts';
import { Button, type ButtonProps } from './button.tsx';
import { Command } from './command.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './note.tsx';

export interface FormDialogProps {
  title: string;
  close: () => void;
  /** The text of the button that does it. */
  action: string;
  look?: ButtonProps['look'];
  disabled?: boolean;
  /** Whether something that the form offers is still being read: it says so, and nothing is sent. */
  waits?: boolean;
  /** The command of `svc` that does the same. */
  command: string;
  /** The same command for what is written in fields whose values the dialog does not know. */
  commandFor?: (form: HTMLFormElement) => string;
  /** The request that the dialog makes. */
  request: { error: unknown; isPending: boolean };
  submit: (form: HTMLFormElement) => void;
  children: React.ReactNode;
}

/** While the request is under way, the dialog stays, so that its result is told. */
const keepOpen = () => undefined;

/** A dialog that asks for the values of a request, or whether to make it. */
export function FormDialog({ title, close, action, look = 'primary', command, request, ...rest }: FormDialogProps) {
  const { submit, children, commandFor, disabled = false, waits = false } = rest;
  const [written, setWritten] = useState<string>();
  return (
    <Dialog title={title} close={request.isPending ? keepOpen : close}>
      <form
        className="flex flex-col gap-3 text-sm"
        onSubmit={(event) => {
          event.preventDefault();
          submit(event.currentTarget);
        }}
        onInput={({ currentTarget }) => setWritten(commandFor?.(currentTarget))}
      >
        {children}
        <Command command={written ?? command} />
        {waits && (
          <p role="status" className="text-zinc-600 dark:text-zinc-400">
            {text.loading}
          </p>
        )}
        {request.error !== null && <ErrorNote error={request.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close} disabled={request.isPending}>
            {text.cancel}
          </Button>
          <Button type="submit" look={look} disabled={disabled || waits || request.isPending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
