import type { LookupFunction } from 'node:net';
import type { Pool } from 'pg';
import type { ProjectRedact } from '../../runtime/assistant/project-redact.ts';
import type { Tools } from '../../runtime/assistant/tools.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { KeyRing } from '../../runtime/domain/sealed.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { RecordAudit } from '../../runtime/records/audit-entries.ts';

export interface AssistantDependencies {
  pool: Pool;
  keyRing: KeyRing;
  clock: Clock;
  kube: Pick<KubeClient, 'get'>;
  tools: Tools;
  projectRedact: ProjectRedact;
  recordAudit: RecordAudit;
  /** Default: the system's resolver. */
  lookup?: LookupFunction;
  /** How long the provider may send nothing; default a minute. */
  silenceMs?: number;
  /** Of an answer; default 120 s. */
  timeoutMs?: number;
}
