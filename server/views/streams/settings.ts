/** Intervals and limits of streams; tests lower them. */
export const STREAM_SETTINGS = {
  /** A quiet stream sends a heartbeat this often. */
  heartbeatMs: 15_000,
  /** The reconnection delay sent to clients. */
  retryMs: 2_000,
  /**
   * Token and permission of an open stream are rechecked when the database says that access ended, and this often: for
   * tokens that expire, and for notifications that were lost.
   */
  recheckMs: 3_000,
  /** A client that reads nothing for this long is disconnected; it can resume. */
  stallMs: 60_000,
  /** A stream that must close gets this long to close cleanly. */
  closeGraceMs: 500,
  /** Changes within this time are read together. */
  batchMs: 50,
  /** A stream polls this often, in case a notification was lost. */
  pollMs: 15_000,
  /** How often a database that is unreachable is tried again. */
  outageRetryMs: 1_000,
  /** Moves buffered in memory for streams of all actions; a stream further behind reads the database. */
  bufferedMoves: 10_000,
  /** Streams that one process keeps open. */
  maxStreams: 1_000,
  /** Of these, streams of one user. */
  maxPerUser: 50,
}

export type StreamSettings = typeof STREAM_SETTINGS

/** What every stream needs; the signal ends it. */
export type StreamDeps = { signal: AbortSignal; settings: StreamSettings }
