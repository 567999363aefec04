import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';

/** Where a service is, and who the platform is there. */
export interface ServerTarget {
  /** As its certificate names it. */
  host: string;
  /** Where to connect: the host, or an address that it was found to have. */
  address: string;
  port: number;
  tls: boolean;
  /** Whether the platform runs it, and nobody else has anything there. */
  own: boolean;
  credentials: ServiceCredentials;
}

/** A user that a binding makes, and what it is for. */
export interface Account {
  username: string;
  password: string;
  /** Empty on a server without databases. */
  database: string;
  /** Whether the database was made for this binding: then all of it is the user's, otherwise its rows. */
  owner: boolean;
  /** Another bucket that it uses: of its function's events. */
  bucket?: string;
}

/**
 * What bindings need of a server; every call may be repeated.
 * All of them throw {@link BindingError} for what the server refuses.
 */
export interface BoundServer {
  /** Undefined on a server without any. */
  databases?: Databases;
  /** Makes the user with this password, or gives it this one, and rights on the database and no other. */
  admit(account: Account): Promise<void>;
  /** Takes the user away and ends its connections; what it made in the database stays. */
  expel(username: string, database: string): Promise<void>;
  /**
   * Has the server tell the platform what comes and goes in a bucket, or no longer. Only where there are buckets, and the
   * platform runs the server. @returns false where it does not tell
   */
  tell?: (bucket: string, told: boolean) => Promise<boolean>;
  close(): Promise<void>;
}

/** The databases of a server, or its buckets. */
export interface Databases {
  /** Undefined where the server does not say. */
  has(database: string): Promise<boolean | undefined>;
  /** Makes a database that only the server's admin may enter. */
  make(database: string): Promise<void>;
  /** Deletes a database that {@link Databases.make} made, with all its data. */
  drop(database: string): Promise<void>;
}

/** Why a binding cannot be made as things stand; the message is for people and carries no secret. */
export class BindingError extends Error {
  override readonly name = 'BindingError';
}

/** How long a server may take to accept a connection, and to carry out one statement, in ms. */
export const serverLimits = { connectMs: 10_000, statementMs: 30_000 } as const;

/** An external service that nobody registered a user for. @throws BindingError */
export function adminOf({ username, password = '' }: ServiceCredentials): { user: string; password: string } {
  if (username !== undefined) return { user: username, password };
  throw new BindingError(
    'The service has no user: register it with one that may make databases and users (svc service create --external … --username).',
  );
}

/** What to do where an external service's user may do too little. */
export const moreRights =
  'give the user that the service was registered with the right to make databases and users, or bind with --database <the database that it was registered with>';
