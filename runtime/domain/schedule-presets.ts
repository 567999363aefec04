/** Common schedules to choose from. */
export const schedulePresets: readonly { schedule: string; description: string }[] = [
  { schedule: '* * * * *', description: 'every minute' },
  { schedule: '*/5 * * * *', description: 'every 5 minutes' },
  { schedule: '0 * * * *', description: 'hourly' },
  { schedule: '0 0 * * *', description: 'daily at midnight UTC' },
  { schedule: '0 2 * * *', description: 'daily at 02:00 UTC' },
  { schedule: '0 9 * * 1', description: 'Monday 09:00 UTC' },
];
