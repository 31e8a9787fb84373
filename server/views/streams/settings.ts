/** How long and how many; tests make them smaller. */
export type LiveSettings = {
  /** A quiet stream gives a sign of life this often. */
  heartbeatMs: number
  /** How long receivers are asked to wait before they come back after a cut. */
  retryMs: number
  /** Tokens and permissions of open streams are looked at this often: a stream outlives them by no more. */
  recheckMs: number
  /** A receiver that takes nothing for so long is let go; it can come back. */
  stallMs: number
  /** A stream that is told to end has so long to do it properly. */
  lastWordsMs: number
  /** What comes within such a time is read together. */
  gatherMs: number
  /** A stream looks by itself this often, in case a notification did not come. */
  lookMs: number
  /** While the database is away it is tried this often. */
  awayMs: number
  /** Moves that are kept in memory for streams of all actions; who is further behind reads them from the database. */
  keptMoves: number
  /** Streams that one process holds open. */
  mostStreams: number
  /** Of these, streams of one user. */
  mostPerUser: number
}

export const LIVE_SETTINGS: LiveSettings = {
  heartbeatMs: 15_000,
  retryMs: 2_000,
  recheckMs: 3_000,
  stallMs: 60_000,
  lastWordsMs: 500,
  gatherMs: 50,
  lookMs: 15_000,
  awayMs: 1_000,
  keptMoves: 10_000,
  mostStreams: 1_000,
  mostPerUser: 50,
}
