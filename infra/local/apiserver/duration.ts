/** A length of time in the one or two units that matter, as Kubernetes prints it: `45s`, `3m12s`, `5h`, `9d`. */
export function duration(length: number): string {
  const seconds = Math.floor(length);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const both = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small > 0 ? `${big}${bigUnit}${small}${smallUnit}` : `${big}${bigUnit}`;
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return both(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return both(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return both(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? both(years, 'y', days % 365, 'd') : `${years}y`;
}
