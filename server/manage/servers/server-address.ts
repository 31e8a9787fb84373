import type { ServerAddress } from '#adapters/executors/connect.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import type { ServerRow } from './read-servers.ts'

type Deps = { db: Database; box: SecretBox }

/** How to reach a server, with its decrypted key; or why that is not possible. */
export async function loadAddress(
  deps: Deps,
  server: ServerRow,
): Promise<ServerAddress | { message: string }> {
  const key = await loadKey(deps, server)
  if ('message' in key) return key
  const { name, provider_code: kind, host, port, root_directory: rootDirectory } = server
  const { login_name: loginName, host_key: hostKey, allow_loopback: allowLoopback } = server
  return { name, kind, host, port, loginName, hostKey, allowLoopback, rootDirectory, ...key }
}

/** Null when the server has no key, which only SSH servers need. */
async function loadKey(
  { db, box }: Deps,
  { name, credential_id }: ServerRow,
): Promise<{ privateKey: string | null } | { message: string }> {
  const credential =
    credential_id === null
      ? undefined
      : await findRow(db, 'credentials', { id: credential_id }, ['id', 'secret', 'active'])
  if (!credential?.secret) return { privateKey: null }
  if (!credential.active) return { message: `the SSH credential of ${name} is disabled` }
  try {
    return { privateKey: box.open(credential.secret, credentialAad(credential.id)) }
  } catch {
    return { message: 'the SSH key was encrypted with another master key: enter it again' }
  }
}
