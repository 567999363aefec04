import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';

/** The server of a service, with the credentials of its admin. */
export interface ServerTarget {
  /** As its certificate names it. */
  host: string;
  /** The address to connect to: the host, or an IP address that it resolved to. */
  address: string;
  port: number;
  tls: boolean;
  /** Whether the platform runs the server and only bindings use it. */
  managed: boolean;
  credentials: ServiceCredentials;
}

/** A user that a binding creates, and its access. */
export interface Account {
  username: string;
  password: string;
  /** Empty on a server without databases. */
  database: string;
  /** Whether the database was created for this binding. The user then owns all of it, otherwise it gets access to its rows. */
  owner: boolean;
  /** A second bucket to grant access to: the one of the function's events. */
  bucket?: string;
}

/** The operations of a server that bindings need. All are idempotent and throw {@link BindingError} when the server refuses. */
export interface BoundServer {
  /** Undefined on a server without databases. */
  databases?: Databases;
  /** Creates the user, or changes its password, with access to this database only. */
  putUser(account: Account): Promise<void>;
  /** Deletes the user and closes its connections; objects that it created in the database stay. */
  deleteUser(username: string, database: string): Promise<void>;
  /**
   * Enables or disables the notifications of a bucket to the platform. Only managed object stores have it.
   * @returns whether notifications are enabled now
   */
  setBucketEvents?: (bucket: string, enabled: boolean) => Promise<boolean>;
  close(): Promise<void>;
}

/** The databases of a server, or its buckets. */
export interface Databases {
  /** Undefined where the server does not show it. */
  exists(database: string): Promise<boolean | undefined>;
  /** Creates a database that only the server's admin can use. */
  create(database: string): Promise<void>;
  /** Deletes a database that {@link Databases.create} created, with all its data. */
  drop(database: string): Promise<void>;
}

/** Servers choose the texts of their errors. */
const messageLengthMax = 500;

/** Why a binding failed. The message is shown to users and contains no secret. */
export class BindingError extends Error {
  override readonly name = 'BindingError';

  constructor(message: string) {
    super(message.slice(0, messageLengthMax));
  }
}

/** Time-outs for connecting to a server and for one statement, in ms. */
export const serverLimits = { connectMs: 10_000, statementMs: 30_000 } as const;

/** @throws BindingError for an external service that was registered without a user */
export function adminOf({ username, password = '' }: ServiceCredentials): { user: string; password: string } {
  if (username !== undefined) return { user: username, password };
  throw new BindingError(
    'The service has no user: register it with a user that can create databases and users (svc service create --external … --username).',
  );
}

/** What to do when the registered user of an external service has too few privileges. */
export const grantHint =
  'grant the registered user the right to create databases and users, or bind with --database <the registered database>';
