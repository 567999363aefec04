/** A denial as its entry shows it, and its sender, which no entry shows. */
export interface Denial {
  /** When the request was denied. */
  at: Date;
  /** The decision, such as `deny_key`. */
  reason: string;
  fault: string | undefined;
  /** As the client says. */
  clientIp: string | undefined;
  /** Whom a limit counts: the client's network as far as it can be trusted. */
  sender: string | undefined;
  keyPrefix: string | undefined;
  /** `namespace/name` */
  app: string | undefined;
  /** The first 256 bytes of X-Forwarded-For. */
  forwardedFor: string | undefined;
}
