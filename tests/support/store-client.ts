import { Client } from 'minio';

/** A client as tenants use it, for what the platform itself has no use. */
export function storeClient(target: { host: string; port: number; accessKey: string; secretKey: string }): Client {
  const { host, port, accessKey, secretKey } = target;
  return new Client({ endPoint: host, port, useSSL: false, accessKey, secretKey, region: 'us-east-1' });
}
