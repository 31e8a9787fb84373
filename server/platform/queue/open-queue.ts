import { PgBoss, type UpdateQueueOptions } from 'pg-boss'
import type { ConnectionSettings, OpenDatabase } from '#platform/database/connect.ts'
import { openDatabase } from '#platform/database/connect.ts'
import { ABORT_GRACE_SECONDS, DEAD_LETTERS, HEARTBEAT_SECONDS, type QueueCore, SCHEMA } from './core.ts'
import { createEnqueue, type Enqueue } from './enqueue.ts'
import { compilePayloadChecks, type JobCatalogue, type JobDefinition, type Jobs, jobs } from './jobs.ts'

const EXPIRY_MARGIN_SECONDS = 30
const THIRTY_DAYS = 30 * 24 * 3_600
const INSTALL_LOCK = 4_702_111

export type Queue<Catalogue extends JobCatalogue = Jobs> = QueueCore & {
  enqueue: Enqueue<Catalogue>
  close(): Promise<void>
}

/**
 * Creates or migrates the schema `queue` and brings every job's settings up to the catalogue.
 * Processes that start together take turns.
 */
export async function installQueue(
  settings: ConnectionSettings,
  catalogue: JobCatalogue = jobs,
  heartbeatSeconds = HEARTBEAT_SECONDS,
): Promise<void> {
  const database = openDatabase(settings, { max: 2, onIdleError: () => {} })
  const turn = await database.pool.connect()
  turn.on('error', () => {})
  const boss = createBoss(database)
  boss.on('error', () => {})
  try {
    await turn.query('select pg_advisory_lock($1)', [INSTALL_LOCK])
    await boss.start()
    await boss.createQueue(DEAD_LETTERS, { retentionSeconds: THIRTY_DAYS })
    for (const [name, definition] of Object.entries(catalogue)) {
      await boss.createQueue(name, { policy: policyOf(definition) })
      await boss.updateQueue(name, queueSettings(definition, heartbeatSeconds))
    }
  } finally {
    await boss.stop({ graceful: false })
    turn.release(true)
    await database.close()
  }
}

export async function openQueue<Catalogue extends JobCatalogue = Jobs>(options: {
  settings: ConnectionSettings
  /** Errors of idle connections and of pg-boss's own timers: to be logged, nothing else. */
  onError: (error: Error) => void
  maxConnections?: number
  catalogue?: Catalogue
}): Promise<Queue<Catalogue>> {
  const database = openDatabase(options.settings, {
    max: options.maxConnections ?? 4,
    onIdleError: options.onError,
  })
  const boss = createBoss(database)
  // Unheard, pg-boss's error event would end the process.
  boss.on('error', options.onError)
  boss.on('warning', (warning) => options.onError(new Error(warning.message)))
  try {
    await boss.start()
  } catch (error) {
    await database.close()
    throw error
  }
  const catalogue: JobCatalogue = options.catalogue ?? jobs
  const core: QueueCore = {
    boss,
    db: database.db,
    jobs: catalogue,
    checkPayload: compilePayloadChecks(catalogue),
  }
  return {
    ...core,
    enqueue: createEnqueue<Catalogue>(core),
    async close() {
      await boss.stop({ graceful: false })
      await database.close()
    },
  }
}

function createBoss(database: OpenDatabase): PgBoss {
  return new PgBoss({
    // Several statements in one text, as pg-boss's upkeep sends them, go only without a list of values.
    db: { executeSql: (text, values) => database.pool.query(text, values?.length ? values : undefined) },
    schema: SCHEMA,
    // Also builds, later and beside the work, the indexes that a migration of pg-boss asks for.
    migrate: true,
    // Recovery and periodic jobs are ours (upkeep.ts): pg-boss would take a worker for dead because
    // the database was away.
    supervise: false,
    schedule: false,
    monitorIntervalSeconds: 30,
    maintenanceIntervalSeconds: 60,
  })
}

function queueSettings(definition: JobDefinition, heartbeatSeconds: number): UpdateQueueOptions {
  return {
    notify: true,
    deadLetter: DEAD_LETTERS,
    retryLimit: definition.retryLimit,
    retryDelay: definition.retryDelaySeconds,
    retryBackoff: definition.retryDelayMaxSeconds !== undefined,
    retryDelayMax: definition.retryDelayMaxSeconds ?? null,
    // The process times its own jobs; the database only those whose process no longer can.
    expireInSeconds: Math.ceil(definition.timeoutSeconds) + ABORT_GRACE_SECONDS + EXPIRY_MARGIN_SECONDS,
    heartbeatSeconds,
    retentionSeconds: THIRTY_DAYS,
    deleteAfterSeconds: definition.keepFinishedSeconds ?? 3_600,
  }
}

function policyOf(definition: JobDefinition): 'standard' | 'short' | 'exclusive' {
  if (definition.unique === 'waiting') return 'short'
  if (definition.unique === 'waiting-or-running') return 'exclusive'
  return 'standard'
}
