import type { Remote } from '#adapters/repositories/address.ts'
import type { RemoteVerdict } from '#adapters/repositories/contact.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { Database } from '#platform/database/connect.ts'

/**
 * Which repositories may be fetched: those on hosts that Gantry may reach at all and, because it would read
 * files of this machine, `file:` only for applications of instance administrators.
 */
export async function allowRemote(
  db: Database,
  guard: AddressGuard,
  remote: Remote,
  applicationId: number,
): Promise<RemoteVerdict> {
  if (remote.host !== null) return guard.check(remote.host)
  const creator = await db
    .selectFrom('applications')
    .innerJoin('users', 'users.id', 'applications.created_by')
    .select('users.is_instance_admin')
    .where('applications.id', '=', applicationId)
    .executeTakeFirst()
  if (creator?.is_instance_admin) return { kind: 'allowed' }
  return { kind: 'refused', message: 'Only instance administrators may use repositories on this machine.' }
}
