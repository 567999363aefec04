/** A denial as its entry shows it. */
export interface Denial {
  /** When the request was denied. */
  at: Date;
  /** The decision, such as `deny_key`. */
  reason: string;
  fault: string | undefined;
  clientIp: string | undefined;
  keyPrefix: string | undefined;
  /** `namespace/name` */
  app: string | undefined;
  /** The first 256 bytes of X-Forwarded-For. */
  forwardedFor: string | undefined;
}
