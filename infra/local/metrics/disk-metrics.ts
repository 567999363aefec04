import { statfs } from 'node:fs/promises';

/** The space of the disk that the platform's folder is on, under the names of the node exporter, for the alert rules. */
export async function diskMetrics(folder: string): Promise<string> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const device = folder.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
  const labels = `{device="${device}",fstype="",mountpoint="/"}`;
  return [
    `node_filesystem_avail_bytes${labels} ${bavail * bsize}`,
    `node_filesystem_size_bytes${labels} ${blocks * bsize}`,
    '',
  ].join('\n');
}
