// One connection. Every connection of Gantry is one of these: it sets and verifies its session before it is used, no
// statement waits forever, and a connection that cannot be used any more is not used again.
import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { type BoundConnection, sendChunks } from './chunks.ts'
import { isStaleStatement } from './outages.ts'
import {
  assertWritable,
  readSession,
  type Session,
  type SessionRow,
  type SessionSettings,
  setSession,
} from './session.ts'

/** A little more than the server's `statement_timeout`: only a connection that went silent gets this far. */
export const QUERY_TIMEOUT_MS = 35_000
const SETUP_TIMEOUT_MS = 3_000
const KEEPALIVE_MS = 5_000
const LONG_WAIT_MS = 2_000

/** The names of statements, by their texts. */
export type Statements = Map<string, string>
const MAX_STATEMENTS = 500

const timeouts = new AsyncLocalStorage<number>()

/**
 * Limits every statement of `work` to this time, instead of 35 seconds; 0 is no limit. A statement that has not been
 * answered by then fails, and so does its connection.
 */
export function withQueryTimeout<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  return timeouts.run(ms, work)
}

/** The sessions of commits whose result never arrived, by their errors. */
const unheard = new WeakMap<object, Session>()

/**
 * The session of a commit that was sent and never answered: its transaction may be committed all the same. Undefined
 * for every other error.
 */
export function commitOutcomeUnknown(error: unknown): Session | undefined {
  return typeof error === 'object' && error !== null ? unheard.get(error) : undefined
}

type Callback = (error: Error | null, result?: unknown) => void

export type Config = pg.ClientConfig & {
  /** In addition to ours, or instead of them. */
  session?: SessionSettings
  /** For work that only reads: a standby will do. */
  acceptsReadOnly?: boolean
  /** 0: none. */
  queryTimeoutMs?: number
  /** Those of all connections of a pool. */
  statements?: Statements
  /** It could not be opened, or was lost. */
  onFailure?: () => void
  /** A statement of this session has not been answered for two seconds. */
  onWait?: (session: Session) => void
  /** A statement failed, or the connection could not be opened; not every error is a failure of the database. */
  onError?: (error: Error) => void
}

// What `pg` keeps in its clients, and its types do not mention.
type Internals = {
  _queryable: boolean
  _ending: boolean
  connection: BoundConnection & { submittedNamedStatements: object }
}

export class Client extends pg.Client {
  /** Known after connecting. */
  session: Session | undefined
  /** Whether its commits wait for another server. Known after connecting. */
  waitsForStandby = false
  /**
   * Its server takes no writes any more, its statements no longer fit the schema, or one failed without an answer of the
   * server: the pool must not keep it.
   */
  isUnusable = false
  readonly #config: Config
  #unheard = false
  #isAccepted = false
  readonly #statements: Statements

  constructor(config: Config = {}) {
    super({ ...config, keepAlive: true, keepAliveInitialDelayMillis: KEEPALIVE_MS })
    this.#config = config
    this.#statements = config.statements ?? new Map()
    const { connection } = this as unknown as Internals
    sendChunks(connection)
    connection.stream.once('connect', () => {
      this.#isAccepted = true
    })
    // A connection that is lost between two statements emits 'error', which without a listener would end the
    // process; its next statement fails anyway.
    this.on('error', () => config.onFailure?.())
  }

  /** It prepares a statement. If that fails, so does the same statement when it was sent behind it. */
  get isPreparing(): boolean {
    return Object.keys((this as unknown as Internals).connection.submittedNamedStatements).length > 0
  }

  override connect(): Promise<this & { end(): Promise<void> }>
  override connect(callback: (error: Error) => void): void
  // biome-ignore lint/suspicious/noExplicitAny: the overloads above
  override connect(callback?: (error: any) => void): any {
    const connected = super.connect().then(
      () => this.#prepare(),
      (error) => this.#fail(error),
    )
    if (!callback) return connected.then(() => this)
    connected.then(() => callback(undefined), callback)
  }

