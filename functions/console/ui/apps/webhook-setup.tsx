import { CopyText } from '../parts/copy.tsx';
import { appSettingsText } from '../text/app-settings.ts';

const words = appSettingsText.setup;

/** How senders are set up to call a webhook. */
export function WebhookSetup({ url }: { url: string }) {
  const body = '{"image":"registry.example.com/shop/api:1.4.2","commit":"4f1c2aa"}';
  const curl = `curl -fsS -X POST '${url}?wait=120' -H "X-Svc-Token: $TOKEN" -H 'Content-Type: application/json' -d '${body}'`;
  return (
    <section aria-labelledby="setup" className="flex flex-col gap-2 text-sm">
      <h3 id="setup" className="font-semibold">
        {words.title}
      </h3>
      {words.senders.map((sender) => (
        <Sender key={sender.name} {...sender} />
      ))}
      <Sender {...words.curl}>
        <CopyText value={curl} label={words.copy} />
      </Sender>
      <p>{words.others}</p>
    </section>
  );
}

function Sender({ name, steps, children }: { name: string; steps: readonly string[]; children?: React.ReactNode }) {
  return (
    <details>
      <summary className="font-medium">{name}</summary>
      <ol className="my-2 flex list-decimal flex-col gap-1 pl-6">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {children}
    </details>
  );
}
