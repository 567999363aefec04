import { Button } from './button.tsx';
import { CopyText } from './copy.tsx';
import { Dialog } from './dialog.tsx';

interface OnceDialogProps {
  title: string;
  /** That it is shown only once. */
  hint: string;
  secret: string;
  /** The name of the button that copies the secret. */
  copy: string;
  /** The name of the button that closes the dialog. */
  done: string;
  close: () => void;
  /** What else there is to know of the secret. */
  children?: React.ReactNode;
}

/** Shows a secret for the only time. Only the button closes the dialog. */
export function OnceDialog({ title, hint, secret, copy, done, close, children }: OnceDialogProps) {
  return (
    <Dialog title={title}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{hint}</p>
        <CopyText value={secret} label={copy} />
        {children}
        <div className="flex justify-end">
          <Button look="primary" onClick={close}>
            {done}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
