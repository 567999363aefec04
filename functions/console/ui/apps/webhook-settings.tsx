import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { WebhookView } from '../../../../runtime/contracts/api/webhooks.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { CopyText } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Time } from '../parts/time.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { text } from '../text/common.ts';
import { webhookQuery } from './queries.ts';
import { CreateSecretUrlDialog, DeleteSecretUrlDialog, NewSecretUrlDialog } from './secret-url-dialogs.tsx';
import { DisableDialog, SettingsDialog, TokenDialog } from './webhook-dialogs.tsx';
import { WebhookSetup } from './webhook-setup.tsx';

const words = appSettingsText.webhook;

interface WebhookProps {
  place: Place;
  app: string;
}

/** Whether the webhook of an app is enabled, its URL, and what an admin can do with it. */
export function WebhookSettings({ place, app }: WebhookProps) {
  const [dialog, setDialog] = useState<'rotate' | 'settings' | 'disable' | 'secretUrl' | 'deleteSecretUrl'>();
  const [secretUrl, setSecretUrl] = useState<string>();
  // Held by this part alone, so that a secret is gone with the dialog that shows it.
  const [secrets, setSecrets] = useState<WebhookView>();
  const read = useChange<WebhookView>(place, setSecrets);
  const forget = () => {
    setSecrets(undefined);
    read.reset();
  };
  const path = ['apps', app, 'webhook'];
  const props = { place, app, close: () => setDialog(undefined) };
  return (
    <section aria-labelledby="webhook" className="flex flex-col gap-4">
      <h2 id="webhook" className="text-lg font-semibold">
        {words.title}
      </h2>
      <p className="text-sm">{words.what}</p>
      <Loaded query={useQuery(webhookQuery(place, app))}>
        {({ enabled, url, version, graceUntil, branch, tags, hasSecretUrl }) => (
          <>
            <Facts
              facts={[
                [
                  words.status,
                  <Badge key="status" tone={enabled ? 'good' : 'quiet'}>
                    {enabled ? words.on : words.off}
                  </Badge>,
                ],
                [words.oldToken, enabled && graceUntil !== undefined && <Time key="grace" at={graceUntil} />],
                [words.branch, enabled && (branch ?? words.anyBranch)],
                [words.tags, enabled && (tags ?? words.anyTags)],
                [words.secretUrl, enabled && words.secretUrls[hasSecretUrl ? 'on' : 'off']],
              ]}
            />
            {enabled && url !== undefined && <CopyText value={url} label={words.copyUrl} />}
            <div className="flex flex-wrap gap-2">
              {enabled ? (
                <>
                  <Button disabled={read.isPending} onClick={() => read.mutate({ path })}>
                    {words.show}
                  </Button>
                  <Button onClick={() => setDialog('settings')}>{words.settings}</Button>
                  <Button onClick={() => setDialog('rotate')}>{words.rotate}</Button>
                  <Button onClick={() => setDialog('secretUrl')}>
                    {appSettingsText.secretUrl[hasSecretUrl ? 'replace' : 'create']}
                  </Button>
                  {hasSecretUrl && (
                    <Button onClick={() => setDialog('deleteSecretUrl')}>{appSettingsText.secretUrl.delete}</Button>
                  )}
                  <Button onClick={() => setDialog('disable')}>{words.disable}</Button>
                </>
              ) : (
                <Button
                  look="primary"
                  disabled={read.isPending}
                  // Someone else can have enabled it since the page was read: their token stays.
                  onClick={() => read.mutate({ path, method: 'PUT', body: { replaces: version } })}
                >
                  {words.enable}
                </Button>
              )}
            </div>
            {read.error && <ErrorNote error={read.error} />}
            <Command command={commandOf('app', 'webhook', enabled ? 'status' : 'enable', app, ...placeFlags(place))} />
            {enabled && url !== undefined && <WebhookSetup url={url} />}
            {dialog === 'rotate' && <TokenDialog {...props} version={version} done={setSecrets} />}
            {dialog === 'settings' && <SettingsDialog {...props} branch={branch} tags={tags} />}
            {dialog === 'disable' && <DisableDialog {...props} />}
            {dialog === 'secretUrl' && (
              <CreateSecretUrlDialog {...props} replaces={hasSecretUrl === true} done={setSecretUrl} />
            )}
            {dialog === 'deleteSecretUrl' && <DeleteSecretUrlDialog {...props} />}
          </>
        )}
      </Loaded>
      {secrets && <SecretsDialog secrets={secrets} close={forget} />}
      {secretUrl !== undefined && <NewSecretUrlDialog url={secretUrl} close={() => setSecretUrl(undefined)} />}
    </section>
  );
}

function SecretsDialog({
  secrets: { token = '', signingSecret = '' },
  close,
}: {
  secrets: WebhookView;
  close: () => void;
}) {
  return (
    <Dialog title={words.shown} close={close}>
      <div className="flex flex-col gap-3 text-sm">
        <p>{words.token}</p>
        <CopyText value={token} label={words.copyToken} />
        <p>{words.signingSecret}</p>
        <CopyText value={signingSecret} label={words.copySigningSecret} />
        <div className="flex justify-end">
          <Button onClick={close}>{text.close}</Button>
        </div>
      </div>
    </Dialog>
  );
}
