import { type OutageKind, outageKind } from './outage-kinds.ts'

/** How a check of the database, which throws, fails; null when it does not. Other errors are thrown on. */
export async function findOutage(signs: {
  /** Rejects when the database does not respond, or takes no writes. */
  checkDatabase(): Promise<void>
  /** Whether writes have failed because its disk is full, and still do. */
  isDiskFull(): Promise<boolean>
}): Promise<OutageKind | null> {
  try {
    await signs.checkDatabase()
  } catch (error) {
    const kind = outageKind(error)
    if (kind === null) throw error
    return kind
  }
  return (await signs.isDiskFull()) ? 'disk_full' : null
}
