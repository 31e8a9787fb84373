// The result of a test of a server, as a list of checks. Pure.
import type { components } from '#client/index.ts'
import { formatBytes } from '#web/base/ui/format.ts'

export type ServerCheck = components['schemas']['ServerCheck']
export type CheckItem = { state: 'passed' | 'failed' | 'unknown'; text: string }

/** In the order in which Gantry gets to know them. */
export function checkItems(check: ServerCheck, isSsh: boolean, rootDirectory: string): CheckItem[] {
  const { user, host_key_fingerprint: fingerprint, pinned } = check
  const isReached = user !== null
  const items: CheckItem[] = []
  if (isSsh && fingerprint !== null)
    items.push({
      state: isReached ? 'passed' : 'unknown',
      text: `Host key ${fingerprint}${pinned ? (isReached ? ', pinned' : '') : ', not pinned yet'}`,
    })
  if (!isReached) return [...items, { state: 'failed', text: check.message }]
  items.push({ state: 'passed', text: isSsh ? `Logged in as ${user}` : `Commands run as ${user}` })
  items.push(
    check.root_directory_writable === null
      ? { state: 'unknown', text: `Could not check ${rootDirectory}` }
      : check.root_directory_writable
        ? { state: 'passed', text: `${rootDirectory} can be written` }
        : { state: 'failed', text: `${rootDirectory} cannot be written by ${user}` },
  )
  if (check.free_disk_bytes !== null)
    items.push({
      state: check.free_disk_bytes > 0 ? 'passed' : 'failed',
      text: `${formatBytes(check.free_disk_bytes)} free on its disk`,
    })
  if (check.steps_survive !== null)
    items.push(
      check.steps_survive
        ? { state: 'passed', text: 'Steps survive a lost connection' }
        : { state: 'unknown', text: `Steps end with their connection: ${check.attached_because}` },
    )
  return items
}

/** Lets the holder of a key log in: for the shell of the account. Keys have no quotes; their comments may. */
export function authorizeCommand(publicKey: string): string {
  const line = publicKey.trim().replaceAll("'", `'\\''`)
  return `mkdir -p ~/.ssh && chmod 700 ~/.ssh && echo '${line}' >> ~/.ssh/authorized_keys && chmod 600 ~/.ssh/authorized_keys`
}
