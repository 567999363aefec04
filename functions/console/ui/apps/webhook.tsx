import { useParams } from '@tanstack/react-router';
import { useMay } from '../api/role.ts';
import { appSettingsText } from '../text/app-settings.ts';
import { appRoute } from './app.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookSettings } from './webhook-settings.tsx';

/** The webhook of an app: its settings and secrets for admins, its deliveries for all members. */
export function Webhook() {
  const { app, ...place } = useParams({ from: appRoute });
  const isAdmin = useMay(place.project, 'admin');
  return (
    <div className="flex flex-col gap-8">
      {isAdmin ? (
        <WebhookSettings place={place} app={app} />
      ) : (
        <p className="text-sm">{appSettingsText.webhook.what}</p>
      )}
      <Deliveries place={place} app={app} />
    </div>
  );
}
