// The sweeping room: removes what servers still keep of steps whose result is stored. Runs do that themselves
// (runner/run-target); this is for what they left behind.
import { sql } from 'kysely'
import type { Connect } from '#adapters/executors/connect.ts'
import type { Executor } from '#adapters/executors/executor.ts'
import { findServer } from '#manage/servers/read-servers.ts'
import { withServer } from '#manage/servers/with-server.ts'
import { findFinished } from '#model/detached/finished-steps.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'

export type SweepDeps = { db: Database; box: SecretBox; connect: Connect }

const LIMITS = { connectMs: 15_000, totalMs: 60_000 }
/** One sweep looks at so many accounts. */
const MAX_ACCOUNTS = 50
/** Of a server that cannot be reached for so long, nothing more is expected. */
const KEEP_DAYS = 30

type Account = { serverId: number; runAsUser: string | null; installation: string }

/** Of each account of a server on which a step has ended a while ago, and may have left its folder. */
export async function sweepSteps(deps: SweepDeps, signal: AbortSignal): Promise<void> {
  const { db } = deps
  await sql`delete from detached_steps where ended_at < now() - ${KEEP_DAYS} * interval '1 day'`.execute(db)
  const { rows } = await sql<Account>`
    select server_id as "serverId", run_as_user as "runAsUser", (select installation from key_check)
    from detached_steps where ended_at < now() - interval '1 minute'
    group by server_id, run_as_user order by max(ended_at) limit ${MAX_ACCOUNTS}`.execute(db)
  for (const account of rows) {
    if (signal.aborted) return
    await sweepAccount(deps, account, signal)
  }
}

async function sweepAccount(deps: SweepDeps, account: Account, signal: AbortSignal): Promise<void> {
  const { db } = deps
  const { serverId, runAsUser, installation } = account
  const server = await findServer(db, serverId)
  const { rows } = await sql<{ at: string }>`select now() as at`.execute(db)
  const sweep = async (executor: Executor) => {
    const opened = await executor.openDetached?.({ runAsUser, owner: `${installation}-${serverId}` })
    if (opened?.kind !== 'detached') return false
    await opened.sweep((tokens) => findFinished(db, tokens))
    return true
  }
  const isSwept = server ? await withServer(deps, server, { ...LIMITS, signal }, sweep) : true
  if (isSwept !== true) return
  await sql`
    delete from detached_steps where server_id = ${serverId} and run_as_user is not distinct from ${runAsUser}
      and ended_at < ${rows[0]!.at}`.execute(db)
}