  async #prepare(): Promise<void> {
    const { application_name = 'gantry', session, acceptsReadOnly } = this.#config
    // Also the name: one in DATABASE_URL would replace it.
    const text = setSession({ application_name, ...session })
    try {
      const query = { text, query_timeout: SETUP_TIMEOUT_MS } as pg.QueryConfig
      const rows = (await super.query(query)).rows as SessionRow[]
      this.session = readSession(rows)
      this.waitsForStandby = rows[0]!.waits_for_standby
      if (!acceptsReadOnly) assertWritable(rows[0]!)
    } catch (error) {
      void this.end()
      this.#fail(error as Error)
    }
  }

  #fail(error: Error & { code?: string }): never {
    // Given up before the server had accepted it: `pg` has no code for that.
    if (!this.#isAccepted) error.code ??= 'ETIMEDOUT'
    this.#config.onFailure?.()
    this.#config.onError?.(error)
    throw error
  }

  /**
   * Prepares every statement with parameters once per connection, under a name: planning a join of ten tables takes
   * longer than running it. The statements are ours and few; past a limit they stay unnamed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: pg's query has a dozen overloads
  override query(query: any, values?: any, callback?: any): any {
    if (typeof query !== 'string' || typeof values === 'function') return super.query(query, values, callback)
    // Our own, and emptied afterwards: V8 finds out only in a full collection that a query of `pg` is garbage, and what it
    // holds (bodies of calls) would make those frequent.
    const parameters = Array.isArray(values) ? [...values] : undefined
    const config = {
      text: query,
      values: parameters,
      name: Array.isArray(values) ? this.#nameOf(query) : undefined,
      query_timeout: timeouts.getStore() ?? this.#config.queryTimeoutMs ?? QUERY_TIMEOUT_MS,
    } as pg.QueryConfig
    const commits = this.#mayCommit(query)
    // Examined before `pg` goes on: after a timeout it would close the connection, which we reset.
    const send = (done: Callback) => {
      const waiting = this.#expectAnswer()
      super.query(config, ((error, result) => {
        clearTimeout(waiting)
        if (parameters) parameters.length = 0
        done(error ? this.#examine(error, commits) : error, result)
      }) as Callback)
    }
    if (callback) return send(callback)
    return new Promise((resolve, reject) => {
      send((error, result) => (error ? reject(error) : resolve(result)))
    }).catch((error) => {
      // Where the statement comes from, not the socket that its answer was read from.
      Error.captureStackTrace(error)
      throw error
    })
  }

  #expectAnswer(): NodeJS.Timeout | undefined {
    const { onWait } = this.#config
    return onWait && setTimeout(() => this.session && onWait(this.session), LONG_WAIT_MS).unref()
  }

  /** Whether this statement, once it is sent, may leave something committed. */
  #mayCommit(text: string): boolean {
    const { _queryable, _ending } = this as unknown as Internals
    if (!_queryable || _ending) return false
    return this.getTransactionStatus() === 'I' ? !READS.test(text) : text === 'commit'
  }

  #examine(error: Error & { code?: string }, commits: boolean): Error {
    if (!(error instanceof pg.DatabaseError) || error.code === '25006' || isStaleStatement(error))
      this.isUnusable = true
    if (commits && isUnanswered(error)) this.isUnusable = this.#unheard = true
    // Also the error of the rollback that follows a failed commit, which takes its place.
    if (this.#unheard && this.session) unheard.set(error, this.session)
    if (error.message === 'Query read timeout') this.#abandon()
    this.#config.onError?.(error)
    return error
  }

  /** What is still in the buffers must not arrive later, when everybody has been told that it failed. */
  #abandon(): void {
    this.#config.onFailure?.()
    const { stream } = (this as unknown as Internals).connection
    try {
      stream.resetAndDestroy()
    } catch {
      // Not TCP, or encrypted.
      stream.destroy()
    }
    void this.end()
  }

  #nameOf(text: string): string | undefined {
    const known = this.#statements.get(text)
    if (known !== undefined || this.#statements.size >= MAX_STATEMENTS) return known
    const name = `gantry_${this.#statements.size + 1}`
    this.#statements.set(text, name)
    return name
  }
}

const READS = /^\s*(select|show|set|listen|begin|start|rollback)\b/i

/**
 * Whether an error leaves open what happened to the statement. An answer of the server does not, except when the
 * server is ending: that may interrupt the wait for a standby, after the commit.
 */
function isUnanswered(error: Error & { code?: string }): boolean {
  if (!(error instanceof pg.DatabaseError)) return true
  return error.code === '57P01' || error.code === '57P02' || error.code?.startsWith('08') === true
}
