import { fromKysely, PgBoss } from 'pg-boss'
import { withQueryTimeout } from '#platform/database/client.ts'
import {
  type ConnectionSettings,
  type OpenDatabase,
  openDatabase,
  type Transaction,
} from '#platform/database/connect.ts'
import { WITHOUT_TIMEOUTS } from '#platform/database/session.ts'
import { ABORT_GRACE_SECONDS, DEAD_LETTERS, HEARTBEAT_SECONDS, type QueueCore, SCHEMA } from './core.ts'
import {
  compilePayloadChecks,
  type JobCatalog,
  type JobName,
  type JobPayload,
  type Jobs,
  jobs,
} from './jobs.ts'

const EXPIRY_MARGIN_SECONDS = 30
/**
 * All statements of the queue are quick, except those of its maintenance. When the connections go silent, a heartbeat
 * must get through before the jobs of this worker are reassigned.
 */
const QUERY_TIMEOUT_MS = 5_000
const THIRTY_DAYS = 30 * 24 * 3_600
/** Of each process, in addition to those of its own pool. */
export const QUEUE_CONNECTIONS = 4
const INSTALL_LOCK = 4_702_111
const POLICIES = { waiting: 'short', 'waiting-or-running': 'exclusive' } as const

export type Queue<Catalog extends JobCatalog = Jobs> = QueueCore & {
  /**
   * Adds one job per payload in the caller's transaction: when it commits, they exist and workers are notified.
   * A payload that does not match its schema throws before anything is written.
   */
  enqueue<Name extends JobName<Catalog>>(
    trx: Transaction,
    name: Name,
    payloads: JobPayload<Name, Catalog>[],
    /** Only workers of this group fetch it (see `startWorker`); null for all. */
    groupOf?: (payload: JobPayload<Name, Catalog>) => string | null,
  ): Promise<void>
  close(): Promise<void>
}

/**
 * Creates or migrates the schema `queue` and applies the settings of every job in the catalog. Processes that
 * start together take turns.
 */
export async function installQueue(
  settings: ConnectionSettings,
  catalog: JobCatalog = jobs,
  heartbeatSeconds = HEARTBEAT_SECONDS,
): Promise<void> {
  const database = openDatabase(settings, { max: 2, onIdleError: () => {}, session: WITHOUT_TIMEOUTS })
  const lock = await database.pool.connect()
  lock.on('error', () => {})
  const boss = createBoss(database)
  boss.on('error', () => {})
  try {
    await withQueryTimeout(0, async () => {
      await lock.query('select pg_advisory_lock($1)', [INSTALL_LOCK])
      await boss.start()
    })
    await boss.createQueue(DEAD_LETTERS, { retentionSeconds: THIRTY_DAYS })
    for (const [name, definition] of Object.entries(catalog)) {
      const policy = definition.unique ? POLICIES[definition.unique] : 'standard'
      await boss.createQueue(name, { policy })
      await boss.updateQueue(name, {
        notify: true,
        deadLetter: DEAD_LETTERS,
        retryLimit: definition.retryLimit,
        retryDelay: definition.retryDelaySeconds,
        retryBackoff: definition.retryDelayMaxSeconds !== undefined,
        retryDelayMax: definition.retryDelayMaxSeconds ?? null,
        // The process enforces timeouts itself; the database expires only the jobs of a process that no longer can.
        expireInSeconds: Math.ceil(definition.timeoutSeconds) + ABORT_GRACE_SECONDS + EXPIRY_MARGIN_SECONDS,
        heartbeatSeconds,
        retentionSeconds: THIRTY_DAYS,
        deleteAfterSeconds: definition.keepFinishedSeconds ?? 3_600,
      })
    }
  } finally {
    await boss.stop({ graceful: false })
    lock.release(true)
    await database.close()
  }
}

export async function openQueue<Catalog extends JobCatalog = Jobs>(options: {
  settings: ConnectionSettings
  /** Errors of idle connections and of pg-boss's own timers, to be logged. */
  onError: (error: Error) => void
  catalog?: Catalog
}): Promise<Queue<Catalog>> {
  const database = openDatabase(options.settings, {
    max: QUEUE_CONNECTIONS,
    onIdleError: options.onError,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
  })
  const boss = createBoss(database)
  // Without a listener, pg-boss's error event would end the process.
  boss.on('error', options.onError)
  boss.on('warning', (warning) => options.onError(new Error(warning.message)))
  try {
    await boss.start()
  } catch (error) {
    await database.close()
    throw error
  }
  const catalog: JobCatalog = options.catalog ?? jobs
  const checkPayload = compilePayloadChecks(catalog)
  return {
    boss,
    db: database.db,
    jobs: catalog,
    checkPayload,
    async enqueue(trx, name, payloads, groupOf = () => null) {
      if (payloads.length === 0) return
      for (const payload of payloads) checkPayload(name, payload)
      const rows = payloads.map((payload) => {
        const id = groupOf(payload)
        return { data: payload as object, ...(id !== null && { group: { id } }) }
      })
      await boss.insert(name, rows, { db: fromKysely(trx) })
    },
    async close() {
      await boss.stop({ graceful: false })
      await database.close()
    },
  }
}

function createBoss(database: OpenDatabase): PgBoss {
  return new PgBoss({
    // pg-boss's maintenance sends several statements in one text, which works only without a list of values.
    db: { executeSql: (text, values) => database.pool.query(text, values?.length ? values : undefined) },
    schema: SCHEMA,
    // Also builds, in the background, the indexes that a migration of pg-boss needs.
    migrate: true,
    // Recovery and periodic jobs are ours (maintenance.ts): pg-boss would declare workers dead after an outage.
    supervise: false,
    schedule: false,
    monitorIntervalSeconds: 30,
    maintenanceIntervalSeconds: 60,
  })
}
