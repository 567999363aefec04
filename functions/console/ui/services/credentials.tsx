import { useMutation } from '@tanstack/react-query';
import type { ServiceAccess } from '../../../../runtime/contracts/api/services.ts';
import { pathOf, request } from '../api/client.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { text } from '../text/common.ts';
import { serviceText } from '../text/services.ts';

const words = serviceText.credentials;

interface DialogProps {
  place: Place;
  name: string;
  close: () => void;
}

/** Asks before it reads the credentials, because each reading is in the audit log. After it closes, the page does not keep them. */
export function CredentialsDialog({ place, name, close }: DialogProps) {
  const { project, environment } = place;
  const reveal = useMutation({
    mutationFn: () =>
      request<ServiceAccess>(pathOf('projects', project, 'services', name, 'credentials'), { query: { environment } }),
    gcTime: 0,
  });
  if (reveal.data) return <Revealed name={name} access={reveal.data} close={close} />;
  return (
    <FormDialog
      title={words.dialog(name)}
      close={close}
      action={words.show}
      command={commandOf('service', 'credentials', name, ...placeFlags(place))}
      request={reveal}
      submit={() => reveal.mutate()}
    >
      <p>{words.what}</p>
    </FormDialog>
  );
}

const fields = ['username', 'password', 'database', 'accessKey', 'secretKey', 'region', 'bucket'] as const;

function Revealed({ name, access, close }: { name: string; access: ServiceAccess; close: () => void }) {
  return (
    <Dialog title={words.dialog(name)} close={close}>
      <dl className="flex flex-col gap-3 text-sm">
        {fields.map((field) => {
          const value = access[field];
          if (value === undefined) return null;
          return (
            <div key={field}>
              <dt className="mb-1 font-medium">{words.fields[field]}</dt>
              <dd>
                <CopyText value={value} label={`${text.copy} ${words.fields[field].toLowerCase()}`} />
              </dd>
            </div>
          );
        })}
      </dl>
      <div className="mt-4 flex justify-end">
        <Button onClick={close}>{text.close}</Button>
      </div>
    </Dialog>
  );
}
