import type { ServerRecord } from './server-input.ts'

/** `deploy@web-1.example.com`. Pure. */
export function connectionOf(
  server: Pick<ServerRecord, 'provider_code' | 'host' | 'port' | 'login_name'>,
): string {
  const { provider_code, host, port, login_name } = server
  if (provider_code === 'local') return 'This machine'
  return `${login_name}@${host}${port === 22 ? '' : `:${port}`}`
}
